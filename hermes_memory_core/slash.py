"""Slash commands for any host: ``/memory …``, ``/history …``, ``/title …`` typed in a chat, answered as plain text.

A table of words and functions; each gets the rest of the line. Reaches notes and history only through the
façade, like a host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes_memory_core.errors import SessionError, UsageError
from hermes_memory_core.safety.lines import one_line
from hermes_memory_core.types import Note, Origin, Scope, Target

if TYPE_CHECKING:
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.session import Session

Command = Callable[["Memory", str, "Session | None"], str]
PREVIEW_CHARS = 100


def run(memory: Memory, text: str, session: Session | None) -> str:
    """The answer to one slash command.

    Raises:
        UsageError: The command is unknown or lacks something; the hint lists what there is.
    """
    word, _, rest = text.strip().lstrip("/").partition(" ")
    rest = rest.strip()
    if word == "memory":
        verb, _, argument = rest.partition(" ")
        command = MEMORY.get(verb or "status")
        if command is None:
            raise UsageError(
                f"`/memory {verb}` is not a command.",
                hint="/memory " + " | ".join(MEMORY),
            )
        return command(memory, argument.strip(), session)
    command = OTHERS.get(word)
    if command is None:
        raise UsageError(
            f"`/{word}` is not a command of the memory.",
            hint="/memory, " + ", ".join(f"/{name}" for name in OTHERS),
        )
    return command(memory, rest, session)


def _status(memory: Memory, _rest: str, _session: Session | None) -> str:
    page = memory.status()
    lines = [f"profile {page['profile']['name']}"]
    for layer in page["layers"]:
        why = f" ({layer['why']})" if layer["why"] else ""
        lines.append(f"{layer['name']}: {layer['state']}{why}")
    for target, usage in (page["notes"] or {}).items():
        lines.append(f"{target}: {usage['percent']}% — {usage['chars']:,}/{usage['limit']:,} chars")
    waiting = page["pending"] or {}
    if waiting.get("count"):
        lines.append(f"pending: {waiting['count']} changes wait for approval (/memory pending)")
    outbox = page["outbox"]
    if outbox["pending"] or outbox["dead"]:
        lines.append(f"outbox: {outbox['pending']} waiting, {outbox['dead']} refused")
    if page["next"]:
        lines.append(f"→ {page['next']}")
    return "\n".join(lines)


def _list(memory: Memory, rest: str, session: Session | None) -> str:
    if memory.notes is None:
        return "Notes are switched off."
    target: Target | None = None
    if rest in ("memory", "user"):
        target = "memory" if rest == "memory" else "user"
    notes = memory.notes.list(target, scope=_scope(session))
    if not notes:
        return "Nothing remembered yet."
    return "\n".join(
        f"[{note.target} {note.id}] {one_line(note.text, PREVIEW_CHARS)}" for note in notes
    )


def _add(memory: Memory, rest: str, session: Session | None) -> str:
    target: Target = "memory"
    head, _, tail = rest.partition(" ")
    if head in ("user", "memory") and tail:
        target, rest = ("user" if head == "user" else "memory"), tail.strip()
    if not rest:
        raise UsageError("There is nothing to remember.", hint="/memory add [user] TEXT")
    if memory.notes is None:
        return "Notes are switched off."
    write = memory.notes.add(target, rest, scope=_scope(session), origin=_person(session))
    if not (write.before or write.after):
        return f"That stands in {target} already; nothing was changed."
    if write.status == "proposed":
        return f"Not saved yet; it waits for approval as {write.id}."
    return f"Remembered in {target}."


def _remove(memory: Memory, rest: str, session: Session | None) -> str:
    if memory.notes is None:
        return "Notes are switched off."
    if not rest:
        raise UsageError("Say which note.", hint="/memory remove [user] ID or TEXT")
    scope = _scope(session)
    target, wanted = _holder(memory.notes.list(scope=scope), rest)
    write = memory.notes.remove(target, wanted, scope=scope, origin=_person(session))
    return f"Removed from {target}: {one_line(write.before[0], PREVIEW_CHARS) if write.before else rest}"


def _holder(notes: Sequence[Note], rest: str) -> tuple[Target, str]:
    """Which target the note is in, and the text or id that names it there."""
    for note in notes:
        if note.id == rest:
            return note.target, rest
    wanted = rest.casefold()
    holders = dict.fromkeys(note.target for note in notes if wanted in note.text.casefold())
    head, _, tail = rest.partition(" ")
    if not holders and tail and head in ("user", "memory"):
        return ("user" if head == "user" else "memory"), tail.strip()
    if len(holders) > 1:
        raise UsageError(
            f"Notes of both targets hold {rest!r}; nothing was changed.",
            hint=f"/memory remove user {rest}, or /memory remove memory {rest}",
        )
    return next(iter(holders), "memory"), rest


def _log(memory: Memory, _rest: str, session: Session | None) -> str:
    if memory.notes is None:
        return "Notes are switched off."
    writes = memory.notes.log(limit=10, scope=_scope(session))
    if not writes:
        return "No changes yet."
    return "\n".join(
        f"{write.id}  {write.action} in {write.target} by {write.origin.who}: "
        f"{one_line((write.after or write.before or ('',))[0], PREVIEW_CHARS)}"
        for write in writes
    )


def _undo(memory: Memory, rest: str, session: Session | None) -> str:
    if memory.notes is None:
        return "Notes are switched off."
    if not rest:
        raise UsageError("Say which change.", hint="/memory log shows their ids")
    write = memory.notes.undo(rest, scope=_scope(session), origin=_person(session))
    return f"Taken back: {rest} (this is change {write.id})."


def _pending(memory: Memory, rest: str, session: Session | None) -> str:
    scope = _scope(session)
    if rest:
        item = memory.pending.get(rest, scope=scope)
        return f"{item.id}: {item.why}\n{memory.pending.diff(rest, scope=scope)}"
    items = memory.pending.list(scope=scope)
    if not items:
        return "No changes of the notes wait for approval."
    lines = [f"{len(items)} waiting:"]
    for item in items:
        lines.append(f"{item.id}{'  [unattended]' if item.unattended else ''}  {item.summary}")
        lines.append(f"    because {item.why}")
    lines.append("→ /memory pending ID shows a change; /memory approve|reject ID or all decides")
    return "\n".join(lines)


def _approve(memory: Memory, rest: str, session: Session | None) -> str:
    return _decide(memory, rest, session, "approve")


def _reject(memory: Memory, rest: str, session: Session | None) -> str:
    return _decide(memory, rest, session, "reject")


def _decide(memory: Memory, rest: str, session: Session | None, verb: str) -> str:
    ids = rest.split()
    if not ids:
        raise UsageError(f"Say what to {verb}.", hint=f"/memory {verb} ID, or /memory {verb} all")
    decide = memory.pending.approve if verb == "approve" else memory.pending.reject
    who = f"user {session.info.user_id}" if session and session.info.user_id else "person"
    done = decide(*([] if ids == ["all"] else ids), scope=_scope(session), who=who)
    if not done:
        return "No changes of the notes wait for approval."
    lines = []
    for one in done:
        if one.outcome == "failed":
            lines.append(f"{one.id} failed: {one.error}")
        else:
            lines.append(f"{one.id} {one.outcome}: {one.summary}")
    if any(one.outcome == "failed" for one in done):
        lines.append("What failed still waits.")
    return "\n".join(lines)


def _approval(memory: Memory, rest: str, _session: Session | None) -> str:
    """Show or set ``memory.write_approval``; where users are kept apart it is the owner's alone to set."""
    if not rest:
        return f"memory.write_approval is {'on' if memory.write_approval else 'off'}."
    words = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
    wanted = words.get(rest.lower())
    if wanted is None:
        raise UsageError(f"{rest!r} is neither on nor off.", hint="/memory approval on | off")
    if memory.settings.get("memory.isolation") != "profile":
        raise UsageError(
            "This memory is kept apart for several people, so its owner sets this, not a chat.",
            hint=f"hermes config set memory.write_approval {str(wanted).lower()}",
        )
    memory.write_approval = wanted
    return f"memory.write_approval is {'on' if wanted else 'off'} now."


