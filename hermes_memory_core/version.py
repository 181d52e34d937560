"""The one place that knows this version: the installed distribution's metadata, or the source tree's own."""

from __future__ import annotations

VERSION = "0.1.0"
