"""``python -m hermes_memory_core``: the command line where no script is on the path."""

from __future__ import annotations

import sys

from hermes_memory_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
