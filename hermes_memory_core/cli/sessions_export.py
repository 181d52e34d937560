"""``hermes sessions export``: conversations as JSONL, Markdown or HTML, to a file, a directory or a pipe."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.sessions_common import (
    Progress,
    absolute,
    conversations,
    extra,
    filters,
    history_of,
    list_of,
    name_of,
    parts_of,
)
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.storage.atomic import make_private_dir, refuse_symlink, replacing
from hermes_memory_core.types import HistoryStore, SessionRecord

FORMS = ("jsonl", "md", "html")
EVERYTHING = 1_000_000_000
_SUFFIXES = {".jsonl": "jsonl", ".md": "md", ".markdown": "md", ".html": "html", ".htm": "html"}


@click.command("export", cls=Command)
@click.argument("out", default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="jsonl: one session a line, importable again; md, html: to read [by OUT's ending, else jsonl].",
)
@click.option("--session", multiple=True, metavar="SESSION", help="Only these; repeat for several.")
@filters("source", "user_id", "chat_id", "cwd", "since", "until", "title", "include_subagents")
@click.option("--only-user", is_flag=True, help="Only what the person wrote.")
@click.option("--undone", is_flag=True, help="Also messages that were taken back, marked.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.pass_obj
def export(
    state: State,
    /,
    out: str,
    form: str | None,
    session: Sequence[str],
    only_user: bool,
    undone: bool,
    force: bool,
    **named: Any,
) -> None:
    """Write conversations to OUT: a file, a directory (one file each), or - for standard output.

    hermes sessions export all.jsonl
    hermes sessions export trip.md --session "Trip to Lisbon"
    hermes sessions export pages --format html --since 2026-01-01

    Without --session and filters: everything, archived conversations and sub-agents included.
    """
    chosen = form or _SUFFIXES.get(Path(out).suffix.lower(), "jsonl")
    if out == "-" and state.json:
        raise UsageError(
            "--json reports what was written, so OUT must be a file.",
            hint="hermes sessions export all.jsonl --json",
        )
    with history_of(state) as history:
        records = _chosen(history, session, **named)
        progress = Progress(state)
        written = _Counting(
            extra(history, "export"), chosen, {"only_user": only_user, "include_undone": undone}
        )
        paths = _write(out, chosen, records, written, force, progress)
        progress.done()
    if out == "-":
        return
    data = {
        "format": chosen,
        "sessions": len(records),
        "messages": sum(record.message_count for record in records),
        "bytes": written.bytes,
        "files": [str(path) for path in paths],
    }
    state.result("sessions-export", data, lambda: _done(data, out))


def _done(data: dict[str, Any], out: str) -> str:
    if not data["sessions"]:
        return "No conversation matches; nothing was written."
    files = output.count(len(data["files"]), "file")
    return (
        f"Wrote {output.count(data['sessions'], 'session')} to {output.clean(out)} "
        f"({files}, {output.size(data['bytes'])})."
    )


def _chosen(
    history: HistoryStore,
    names: Sequence[str],
    *,
    source: Sequence[str],
    cwd: str | None,
    include_subagents: bool,
    **named: Any,
) -> list[SessionRecord]:
    """The sessions meant, oldest first, conversations with all their parts."""
    filtered = source or cwd or any(value is not None for value in named.values())
    if names and filtered:
        raise UsageError("--session and filters exclude each other; nothing was written.")
    if names:
        records = conversations(history, names)
    else:
        newest = list_of(
            history,
            source=source,
            limit=EVERYTHING,
            offset=0,
            cwd=absolute(cwd),
            include_archived=True,
            include_subagents=include_subagents or not filtered,
            **named,
        )
        ids = dict.fromkeys(part for one in newest for part in parts_of(history, one.id))
        records = [found for one in ids if (found := history.session(one)) is not None]
    return sorted(records, key=lambda record: (record.started_at, record.id))


class _Counting:
    """The store's export, session by session, with the bytes it came to."""

    def __init__(self, ask: Callable[..., Iterator[str]], form: str, options: dict[str, bool]):
        self._ask = ask
        self._form = form
        self._options = options
        self.bytes = 0

    def text(self, record: SessionRecord) -> bytes:
        """One session as it is written."""
        parts = self._ask([record.id], self._form, **self._options)
        data = "".join(parts).encode("utf-8", "backslashreplace")
        self.bytes += len(data)
        return data


def _write(
    out: str,
    form: str,
    records: Sequence[SessionRecord],
    written: _Counting,
    force: bool,
    progress: Progress,
) -> list[Path]:
    """Write everything; the files made.

    Raises:
        UsageError: OUT exists, or cannot hold this.
        StoreError: The disk did not take it; a file that was there is as before.
    """

    def texts() -> Iterator[bytes]:
        for number, record in enumerate(records, 1):
            progress.show(f"{number:,} of {len(records):,}  {name_of(record)}")
            yield written.text(record)

    if out == "-":
        if form == "html" and len(records) > 1:
            raise UsageError(
                "Several HTML pages do not fit into one stream; nothing was written.",
                hint="name a directory, or one --session",
            )
        for text in texts():
            click.echo(text, nl=False)
        return []
    if not records:
        return []
    path = Path(out).expanduser()
    if form == "jsonl" or (len(records) == 1 and not path.is_dir() and path.suffix):
        _refuse_existing([path], force)
        _write_file(path, texts())
        return [path]
    if path.exists() and not path.is_dir():
        raise UsageError(
            f"`{path}` is a file, and {len(records)} sessions need a directory; nothing was written.",
            hint="name a directory, or one --session",
        )
    paths = [path / file_name(record, form) for record in records]
    _refuse_existing(paths, force)
    make_private_dir(path)
    for target, text in zip(paths, texts(), strict=True):
        _write_file(target, [text])
    return paths


def _refuse_existing(paths: Sequence[Path], force: bool) -> None:
    for path in paths:
        if path.is_dir():
            raise UsageError(
                f"`{path}` is a directory; nothing was written.", hint=f"name a file in {path}"
            )
        refuse_symlink(path)
        if path.exists() and not force:
            raise UsageError(
                f"`{path}` exists; nothing was written.", hint="add --force, or name another file"
            )


def _write_file(path: Path, chunks: Iterable[bytes]) -> None:
    with replacing(path) as file:
        for chunk in chunks:
            file.write(chunk)


def file_name(record: SessionRecord, form: str) -> str:
    """``2026-03-01-trip-to-lisbon-<id>.md``: sorted by day, readable, unique by the id."""
    words = unicodedata.normalize("NFC", record.title or record.preview or "")
    slug = re.sub(r"[^\w]+", "-", words.casefold()).strip("-_")[:40].strip("-")
    id_ = re.sub(r"[^\w.-]+", "-", record.id)[:64].strip(".")
    day = output.moment(record.started_at)[:10]
    return "-".join(part for part in (day, slug, id_) if part) + f".{form}"
