"""What this provider asks of a Honcho server, in its own words. The only module that touches SDK objects.

Nothing connects before the first call. Reads are tried once more when a pooled connection turns out dead; writes
never: whether a write arrived is for ``writes`` to find out.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from hermes_memory_core.errors import ConfigError, ProviderAuthError, ProviderRejectedError
from hermes_memory_honcho.address import is_private
from hermes_memory_honcho.edge import NotThereError, retried_once, translated
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.legacy import Resolved
from hermes_memory_honcho.who import Place

if TYPE_CHECKING:
    from honcho import Honcho, Peer, Session

T = TypeVar("T")
SESSIONS_KEPT = 256
"""Sessions known to be set up, oldest out first."""
WRITE_S = 20.0
"""A delivery has 30 s and may need a look before it."""
READ_S = 12.0
MAX_PAGES = 100


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message on its way."""

    peer: str
    content: str
    metadata: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Stored:
    """One message or conclusion on the server."""

    id: str
    content: str
    peer: str
    session: str | None
    at: float
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """What one peer knows of another (or of itself)."""

    representation: str
    card: tuple[str, ...]


class Server:
    """One server, one workspace.

    Args:
        resolved: The settings that count.
        ledger: Remembers which flags a session was given.
        version: Sent as ``X-Honcho-Host`` so that an operator can tell who calls.
    """

    def __init__(self, resolved: Resolved, ledger: Ledger, version: str = "") -> None:
        self.resolved = resolved
        self._ledger = ledger
        self._version = version
        self._lock = threading.RLock()
        self._honcho: Honcho | None = None
        self._http: Any = None
        self._pid = 0
        self._ready: OrderedDict[str, str] = OrderedDict()

    # ------------------------------------------------------------ the client

    @property
    def sdk(self) -> Honcho:
        """The SDK's client; made on first use, and again after a fork.

        Raises:
            ConfigError: The cloud is meant and there is no key.
        """
        with self._lock:
            if self._honcho is None or self._pid != os.getpid():
                self._honcho = self._make()
                self._pid = os.getpid()
                self._ready.clear()
            return self._honcho

    def _make(self) -> Honcho:
        resolved = self.resolved
        private = is_private(resolved.url)
        if resolved.key is None and not private and resolved.settings.base_url is None:
            raise ConfigError(
                "Honcho needs `api_key` (its cloud) or `base_url` (a server of your own); nothing was sent.",
                hint="hermes memory setup honcho",
            )
        from honcho import Honcho

        from hermes_memory_honcho.transport import LimitedClient

        self._http = LimitedClient(send_key=resolved.key is not None, trust_env=not private)
        return Honcho(
            # a text even where no key is sent: for None the SDK looks into the environment
            api_key=resolved.key or "none",
            base_url=resolved.url,
            workspace_id=resolved.workspace,
            timeout=resolved.settings.timeout,
            max_retries=0,
            default_headers={"X-Honcho-Host": f"hermes-memory-honcho/{self._version}"},
            http_client=self._http,
        )

    def close(self) -> None:
        """Let connections go; a request under way fails."""
        with self._lock:
            if self._http is not None and self._pid == os.getpid():
                self._http.close()
            self._honcho = self._http = None

    @contextmanager
    def _call(self, doing: str, seconds: float) -> Iterator[Honcho]:
        with translated(doing):
            sdk = self.sdk
            from hermes_memory_honcho.transport import within

            with within(min(seconds, self.resolved.settings.timeout)):
                yield sdk

    def _read(self, doing: str, ask: Callable[[Honcho], T], seconds: float = READ_S) -> T:
        def once() -> T:
            with self._call(doing, seconds) as sdk:
                return ask(sdk)

        return retried_once(once)

    # ------------------------------------------------------------ is it there

    def workspace_exists(self, seconds: float = READ_S) -> bool:
        """Whether the workspace is there; makes nothing.

        Raises:
            ProviderAuthError: The key is refused for the list of workspaces and for this workspace as well.
        """

        def ask(sdk: Honcho) -> bool:
            page = sdk.workspaces(size=100)
            for _ in range(MAX_PAGES):
                _check_page(page)
                if self.resolved.workspace in page.items:
                    return True
                following = page.get_next_page()
                if following is None:
                    return False
                page = following
            return False

        try:
            return self._read("list workspaces", ask, seconds)
        except ProviderAuthError:
            if self.resolved.key is None:
                raise
            # a key made for one workspace may not list them; it only exists together with its workspace
            self._read("open the workspace", lambda sdk: sdk.get_metadata(), seconds)
            return True

    def queue(self, seconds: float = READ_S) -> dict[str, int]:
        """Work units of the deriver: total, completed, in progress, pending."""
        status = self._read("ask how far it is", lambda sdk: sdk.queue_status(), seconds)
        return {
            "total": status.total_work_units,
            "completed": status.completed_work_units,
            "in_progress": status.in_progress_work_units,
            "pending": status.pending_work_units,
        }

    def ensure(self, place: Place) -> None:
        """Make the session with its peers, and apply their flags; one call when nothing changed."""
        with self._lock:
            if self._ready.get(place.session) == place.flags_text:
                self._ready.move_to_end(place.session)
                return
        from honcho.api_types import SessionPeerConfig

        wanted = {
            place.user: SessionPeerConfig(
                observe_me=place.user_flags[0], observe_others=place.user_flags[1]
            ),
            place.ai: SessionPeerConfig(
                observe_me=place.ai_flags[0], observe_others=place.ai_flags[1]
            ),
        }
        with self._call("open the session", WRITE_S) as sdk:
            session = sdk.session(
                place.session,
                peers=list(wanted.items()),
                metadata=None,
            )
            if self._ledger.flags_of(place.session) != place.flags_text:
                # the server takes flags only from peers that join; for those inside they are set one by one
                for peer, config in wanted.items():
                    now = session.get_peer_configuration(peer)
                    if (now.observe_me, now.observe_others) != (
                        config.observe_me,
                        config.observe_others,
                    ):
                        session.set_peer_configuration(peer, config)
                self._ledger.set_flags(place.session, place.flags_text)
        with self._lock:
            self._ready[place.session] = place.flags_text
            while len(self._ready) > SESSIONS_KEPT:
                self._ready.popitem(last=False)

    def forget_session(self, name: str) -> None:
        """The server said it does not know it: set it up again next time."""
        with self._lock:
            self._ready.pop(name, None)

    # ------------------------------------------------------------ messages

    def add(self, place: Place, messages: Sequence[Outgoing]) -> None:
        """Store up to 100 messages in order. Never repeated here."""
        from honcho.api_types import MessageCreateParams

        params = [
            MessageCreateParams(
                peer_id=one.peer,
                content=one.content,
                metadata=dict(one.metadata),
                created_at=datetime.fromtimestamp(one.at, UTC) if one.at > 0 else None,
            )
            for one in messages
        ]
        with self._call(f"store {len(messages)} messages", WRITE_S) as sdk:
            _session(sdk, place.session).add_messages(params)

    def messages(
        self, session: str, metadata: Mapping[str, Any] | None = None, *, limit: int = 10_000
    ) -> list[Stored]:
        """Messages of a session in order, those with this metadata; [] for an unknown session."""
        filters: dict[str, object] | None = {"metadata": dict(metadata)} if metadata else None

        def ask(sdk: Honcho) -> list[Stored]:
            page = _session(sdk, session).messages(filters=filters, size=100)
            return [_message(one) for one in _all(page, limit)]

        try:
            return self._read("look for messages", ask)
        except NotThereError:
            return []

    def upload(
        self, place: Place, name: str, data: bytes, peer: str, metadata: Mapping[str, Any]
    ) -> int:
        """Upload a text file as messages; how many it became."""
        with self._call(f"upload {name}", WRITE_S) as sdk:
            stored = _session(sdk, place.session).upload_file(
                (name, data, "text/plain"), peer, metadata=dict(metadata)
            )
        return len(stored)

    def delete_session(self, name: str) -> None:
        """Delete a session with everything derived from it alone."""
        with self._call(f"delete the session {name}", WRITE_S) as sdk:
            _session(sdk, name).delete()
        self.forget_session(name)

    # ------------------------------------------------------------ recall

    def summary(self, session: str) -> str:
        """The long summary, else the short one, else ""; also for an unknown session."""
        found = self._read("read the summary", lambda sdk: _session(sdk, session).summaries())
        for one in (found.long_summary, found.short_summary):
            if one is not None and one.content.strip():
                return str(one.content)
        return ""

    def view(self, observer: str, target: str, query: str = "") -> View:
        """What ``observer`` knows of ``target``; empty for unknown peers."""

        def ask(sdk: Honcho) -> View:
            context = _peer(sdk, observer).context(
                target=None if target == observer else target, search_query=query or None
            )
            return View(context.representation or "", tuple(context.peer_card or ()))

        try:
            return self._read("read what is known", ask)
        except NotThereError:
            return View("", ())

    def chat(
        self,
        observer: str,
        target: str,
        query: str,
        *,
        level: str,
        session: str | None,
        seconds: float,
    ) -> str:
        """One question to the dialectic; "" when it knows nothing. Costs a model call on the server."""
        with self._call("ask Honcho", seconds) as sdk:
            answer = _peer(sdk, observer).chat(
                query,
                target=None if target == observer else target,
                session=session,
                reasoning_level=level,
                timeout=seconds,
            )
        return str(answer or "")

    def session_context(
        self, place: Place, target: str, query: str, tokens: int
    ) -> tuple[str, View, list[Stored]]:
        """Summary, what is known of ``target``, newest messages: one call."""

        def ask(sdk: Honcho) -> tuple[str, View, list[Stored]]:
            found = _session(sdk, place.session).context(
                tokens=tokens,
                peer_target=target,
                peer_perspective=place.observer if target == place.user else target,
                search_query=query or None,
            )
            summary = found.summary.content if found.summary else ""
            view = View(found.peer_representation or "", tuple(found.peer_card or ()))
            return summary, view, [_message(one) for one in found.messages]

        return self._read("read the session", ask)

    def search(
        self, place: Place, query: str, limit: int, author: str | None = None
    ) -> list[Stored]:
        """Messages of the sessions the user took part in, found by meaning and words.

        Not by ``peer_perspective``: on servers up to 3.0.12 that only sees the newest batch of a session.
        """

        def ask(sdk: Honcho) -> list[Stored]:
            peer = _peer(sdk, place.user)
            ids = [one.id for one in _all(peer.sessions(size=100), 1000)]
            filters: dict[str, object] = {"session_id": {"in": ids}}
            if author:
                filters["peer_id"] = author
            if not ids:
                return [_message(one) for one in peer.search(query, limit=limit)]
            return [_message(one) for one in sdk.search(query, filters=filters, limit=limit)]

        try:
            return self._read("search messages", ask)
        except NotThereError:
            return []

    # ------------------------------------------------------------ cards and conclusions

    def card(self, observer: str, target: str) -> list[str]:
        """The card; [] when there is none or the peer is unknown."""
        try:
            found = self._read(
                "read the card",
                lambda sdk: _peer(sdk, observer).get_card(
                    target=None if target == observer else target
                ),
            )
        except NotThereError:
            return []
        return list(found or ())

    def set_card(self, observer: str, target: str, lines: Sequence[str]) -> list[str]:
        """Replace the whole card."""
        with self._call("write the card", WRITE_S) as sdk:
            found = _peer(sdk, observer).set_card(
                list(lines), target=None if target == observer else target
            )
        return list(found or lines)

    def conclude(
        self, observer: str, target: str, texts: Sequence[str], session: str | None
    ) -> list[Stored]:
        """Write conclusions, up to 100."""
        items: list[dict[str, Any]] = [
            {"content": text, **({"session_id": session} if session else {})} for text in texts
        ]
        with self._call("write a conclusion", WRITE_S) as sdk:
            found = _peer(sdk, observer).conclusions_of(target).create(items)
        return [_conclusion(one) for one in found]

    def conclusions(self, observer: str, target: str, limit: int) -> list[Stored]:
        """Newest first; [] for unknown peers."""

        def ask(sdk: Honcho) -> list[Stored]:
            page = _peer(sdk, observer).conclusions_of(target).list(size=min(limit, 100))
            return [_conclusion(one) for one in _all(page, limit)]

        try:
            return self._read("list conclusions", ask)
        except NotThereError:
            return []

    def find_conclusions(self, observer: str, target: str, query: str, limit: int) -> list[Stored]:
        """Nearest in meaning."""

        def ask(sdk: Honcho) -> list[Stored]:
            found = _peer(sdk, observer).conclusions_of(target).query(query, top_k=limit)
            return [_conclusion(one) for one in found]

        try:
            return self._read("search conclusions", ask)
        except NotThereError:
            return []

    def delete_conclusion(self, observer: str, target: str, conclusion_id: str) -> bool:
        """False when it was not there."""
        try:
            with self._call("delete a conclusion", WRITE_S) as sdk:
                _peer(sdk, observer).conclusions_of(target).delete(conclusion_id)
        except NotThereError:
            return False
        return True

    # ------------------------------------------------------------ everything, for export

    def session_names(self) -> list[str]:
        """All sessions of the workspace."""
        return self._read(
            "list sessions", lambda sdk: [one.id for one in _all(sdk.sessions(size=100), 10_000)]
        )

    def peer_names(self) -> list[str]:
        """All peers of the workspace."""
        return self._read(
            "list peers", lambda sdk: [one.id for one in _all(sdk.peers(size=100), 10_000)]
        )

    def all_conclusions(self) -> list[Stored]:
        """All conclusions of the workspace; ``metadata`` has observer, observed and level."""

        def ask(sdk: Honcho) -> list[Stored]:
            return [_conclusion(one) for one in _all(sdk.conclusions.list(size=100), 100_000)]

        return self._read("list conclusions", ask)


