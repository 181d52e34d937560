"""The person's own editor, ``$VISUAL`` or ``$EDITOR``. What is done with the text is the command's business."""

from __future__ import annotations

import click

from hermes_memory_core.errors import UsageError


def in_editor(text: str, extension: str) -> str | None:
    """What was saved in the editor; None when nothing was.

    Args:
        text: To begin with.
        extension: Of the temporary file, so that the editor knows what it is (``.md``).

    Raises:
        UsageError: No editor could be used.
    """
    try:
        return click.edit(text, extension=extension)
    except click.ClickException as error:
        raise UsageError(
            f"The editor could not be used ({error.format_message()}); nothing was changed.",
            hint="set EDITOR, for example: export EDITOR=nano",
        ) from error
