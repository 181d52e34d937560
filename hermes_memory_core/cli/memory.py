"""``hermes memory``: the table of its commands, none of them here. Bare ``hermes memory`` is its status."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy

_HERE = "hermes_memory_core.cli"

COMMANDS = {
    "status": Lazy(f"{_HERE}.status:status", "What is on, how full, what failed, what to do next."),
    "list": Lazy(f"{_HERE}.notes_read:list_notes", "All notes with their ids."),
    "show": Lazy(f"{_HERE}.notes_read:show", "The block the model gets, one note, or one change."),
    "add": Lazy(f"{_HERE}.notes_write:add", "Remember something."),
    "patch": Lazy(f"{_HERE}.notes_write:patch", "Change a fragment inside one note."),
    "replace": Lazy(f"{_HERE}.notes_write:replace", "Put a new text in place of one note."),
    "remove": Lazy(f"{_HERE}.notes_write:remove", "Forget one note."),
    "edit": Lazy(f"{_HERE}.notes_edit:edit", "Change notes in your editor."),
    "log": Lazy(f"{_HERE}.notes_log:log", "Every change: when, who, what."),
    "diff": Lazy(f"{_HERE}.notes_log:diff", "What one change took away and put in."),
    "undo": Lazy(f"{_HERE}.notes_log:undo", "Take a change back."),
    "reset": Lazy(f"{_HERE}.notes_reset:reset", "Empty the notes, after a backup."),
    "use": Lazy(f"{_HERE}.provider_choice:use", "Choose the external provider of this profile."),
    "off": Lazy(f"{_HERE}.provider_choice:off", "Use no external provider."),
    "setup": Lazy(f"{_HERE}.setup:setup", "Set up an external provider, step by step."),
    "identity": Lazy(f"{_HERE}.identity:identity", "Who you are to the external provider."),
    "pending": Lazy(f"{_HERE}.approvals:pending", "Writes that wait for your approval."),
    "approve": Lazy(f"{_HERE}.approvals:approve", "Let pending writes through."),
    "reject": Lazy(f"{_HERE}.approvals:reject", "Refuse pending writes."),
    "outbox": Lazy(f"{_HERE}.outbox:outbox", "What the external provider has not yet taken."),
    "forget": Lazy(f"{_HERE}.forget:forget", "Remove something everywhere it is kept."),
    "export": Lazy(f"{_HERE}.moving:export", "Write everything remembered to a file."),
    "import": Lazy(f"{_HERE}.moving:import_", "Take in what was exported, here or elsewhere."),
    "migrate": Lazy(f"{_HERE}.moving:migrate", "Move from one provider to another."),
}
"""A command whose module does not exist is not listed."""


@click.group("memory", cls=Group, lazy=COMMANDS, default="status")
def memory() -> None:
    """See and change what is remembered. Alone it shows the status.

    hermes memory list
    hermes memory add "Prefers tea over coffee" --target user
    hermes memory undo
    """