def _search(memory: Memory, rest: str, session: Session | None) -> str:
    if memory.history is None:
        return "History is switched off."
    if not rest:
        raise UsageError("Say what to look for.", hint="/search WORDS")
    hits = memory.history.search(rest, limit=5, scope=_scope(session))
    if not hits:
        return f"Nothing found for {rest!r}."
    return "\n".join(
        f"[{hit.session_id}] {hit.role}: {one_line(hit.snippet, PREVIEW_CHARS)}" for hit in hits
    )


def _title(_memory: Memory, rest: str, session: Session | None) -> str:
    current = _here(session)
    if not rest:
        return current.info.title or "This session has no title."
    return f"Title: {current.set_title(rest)}"


def _new(_memory: Memory, _rest: str, session: Session | None) -> str:
    return f"New session {_here(session).reset(reason='new')}."


def _rewind(_memory: Memory, rest: str, session: Session | None) -> str:
    turns = int(rest) if rest.isdigit() else 1
    hidden = _here(session).rewind(turns)
    return f"Took back {turns} turn{'s' if turns > 1 else ''} ({hidden} messages)."


def _branch(_memory: Memory, rest: str, session: Session | None) -> str:
    return f"Branched into session {_here(session).branch(rest or None)}."


def _here(session: Session | None) -> Session:
    if session is None:
        raise SessionError(
            "This command needs an open conversation.", hint="memory.slash(text, session)"
        )
    return session


def _scope(session: Session | None) -> Scope | None:
    return session.info.scope if session is not None else None


def _person(session: Session | None) -> Origin:
    return Origin(who="person", session_id=session.id if session is not None else None)


MEMORY: dict[str, Command] = {
    "status": _status,
    "list": _list,
    "add": _add,
    "remove": _remove,
    "log": _log,
    "undo": _undo,
    "pending": _pending,
    "approve": _approve,
    "reject": _reject,
    "approval": _approval,
}
OTHERS: dict[str, Command] = {
    "search": _search,
    "title": _title,
    "new": _new,
    "undo": _rewind,
    "branch": _branch,
}
