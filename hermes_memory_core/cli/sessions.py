"""``hermes sessions``: the table of its commands, none of them here. Bare ``hermes sessions`` is its list."""

from __future__ import annotations

import click

from hermes_memory_core.cli.base import Group, Lazy

_HERE = "hermes_memory_core.cli"

COMMANDS = {
    "list": Lazy(f"{_HERE}.sessions_read:list_sessions", "Conversations, latest first."),
    "show": Lazy(f"{_HERE}.sessions_read:show", "One conversation, or the part around a message."),
    "search": Lazy(f"{_HERE}.sessions_search:search", "Find something said in any conversation."),
    "browse": Lazy(f"{_HERE}.sessions_browse:browse", "Pick and read conversations full-screen."),
    "rename": Lazy(f"{_HERE}.sessions_change:rename", "Give a conversation a title."),
    "pin": Lazy(f"{_HERE}.sessions_change:pin", "Keep conversations from every prune."),
    "unpin": Lazy(f"{_HERE}.sessions_change:unpin", "Let a prune take them again."),
    "archive": Lazy(f"{_HERE}.sessions_change:archive", "Put conversations out of the list."),
    "unarchive": Lazy(f"{_HERE}.sessions_change:unarchive", "Put them back into the list."),
    "delete": Lazy(f"{_HERE}.sessions_delete:delete", "Move conversations to the trash."),
    "prune": Lazy(f"{_HERE}.sessions_delete:prune", "Move old conversations to the trash."),
    "trash": Lazy(f"{_HERE}.sessions_trash:trash", "What was deleted: list, restore, empty."),
    "export": Lazy(f"{_HERE}.sessions_export:export", "Write conversations to files."),
    "import": Lazy(f"{_HERE}.sessions_import:import_", "Take in conversations of other programs."),
    "stats": Lazy(f"{_HERE}.sessions_read:stats", "How many, from where, how large."),
    "check": Lazy(f"{_HERE}.sessions_care:check", "Look for damage; change nothing."),
    "repair": Lazy(f"{_HERE}.sessions_care:repair", "Mend what `check` finds."),
    "rebuild": Lazy(
        f"{_HERE}.sessions_care:rebuild", "Derive the database from transcripts again."
    ),
    "backup": Lazy(f"{_HERE}.sessions_care:backup", "Copy the database while it is in use."),
    "restore": Lazy(f"{_HERE}.sessions_care:restore", "Put a backup in the database's place."),
    "optimize": Lazy(f"{_HERE}.sessions_care:optimize", "Make the database smaller and faster."),
}


@click.group("sessions", cls=Group, lazy=COMMANDS, default="list")
def sessions() -> None:
    """List, read, search and move conversations. Alone it lists them.

    hermes sessions search "what did we say about the budget?"
    hermes sessions show "Trip to Lisbon"
    hermes sessions import conversations.json

    SESSION is an id, the first characters of one, or a title. A title means the newest part of its
    conversation; deleting, archiving and pinning always mean the whole conversation, with the parts that were
    compressed.
    """
