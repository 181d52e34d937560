"""What the program ends with; nothing else lives here. The same numbers stand on every error class."""

from __future__ import annotations

OK = 0
"""Done, or the answer is yes."""
FAILED = 1
"""It ran, and the answer is no or something failed."""
USAGE = 2
"""The command was typed in a way that cannot work."""
CONFIG = 3
"""A setting, or the profile, cannot be used."""
PROVIDER = 4
"""An external provider is not there or did not answer."""
CONFLICT = 5
"""Locked by another process, or changed meanwhile."""
INTERRUPTED = 130
"""Stopped by the person (Ctrl-C)."""
