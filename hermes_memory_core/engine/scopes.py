"""Whose memory a session sees, from ``memory.isolation`` and who is speaking where.

Also watches for several people in a profile that keeps nobody apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hermes_memory_core.errors import HermesMemoryError, UsageError
from hermes_memory_core.types import PROFILE_SCOPE, HistoryStore, Notice, Scope

LOOKED_AT = 200
"""Past sessions looked at, newest first, for other people who spoke here."""


def account_of(source: str, user_id: str | None) -> str:
    """How an account is named: ``telegram:111``; the bare source where its sessions carry no user id (``cli``)."""
    return f"{source}:{user_id}" if user_id else source


def person_of(settings: Mapping[str, Any], account: str) -> str | None:
    """The person an account is linked to (``memory.identity.links``); None when it is linked to nobody."""
    links: Mapping[str, Sequence[str]] = settings["memory"]["identity"]["links"]
    return next((person for person, accounts in links.items() if account in accounts), None)


def scope_for(
    settings: Mapping[str, Any], *, source: str, user_id: str | None, chat_id: str | None
) -> Scope:
    """The scope of a session.

    With isolation ``user``, linked accounts (``memory.identity.links``: person → ``source:id``) are one person;
    everybody else is ``source:id``. A session that lacks the id gets the anonymous scope, which is always empty,
    unless its bare source (``cli``) is linked to a person.
    """
    isolation = settings["memory"]["isolation"]
    if isolation == "profile":
        return PROFILE_SCOPE
    if isolation == "chat":
        return Scope("chat", f"{source}:{chat_id}" if chat_id else None)
    account = account_of(source, user_id)
    person = person_of(settings, account)
    if person is not None:
        return Scope("user", person)
    return Scope("user", account if user_id else None)


def scope_named(
    settings: Mapping[str, Any], *, user: str | None = None, chat: str | None = None
) -> Scope | None:
    """The scope a person names as ``SOURCE:ID`` (a user also by the name of a linked person).

    Returns:
        None when nothing was named.

    Raises:
        UsageError: Both were named, the profile does not keep memory apart that way, or it is no ``SOURCE:ID``.
    """
    if user is None and chat is None:
        return None
    if user is not None and chat is not None:
        raise UsageError(
            "Name a user or a chat, not both; nothing was read or changed.",
            hint="hermes config get memory.isolation",
        )
    kind, text = ("user", user) if user is not None else ("chat", chat)
    isolation = settings["memory"]["isolation"]
    if isolation != kind:
        apart = "is shared by the whole profile" if isolation == "profile" else f"per {isolation}"
        raise UsageError(
            f"This profile keeps no memory per {kind}: it {apart}.".replace("it per", "it is per"),
            hint=f"hermes config set memory.isolation {kind}",
        )
    wanted = (text or "").strip()
    if kind == "user" and wanted in settings["memory"]["identity"]["links"]:
        return Scope("user", wanted)
    source, colon, identity = wanted.partition(":")
    if not source or (colon and not identity) or (kind == "chat" and not colon):
        raise UsageError(
            f"{wanted!r} names no {kind}.", hint=f"--{kind} SOURCE:ID, for example telegram:111"
        )
    found = scope_for(
        settings,
        source=source,
        user_id=identity or None if kind == "user" else None,
        chat_id=identity or None if kind == "chat" else None,
    )
    if found.id is None:
        raise UsageError(
            f"{wanted!r} is neither a linked person nor SOURCE:ID.",
            hint="hermes memory identity list",
        )
    return found


class Crowd:
    """Tells the person once when several people speak in a profile that shares one memory among them.

    Args:
        settings: The core's plain settings.
        tell: Where the notice goes.
    """

    def __init__(self, settings: Mapping[str, Any], tell: Callable[[Notice], None]) -> None:
        self._settings = settings
        self._tell = tell
        self._lock = threading.Lock()
        self._seen: set[str] = set()
        self._looked_back = False

    def saw(self, source: str, user_id: str | None, history: HistoryStore | None) -> None:
        """A session of this account begins."""
        if not user_id or self._settings["memory"]["isolation"] != "profile":
            return
        with self._lock:
            person = self._person(source, user_id)
            if person in self._seen:
                return
            self._seen.add(person)
            if not self._looked_back:
                self._looked_back = True
                self._seen.update(self._before(history))
            count = len(self._seen)
        if count > 1:
            self._tell(
                Notice(
                    "several_people",
                    f"{count} people speak in this profile and share one memory: what one of them says is "
                    "remembered for, and shown to, all of them.",
                    hint="hermes config set memory.isolation user   (or, if they are all you: "
                    "hermes memory identity just-me)",
                )
            )

    def _person(self, source: str, user_id: str) -> str:
        account = account_of(source, user_id)
        return person_of(self._settings, account) or account

    def _before(self, history: HistoryStore | None) -> Iterable[str]:
        if history is None:
            return ()
        try:
            records = history.sessions(limit=LOOKED_AT, include_archived=True, scope=PROFILE_SCOPE)
        except HermesMemoryError:  # a broken store tells of itself where it is used
            return ()
        return {self._person(one.source, one.user_id) for one in records if one.user_id}
