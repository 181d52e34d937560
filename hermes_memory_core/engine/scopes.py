"""Whose memory a session sees, from ``memory.isolation`` and who is speaking where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_memory_core.types import PROFILE_SCOPE, Scope


def scope_for(
    settings: Mapping[str, Any], *, source: str, user_id: str | None, chat_id: str | None
) -> Scope:
    """The scope of a session.

    With isolation ``user``, linked accounts (``memory.identity.links``: person → ``source:id``) are one person;
    everybody else is ``source:id``. A session that lacks the id gets the anonymous scope, which is always empty.
    """
    memory = settings["memory"]
    isolation = memory["isolation"]
    if isolation == "profile":
        return PROFILE_SCOPE
    if isolation == "chat":
        return Scope("chat", f"{source}:{chat_id}" if chat_id else None)
    if not user_id:
        return Scope("user", None)
    account = f"{source}:{user_id}"
    links: Mapping[str, Sequence[str]] = memory["identity"]["links"]
    for person, accounts in links.items():
        if account in accounts:
            return Scope("user", person)
    return Scope("user", account)
