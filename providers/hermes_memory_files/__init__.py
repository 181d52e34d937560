"""Notes in MEMORY.md and USER.md: the built-in provider ``files``. Written against the public hook spec only."""

from hermes_memory_files.provider import FilesProvider

__all__ = ["FilesProvider"]
