"""The ``memory`` tool: its schema, and one JSON object for every call, whatever was sent.

Shapes: spec/builtin.md section 1.5 with the additions of design.md D1 to D4. All writing is the store's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hermes_memory_core.errors import HermesMemoryError, NoteLimitError
from hermes_memory_core.types import CallInfo, Origin, SessionInfo, Target, ToolResult, ToolSpec
from hermes_memory_files import messages
from hermes_memory_files.arguments import ACTIONS, Call, parse_call
from hermes_memory_files.commit import Outcome
from hermes_memory_files.document import FILE_NAMES
from hermes_memory_files.operations import Step, capped, short_list
from hermes_memory_files.places import FOLDER
from hermes_memory_files.store import FilesStore

NAME = "memory"
_SESSIONS_REMEMBERED = 256
_ECHO_CHARS = 500


class MemoryTool:
    """Answers calls of the tool for one open profile."""

    def __init__(self, store: FilesStore) -> None:
        self._store = store
        self._failures = Failures()

    def spec(self) -> ToolSpec | None:
        """The schema, with only the targets that are on; None when both are off."""
        enabled = self._store.settings.enabled
        if not enabled:
            return None
        meaning = " ".join(messages.TARGET_MEANING[target] for target in enabled)
        fields: dict[str, Any] = {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "content": {
                "type": "string",
                "description": "add, replace: the whole entry. patch: what the fragment becomes.",
            },
            "old_text": {
                "type": "string",
                "description": "A fragment that only one entry contains. patch changes just this "
                "fragment; replace and remove take the whole entry.",
            },
        }
        parameters = {
            "type": "object",
            "properties": {
                "target": {"type": "string", "enum": list(enabled)},
                **fields,
                "operations": {
                    "type": "array",
                    "description": "Several changes at once, instead of action.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "action": {"type": "string", "enum": list(ACTIONS)},
                            "content": {"type": "string"},
                            "old_text": {"type": "string"},
                        },
                        "required": ["action"],
                    },
                },
            },
            "required": ["target"],
        }
        return ToolSpec(NAME, messages.TOOL_DESCRIPTION.format(targets=meaning), parameters)

    def call(self, session: SessionInfo, arguments: object, info: CallInfo) -> ToolResult:
        """Run one call; failures of ours come back as an object, never as a raise."""
        key = self._failures.key(session.id, info.turn_id, arguments)
        if self._failures.seen(key):
            return ToolResult(
                {
                    "success": False,
                    "done": True,
                    "error": "This very call has just failed in this turn and the notes are unchanged. "
                    "Do not send it again: change it, or go on and tell the user it was not saved.",
                },
                ok=False,
            )
        try:
            call = parse_call(arguments, self._store.settings.enabled)
            data = self._read(session, call) if call.read else self._write(session, call, info)
        except HermesMemoryError as error:
            if not error.retryable:
                self._failures.add(key)
            return ToolResult(self._failed(session, arguments, error), ok=False)
        if not call.read:
            self._failures.clear(session.id)
        return ToolResult(data)

    # -- answers -------------------------------------------------------------
    def _write(self, session: SessionInfo, call: Call, info: CallInfo) -> dict[str, Any]:
        store = self._store
        scope = store.settings.scope_of(session)
        origin = _origin(session, info)
        outcome = store.change(call.target, call.steps, scope=scope, origin=origin)
        if outcome.staged:
            return {
                "success": True,
                "staged": True,
                "pending_id": outcome.decision.pending_id,
                "message": "Not saved yet: the change waits for the user, who can see it with "
                "/memory pending and approve or reject it. Go on; do not send it again.",
            }
        answer: dict[str, Any] = {
            "success": True,
            "done": True,
            "target": call.target,
            "usage": messages.usage_long(outcome.usage),
            "entry_count": outcome.usage.entries,
            "message": _message(call, outcome),
        }
        answer.update(self._details(call, outcome))
        if outcome.changed:
            answer["receipt"] = {
                "id": outcome.write.id,
                "file": f"{FOLDER}/{FILE_NAMES[call.target]}",
            }
        answer["note"] = messages.SAVED_NOTE if outcome.changed else messages.NOTHING_NOTE
        return answer

    def _details(self, call: Call, outcome: Outcome) -> dict[str, Any]:
        if call.batch:
            return {"outcomes": [self._outcome(call, n, s) for n, s in enumerate(outcome.steps, 1)]}
        (step,) = outcome.steps
        match step.result:
            case "duplicate":
                return {"existing_entry": self._show(call.target, step.before)}
            case "patched":
                return {"patched_entry": self._show(call.target, step.after)}
            case "replaced":
                return {"replaced_entry": self._show(call.target, step.before)}
            case "removed":
                return {"removed_entry": self._show(call.target, step.before)}
        return {}

    def _outcome(self, call: Call, number: int, step: Step) -> dict[str, Any]:
        told: dict[str, Any] = {"operation": number, "action": step.action, "result": step.result}
        if step.result in ("replaced", "removed"):
            told["before"] = self._show(call.target, step.before)
        if step.result == "patched":
            told["after"] = self._show(call.target, step.after)
        return told

    def _show(self, target: Target, text: str | None) -> str:
        return self._store.screen.preview(target, text or "", _ECHO_CHARS)

    def _read(self, session: SessionInfo, call: Call) -> dict[str, Any]:
        store, target = self._store, call.target
        scope = store.settings.scope_of(session)
        notes = store.list(target, scope=scope)
        limit = store.settings.limits[target]
        texts = store.screen.all_shown(target, [note.text for note in notes])
        shown = capped(texts, max(2 * limit, 4_000))
        left_out = len(notes) - len(shown)
        return {
            "success": True,
            "target": target,
            "usage": messages.usage_long(store.usage(target, scope=scope)),
            "entry_count": len(notes),
            "entries": shown,
            "ids": [note.id for note in notes[: len(shown)]],
            **({"left_out": left_out} if left_out else {}),
        }

    def _failed(
        self, session: SessionInfo, arguments: object, error: HermesMemoryError
    ) -> dict[str, Any]:
        details = dict(error.details)
        answer: dict[str, Any] = {"success": False, "error": error.message}
        if error.hint and not isinstance(error, NoteLimitError):  # the way out is in the message
            answer["hint"] = error.hint
        if details.pop("needs_entries", False) or "current_entries" in details:
            self._add_inventory(session, arguments, details)
        answer.update((key, value) for key, value in details.items() if key not in answer)
        return answer

    def _add_inventory(
        self, session: SessionInfo, arguments: object, details: dict[str, Any]
    ) -> None:
        """What there is to choose from, for a call that named no entry."""
        store = self._store
        target = arguments.get("target") if isinstance(arguments, Mapping) else None
        if target not in store.settings.enabled or "usage" in details:
            return
        scope = store.settings.scope_of(session)
        try:
            notes = store.list(target, scope=scope)
            usage = store.usage(target, scope=scope)
        except HermesMemoryError as error:
            details["current_entries_error"] = error.message
            return
        details.setdefault(
            "current_entries",
            short_list(
                [note.text for note in notes], lambda text: store.screen.shown(target, text)
            ),
        )
        details["usage"] = messages.usage_short(usage.chars, usage.limit)


def _origin(session: SessionInfo, info: CallInfo) -> Origin:
    """Who asks: the call's origin, with the session and turn filled in; nobody watches a sub-agent."""
    given = info.origin
    return replace(
        given,
        attended=given.attended and session.agent_context == "primary",
        session_id=given.session_id or session.id,
        turn_id=given.turn_id or info.turn_id,
    )


