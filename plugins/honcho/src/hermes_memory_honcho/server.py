"""What this provider asks of a Honcho server, in its own words. The only module that touches SDK objects.

Nothing connects before the first call. Reads are tried once more when a pooled connection turns out dead; writes
never: whether a write arrived is for ``writes`` to find out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import ProviderAuthError
from hermes_memory_honcho.answers import (
    Outgoing,
    Stored,
    View,
    check_page,
    conclusion_of,
    everything,
    message_of,
    peer_of,
    session_of,
)
from hermes_memory_honcho.connection import READ_S, Connection
from hermes_memory_honcho.edge import NotThereError
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.legacy import Resolved
from hermes_memory_honcho.who import Place

if TYPE_CHECKING:
    from honcho import Honcho

SESSIONS_KEPT = 256
"""Sessions known to be set up, oldest out first."""
WRITE_S = 20.0
"""A delivery has 30 s and may need a look before it."""
MAX_PAGES = 100


class Server(Connection):
    """One server, one workspace.

    Args:
        resolved: The settings that count.
        ledger: Remembers which flags a session was given.
        version: Sent as ``X-Honcho-Host`` so that an operator can tell who calls.
    """

    def __init__(self, resolved: Resolved, ledger: Ledger, version: str = "") -> None:
        super().__init__(resolved, version)
        self._ledger = ledger
        self._ready: OrderedDict[str, str] = OrderedDict()

    def _renewed(self) -> None:
        self._ready.clear()

    # ------------------------------------------------------------ is it there

    def workspace_exists(self, seconds: float = READ_S) -> bool:
        """Whether the workspace is there; makes nothing.

        Raises:
            ProviderAuthError: The key is refused for the list of workspaces and for this workspace as well.
        """

        def ask(sdk: Honcho) -> bool:
            page = sdk.workspaces(size=100)
            for _ in range(MAX_PAGES):
                check_page(page)
                if self.resolved.workspace in page.items:
                    return True
                following = page.get_next_page()
                if following is None:
                    return False
                page = following
            return False

        try:
            return self.read("list workspaces", ask, seconds)
        except ProviderAuthError:
            if self.resolved.key is None:
                raise
            # a key made for one workspace may not list them; it only exists together with its workspace
            self.read("open the workspace", lambda sdk: sdk.get_metadata(), seconds)
            return True

    def queue(self, seconds: float = READ_S) -> dict[str, int]:
        """Work units of the background worker: total, completed, in progress, pending."""
        status = self.read("ask how far it is", lambda sdk: sdk.queue_status(), seconds)
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
        with self.call("open the session", WRITE_S) as sdk:
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
        with self.call(f"store {len(messages)} messages", WRITE_S) as sdk:
            session_of(sdk, place.session).add_messages(params)

    def messages(
        self, session: str, metadata: Mapping[str, Any] | None = None, *, limit: int = 10_000
    ) -> list[Stored]:
        """Messages of a session in order, those with this metadata; [] for an unknown session."""
        filters: dict[str, object] | None = {"metadata": dict(metadata)} if metadata else None

        def ask(sdk: Honcho) -> list[Stored]:
            page = session_of(sdk, session).messages(filters=filters, size=100)
            return [message_of(one) for one in everything(page, limit)]

        try:
            return self.read("look for messages", ask)
        except NotThereError:
            return []

    def upload(
        self, place: Place, name: str, data: bytes, peer: str, metadata: Mapping[str, Any]
    ) -> int:
        """Upload a text file as messages; how many it became."""
        with self.call(f"upload {name}", WRITE_S) as sdk:
            stored = session_of(sdk, place.session).upload_file(
                (name, data, "text/plain"), peer, metadata=dict(metadata)
            )
        return len(stored)

    def delete_session(self, name: str) -> None:
        """Delete a session with everything derived from it alone."""
        with self.call(f"delete the session {name}", WRITE_S) as sdk:
            session_of(sdk, name).delete()
        self.forget_session(name)

    # ------------------------------------------------------------ recall

    def summary(self, session: str) -> str:
        """The long summary, else the short one, else ""; also for an unknown session."""
        found = self.read("read the summary", lambda sdk: session_of(sdk, session).summaries())
        for one in (found.long_summary, found.short_summary):
            if one is not None and one.content.strip():
                return str(one.content)
        return ""

    def view(self, observer: str, target: str, query: str = "") -> View:
        """What ``observer`` knows of ``target``; empty for unknown peers."""

        def ask(sdk: Honcho) -> View:
            context = peer_of(sdk, observer).context(
                target=None if target == observer else target, search_query=query or None
            )
            return View(context.representation or "", tuple(context.peer_card or ()))

        try:
            return self.read("read what is known", ask)
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
        with self.call("ask Honcho", seconds) as sdk:
            answer = peer_of(sdk, observer).chat(
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
            found = session_of(sdk, place.session).context(
                tokens=tokens,
                peer_target=target,
                peer_perspective=place.observer if target == place.user else target,
                search_query=query or None,
            )
            summary = found.summary.content if found.summary else ""
            view = View(found.peer_representation or "", tuple(found.peer_card or ()))
            return summary, view, [message_of(one) for one in found.messages]

        return self.read("read the session", ask)

    def search(
        self, place: Place, query: str, limit: int, author: str | None = None
    ) -> list[Stored]:
        """Messages of the sessions the user took part in, found by meaning and words.

        Not by ``peer_perspective``: on servers up to 3.0.12 that only sees the newest batch of a session.
        """

        def ask(sdk: Honcho) -> list[Stored]:
            peer = peer_of(sdk, place.user)
            ids = [one.id for one in everything(peer.sessions(size=100), 1000)]
            filters: dict[str, object] = {"session_id": {"in": ids}}
            if author:
                filters["peer_id"] = author
            if not ids:
                return [message_of(one) for one in peer.search(query, limit=limit)]
            return [message_of(one) for one in sdk.search(query, filters=filters, limit=limit)]

        try:
            return self.read("search messages", ask)
        except NotThereError:
            return []

    # ------------------------------------------------------------ cards and conclusions

    def card(self, observer: str, target: str) -> list[str]:
        """The card; [] when there is none or the peer is unknown."""
        try:
            found = self.read(
                "read the card",
                lambda sdk: peer_of(sdk, observer).get_card(
                    target=None if target == observer else target
                ),
            )
        except NotThereError:
            return []
        return list(found or ())

    def set_card(self, observer: str, target: str, lines: Sequence[str]) -> list[str]:
        """Replace the whole card."""
        with self.call("write the card", WRITE_S) as sdk:
            found = peer_of(sdk, observer).set_card(
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
        with self.call("write a conclusion", WRITE_S) as sdk:
            found = peer_of(sdk, observer).conclusions_of(target).create(items)
        return [conclusion_of(one) for one in found]

    def conclusions(self, observer: str, target: str, limit: int) -> list[Stored]:
        """Newest first; [] for unknown peers."""

        def ask(sdk: Honcho) -> list[Stored]:
            page = peer_of(sdk, observer).conclusions_of(target).list(size=min(limit, 100))
            return [conclusion_of(one) for one in everything(page, limit)]

        try:
            return self.read("list conclusions", ask)
        except NotThereError:
            return []

    def find_conclusions(self, observer: str, target: str, query: str, limit: int) -> list[Stored]:
        """Nearest in meaning."""

        def ask(sdk: Honcho) -> list[Stored]:
            found = peer_of(sdk, observer).conclusions_of(target).query(query, top_k=limit)
            return [conclusion_of(one) for one in found]

        try:
            return self.read("search conclusions", ask)
        except NotThereError:
            return []

    def delete_conclusion(self, observer: str, target: str, conclusion_id: str) -> bool:
        """False when it was not there."""
        try:
            with self.call("delete a conclusion", WRITE_S) as sdk:
                peer_of(sdk, observer).conclusions_of(target).delete(conclusion_id)
        except NotThereError:
            return False
        return True

    # ------------------------------------------------------------ everything, for export

    def session_names(self) -> list[str]:
        """All sessions of the workspace."""
        return self.read(
            "list sessions",
            lambda sdk: [one.id for one in everything(sdk.sessions(size=100), 10_000)],
        )

    def peer_names(self) -> list[str]:
        """All peers of the workspace."""
        return self.read(
            "list peers", lambda sdk: [one.id for one in everything(sdk.peers(size=100), 10_000)]
        )

    def all_conclusions(self) -> list[Stored]:
        """All conclusions of the workspace; ``metadata`` has observer, observed and level."""

        def ask(sdk: Honcho) -> list[Stored]:
            return [
                conclusion_of(one) for one in everything(sdk.conclusions.list(size=100), 100_000)
            ]

        return self.read("list conclusions", ask)
