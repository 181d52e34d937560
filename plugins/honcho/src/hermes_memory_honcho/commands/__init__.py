"""``hermes honcho …``: the click group. Each command is imported when it is called."""

from hermes_memory_honcho.commands.group import group

__all__ = ["group"]