def _message(call: Call, outcome: Outcome) -> str:
    if call.batch:
        done = sum(step.result not in ("duplicate", "unchanged") for step in outcome.steps)
        idle = len(outcome.steps) - done
        rest = f"; {idle} changed nothing" if idle else ""
        return f"Applied {done} of {len(outcome.steps)} operations{rest}."
    (step,) = outcome.steps
    if step.result == "duplicate":
        added = call.steps[0].content or ""
        if added.strip() == step.before:
            return "The entry already exists; nothing was duplicated."
        return (
            "The entry already exists, written slightly differently (see existing_entry); nothing was "
            "duplicated. Patch it if the difference matters."
        )
    return {
        "added": "Entry added.",
        "patched": "Fragment changed; the rest of the entry is as it was.",
        "replaced": "Entry replaced.",
        "removed": "Entry removed.",
        "unchanged": "The entry already says exactly this; nothing was changed.",
    }[step.result]


Key = tuple[str, str | None, str]


class Failures:
    """Calls that failed in a session's current turn, so that the very same call is not run in a loop.

    Only identical calls are stopped, and only until something was written: a different attempt always runs.
    Without a turn id just the last failure counts, since nothing says when a turn is over.
    """

    def __init__(self) -> None:
        # a plain dict and no lock: a lock held by another thread would stay held in a forked child, and
        # a session's own calls come one after another
        self._turns: dict[str, tuple[str | None, frozenset[str]]] = {}

    def key(self, session_id: str, turn_id: str | None, arguments: object) -> Key:
        """What makes two calls the same."""
        text = json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=repr)
        return session_id, turn_id, text

    def seen(self, key: Key) -> bool:
        """True when this call has failed in this turn; forgets what no longer counts."""
        session_id, turn_id, text = key
        turn, calls = self._turns.get(session_id, (turn_id, frozenset()))
        if turn != turn_id or (turn_id is None and text not in calls):
            self.clear(session_id)
            return False
        return text in calls

    def add(self, key: Key) -> None:
        """Remember a failed call."""
        session_id, turn_id, text = key
        turn, calls = self._turns.get(session_id, (turn_id, frozenset()))
        if len(self._turns) >= _SESSIONS_REMEMBERED:
            self._turns.clear()
        self._turns[session_id] = (turn_id, (calls if turn == turn_id else frozenset()) | {text})

    def clear(self, session_id: str) -> None:
        """Something was written: what failed before may work now."""
        self._turns.pop(session_id, None)