def check_name(name: str, what: str) -> str:
    """A peer a model or person named.

    Raises:
        ProviderRejectedError: The server would not take it.
    """
    import re

    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,512}", name):
        raise ProviderRejectedError(f"`{name[:40]}` cannot be the name of a {what}.")
    return name


def _peer(sdk: Honcho, name: str) -> Peer:
    """A handle; makes nothing on the server."""
    from honcho import Peer

    return Peer(name, sdk)


def _session(sdk: Honcho, name: str) -> Session:
    from honcho import Session

    return Session(name, sdk)


def _all(page: Any, limit: int) -> Iterator[Any]:
    """Items of a page and the following ones."""
    seen = 0
    while page is not None:
        _check_page(page)
        for item in page.items:
            yield item
            seen += 1
            if seen >= limit:
                return
        page = page.get_next_page()


def _check_page(page: Any) -> None:
    """The SDK takes any JSON object for a page; taken for "nothing there", a turn would be stored twice."""
    if page.total is None:
        raise ValueError("no page of results")


def _message(one: Any) -> Stored:
    return Stored(
        one.id,
        one.content,
        one.peer_id,
        one.session_id,
        _epoch(one.created_at),
        dict(one.metadata or {}),
    )


def _conclusion(one: Any) -> Stored:
    facts = {"observer": one.observer_id, "observed": one.observed_id}
    level = getattr(one, "level", None)
    if level:
        facts["level"] = str(level)
    return Stored(
        one.id, one.content, one.observed_id, one.session_id, _epoch(one.created_at), facts
    )


def _epoch(value: Any) -> float:
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo else value.replace(tzinfo=UTC).timestamp()
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return 0.0
    return 0.0
