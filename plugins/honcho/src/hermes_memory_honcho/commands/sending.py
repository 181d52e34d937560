"""Commands that send something to the server: the assistant's identity, and what was known before Honcho."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import UsageError
from hermes_memory_honcho import texts
from hermes_memory_honcho.commands.common import parts_of
from hermes_memory_honcho.naming import digest
from hermes_memory_honcho.parts import Parts
from hermes_memory_honcho.who import Place
from hermes_memory_honcho.writes import Item

if TYPE_CHECKING:
    from hermes_memory_core.cli.state import State

SESSION = "identity"


def identity(state: State, file: str | None, show: bool) -> None:
    """Send the file as one message of the assistant's peer, once per content; or show what is known.

    Raises:
        UsageError: Neither a file nor ``--show``, or the file is empty.
    """
    if not file and not show:
        raise UsageError("Give a file, or --show.", hint="hermes honcho identity SOUL.md")
    with parts_of(state) as parts:
        parts.require_access()
        sent = _send(parts, Path(file)) if file else None
        data: dict[str, Any] = {"sent": sent}
        if show and parts.server.workspace_exists():
            user, ai = parts.looking.owner_peer, parts.looking.ai_peer
            observer = ai if parts.settings.flags[1][1] else user
            data["user_card"] = parts.server.card(observer, user)
            data["ai_representation"] = parts.server.view(ai, ai).representation
    state.result("honcho-identity", data, lambda: _page(data))


def _send(parts: Parts, path: Path) -> str:
    text = parts.redact(path.read_text(encoding="utf-8", errors="replace"))
    if not text.strip():
        raise UsageError(f"`{path}` is empty; nothing was sent.")
    ai = parts.looking.ai_peer
    place = Place(
        SESSION,
        parts.looking.owner_peer,
        ai,
        *parts.settings.flags,
        scope_key="profile",
        owner=True,
    )
    body = f"[This is who the assistant is, from {path.name}.]\n\n{texts.clean(text)}"
    key = f"identity:{digest(ai + text, 32)}"
    new = parts.writer.store(
        place, [Item(key, (ai,), (body,), parts.clock(), {"kind": "identity"})]
    )
    return f"{path.name}: sent" if new else f"{path.name}: was sent before"


def _page(data: dict[str, Any]) -> str:
    lines = [data["sent"]] if data["sent"] else []
    lines += [f"- {line}" for line in data.get("user_card", [])]
    if data.get("ai_representation"):
        lines.append(data["ai_representation"])
    return "\n".join(lines) or "Honcho holds nothing yet."


def migrate(state: State, directory: str | None, dry_run: bool, undo: bool, yes: bool) -> None:
    """Upload, plan, or take back.

    Raises:
        UsageError: Nobody can be asked and ``--yes`` is missing.
    """
    with parts_of(state) as parts:
        parts.require_access()
        migrator = parts.migrator
        if undo:
            done = parts.ledger.migrations()
            question = f"Delete what {len(done)} migrated files became on the server?"
            if done and not state.confirm(question, yes=yes):
                return
            reports = [{**one, "status": "taken back"} for one in migrator.undo()]
        else:
            sources = migrator.of_profile(parts.home)
            places = [Path(directory)] if directory else [Path.cwd(), Path.home() / ".openclaw"]
            for place in places:
                sources += [one for one in migrator.of_directory(place) if one not in sources]
            planned = migrator.run(sources, dry_run=True)
            new = [one for one in planned if one["status"] == "would be uploaded"]
            if dry_run or not new:
                reports = planned
            else:
                names = ", ".join(one["path"] for one in new)
                if not state.confirm(f"Upload {names} to {parts.resolved.url}?", yes=yes):
                    return
                reports = migrator.run(sources)
    state.result("honcho-migrate", {"files": reports}, lambda: _lines(reports))
    if any(one["status"] == "uploaded" for one in reports):
        state.hint("hermes honcho migrate --undo")


def _lines(reports: list[dict[str, Any]]) -> str:
    lines = [f"{one['path']}: {one['status']} ({one['target']})" for one in reports]
    return "\n".join(lines) or "there is nothing to upload"
