"""Sessions as text for people and programs: JSONL, Markdown, HTML. Writes no file itself."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from hermes_memory_core.errors import SessionNotFoundError, UsageError
from hermes_memory_core.types import SessionRecord, StoredMessage

from .store_read import ReadMixin
from .times import local

ExportForm = Literal["jsonl", "md", "html"]
FORMS: Final[tuple[ExportForm, ...]] = ("jsonl", "md", "html")

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "article{margin:1rem 0;padding:.6rem 1rem;border-left:4px solid #bbb}"
    "article.user{border-color:#47c}article.assistant{border-color:#4a6}"
    "header{color:#666;font-size:.85rem}pre{white-space:pre-wrap;margin:.3rem 0;font:inherit}"
)


class ExportMixin(ReadMixin):
    """Export of the history store."""

    def export(
        self,
        session_ids: Iterable[str],
        form: ExportForm = "jsonl",
        *,
        include_undone: bool = False,
        only_user: bool = False,
    ) -> Iterator[str]:
        """One text per session, in the order given.

        Args:
            session_ids: Exact ids.
            form: ``jsonl`` gives one line with all fields and ``messages``; ``md`` and ``html`` a document.
            include_undone: Messages a rewind took back as well, marked.
            only_user: Only what the person wrote.

        Raises:
            UsageError: Another form.
            SessionNotFoundError: An id nobody has; the texts before it were given out.
        """
        if form not in FORMS:
            raise UsageError(
                f"Sessions cannot be exported as {form!r}.", hint=f"one of {', '.join(FORMS)}"
            )
        for session_id in session_ids:
            record = self.session(session_id)
            if record is None:
                raise SessionNotFoundError(
                    f"There is no session `{session_id}`.", hint="hermes sessions list"
                )
            messages = [
                message
                for message in self.messages(session_id, include_undone=include_undone)
                if not only_user or message.role == "user"
            ]
            yield _WRITERS[form](record, messages)


def as_jsonl(record: SessionRecord, messages: Sequence[StoredMessage]) -> str:
    """One line: the session's fields and ``messages``; ``import_session`` takes it back."""
    fields: dict[str, Any] = dataclasses.asdict(record)
    fields["messages"] = [
        {
            key: value
            for key, value in dataclasses.asdict(message).items()
            if key != "session_id" and value not in (None, ())
        }
        for message in messages
    ]
    return json.dumps(fields, ensure_ascii=False) + "\n"


def as_markdown(record: SessionRecord, messages: Sequence[StoredMessage]) -> str:
    """A document with a heading per message; text that would break a heading or fence is kept literally."""
    lines = [f"# {_one(record.title or record.preview or record.id)}", ""]
    lines += [f"- {name}: {_one(value)}" for name, value in _facts(record)]
    for message in messages:
        lines += ["", f"## {_heading(message)}", "", message.content]
        for call in message.tool_calls:
            text = json.dumps(call, ensure_ascii=False, indent=2)
            fence = "`" * max(3, _longest_ticks(text) + 1)
            lines += ["", f"{fence}json", text, fence]
    return "\n".join(lines) + "\n"


def as_html(record: SessionRecord, messages: Sequence[StoredMessage]) -> str:
    """One page without scripts or outside files; every text escaped."""
    title = html.escape(record.title or record.preview or record.id)
    facts = "".join(
        f"<li>{html.escape(name)}: {html.escape(str(value))}</li>" for name, value in _facts(record)
    )
    body = "".join(
        f'<article class="{html.escape(message.role)}"><header>{html.escape(_heading(message))}</header>'
        f"<pre>{html.escape(message.content)}</pre>"
        + "".join(
            f"<pre>{html.escape(json.dumps(call, ensure_ascii=False, indent=2))}</pre>"
            for call in message.tool_calls
        )
        + "</article>"
        for message in messages
    )
    return (
        f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1><ul>{facts}</ul>{body}</body></html>\n"
    )


def _facts(record: SessionRecord) -> list[tuple[str, str]]:
    facts = [
        ("id", record.id),
        ("source", record.source),
        ("started", local(record.started_at)),
        ("last active", local(record.last_active)),
        ("messages", str(record.message_count)),
    ]
    optional = (("model", record.model), ("directory", record.cwd), ("continues", record.parent_id))
    return facts + [(name, value) for name, value in optional if value]


def _heading(message: StoredMessage) -> str:
    who = " ".join(part for part in (message.role, message.name, message.tool_name) if part)
    state = "" if message.state == "live" else f" · {message.state}"
    return f"{_one(who)} · {local(message.timestamp)}{state}"


def _one(text: object) -> str:
    return " ".join(str(text).split())


def _longest_ticks(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest


_WRITERS: Final = {"jsonl": as_jsonl, "md": as_markdown, "html": as_html}
