"""From a session to its place on the server: peers, session name, flags, and whether memory is on at all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hermes_memory_core.types import Scope, SessionInfo
from hermes_memory_honcho import naming
from hermes_memory_honcho.legacy import Resolved
from hermes_memory_honcho.settings import Flag

NAMES_KEPT = 512


@dataclass(frozen=True, slots=True)
class Place:
    """Where one session's memory lives on the server."""

    session: str
    user: str
    ai: str
    user_flags: Flag
    ai_flags: Flag
    scope_key: str
    owner: bool
    """The speaker is the person this profile belongs to: only then is shared knowledge shown."""

    @property
    def observer(self) -> str:
        """Whose view of the user is asked for (spec/honcho.md section 1.6, query routing)."""
        return self.ai if self.ai_flags[1] else self.user

    @property
    def flags_text(self) -> str:
        """One string for the ledger: changed when the flags are."""
        return "".join("1" if one else "0" for one in (*self.user_flags, *self.ai_flags))


class Directory:
    """Resolves sessions.

    Args:
        resolved: The settings that count.
        remembered: Name a lineage was given before, kept for its whole life; and how to keep one.
    """

    def __init__(
        self,
        resolved: Resolved,
        remembered: Callable[[str, str], str] | None = None,
    ) -> None:
        self.resolved = resolved
        self._remembered = remembered
        self._names: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def owner_peer(self) -> str:
        """Peer of the person the profile belongs to."""
        return naming.safe_name(self.resolved.settings.peer_name)

    @property
    def ai_peer(self) -> str:
        """The assistant's peer."""
        return naming.safe_name(self.resolved.ai_peer)

    def place(self, session: SessionInfo) -> Place | None:
        """Where it lives; None when nobody can be named, so that no peer is made up.

        A session is named once: a title or a moved directory later does not split its memory.
        """
        user = self._user(session)
        if user is None:
            return None
        scope = _scope_digest(session.scope)
        ai = naming.scoped(self.ai_peer, scope)
        name = naming.scoped(self.session_name(session), scope)
        # one speaker's session never shows another's: the summary holds what both said
        if user != self.owner_peer and not scope and session.chat_id is None:
            name = naming.scoped(name, naming.digest(user))
        name = self._first_name(f"{session.lineage}/{user}", name)
        user_flags, ai_flags = self.resolved.settings.flags
        return Place(
            session=name,
            user=user,
            ai=ai,
            user_flags=user_flags,
            ai_flags=ai_flags,
            scope_key=session.scope.key,
            owner=user == self.owner_peer or bool(scope),
        )

    def _first_name(self, lineage: str, name: str) -> str:
        """The name given first; looked up once, so that a turn does not wait for a disk."""
        if self._remembered is None:
            return name
        with self._lock:
            found = self._names.get(lineage)
            if found is None:
                found = self._names[lineage] = self._remembered(lineage, name)
                while len(self._names) > NAMES_KEPT:
                    self._names.popitem(last=False)
            return found

    def session_name(self, session: SessionInfo) -> str:
        """The name by chat, mapping, title (if wanted) and strategy, in that order."""
        settings = self.resolved.settings
        if session.chat_id:
            name = naming.safe_name(f"{session.source}-{session.chat_id}")
            if settings.session_strategy == "per-session":
                name = naming.safe_name(f"{name}-{session.lineage}")
            return name
        strategy = settings.session_strategy
        if strategy == "per-session":
            return self._prefixed(naming.safe_name(session.lineage))
        mapped = settings.sessions.get(session.cwd or "")
        if mapped:
            return naming.safe_name(mapped)
        if settings.title_names_session and session.title:
            return self._prefixed(naming.safe_name(session.title))
        if strategy == "global":
            return naming.safe_name(self.resolved.workspace)
        if not session.cwd:
            return self._prefixed(naming.safe_name(session.lineage))
        repo = strategy == "per-repo"
        name = naming.directory_name(session.cwd, repo=repo, path_hash=settings.path_hash)
        return self._prefixed(name)

    def peers_of(self, scope: Scope) -> tuple[str, str] | None:
        """User and AI peer of a scope, for export and forgetting; None for the anonymous."""
        if scope.kind == "profile":
            return self.owner_peer, self.ai_peer
        if not scope.id:
            return None
        key = _scope_digest(scope)
        user = self._named(scope.id) if scope.kind == "user" else self.owner_peer
        return naming.scoped(user, key), naming.scoped(self.ai_peer, key)

    def _user(self, session: SessionInfo) -> str | None:
        scope = session.scope
        if scope.kind != "profile" and not scope.id:
            return None
        key = _scope_digest(scope)
        if scope.kind == "user":
            return naming.scoped(self._named(scope.id or ""), key)
        peer = self._named(session.user_id) if session.user_id else self.owner_peer
        return naming.scoped(peer, key)

    def _named(self, user_id: str) -> str:
        settings = self.resolved.settings
        if settings.pin_user_peer:
            return self.owner_peer
        alias = settings.user_peer_aliases.get(user_id)
        if alias:
            return naming.safe_name(alias)
        taken = frozenset(
            {self.owner_peer, self.ai_peer}
            | {naming.safe_name(one) for one in settings.user_peer_aliases.values()}
        )
        return naming.runtime_peer(user_id, settings.runtime_peer_prefix, taken)

    def _prefixed(self, name: str) -> str:
        if not self.resolved.settings.session_peer_prefix:
            return name
        return naming.safe_name(f"{self.owner_peer}-{name}")


def _scope_digest(scope: Scope) -> str:
    return "" if scope.kind == "profile" else scope.digest
