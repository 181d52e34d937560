"""``Memory``: one open profile, the façade a host calls (design.md section 10)."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, get_args

from hermes_memory_core.config import LoadedConfig, Secrets, load_settings
from hermes_memory_core.engine import status as status_page
from hermes_memory_core.engine import transfer
from hermes_memory_core.engine.arguments import checked_id, one_of, word
from hermes_memory_core.engine.moving import Moved
from hermes_memory_core.engine.new_locks import renew, renew_lock
from hermes_memory_core.engine.open_profile import OpenProfile
from hermes_memory_core.engine.outbox import Outbox
from hermes_memory_core.engine.scopes import scope_for
from hermes_memory_core.errors import HermesMemoryError, SessionNotFoundError, UsageError
from hermes_memory_core.learning.llm import as_llm
from hermes_memory_core.learning.titles import AutoTitles
from hermes_memory_core.profiles import Profile, resolve_home, resolve_profile
from hermes_memory_core.session import OnExit, Session
from hermes_memory_core.storage.atomic import make_private_dir
from hermes_memory_core.types import (
    LLM,
    AgentContext,
    Decision,
    ForgetReceipt,
    Health,
    HistoryStore,
    NotesStore,
    NoteWrite,
    Notice,
    Scope,
    SessionInfo,
)

if TYPE_CHECKING:
    from hermes_memory_core.engine.approval import Pending

logger = logging.getLogger(__name__)

NO_PLUGINS = "HERMES_MEMORY_NO_PLUGINS"
"""Environment variable of the safe mode, read once at open."""


class Memory:
    """One open profile. Thread-safe; use it in a ``with`` block.

    Several memories, of one profile or of several, may be open in one process and in several.
    """

    def __init__(self, profile: Profile, open_profile: OpenProfile, llm: LLM | None = None) -> None:
        self._place = profile
        self._profile = open_profile
        self._lock = threading.RLock()
        self._sessions: list[Session] = []
        self._titles = AutoTitles(open_profile, llm)
        self._closed = False
        self._exit = _close_at_exit(self)
        _OPEN.add(self)

    @classmethod
    def open(
        cls,
        home: str | Path | None = None,
        profile: str | None = None,
        *,
        llm: LLM | Callable[..., str] | None = None,
        providers: Sequence[type] = (),
        approve: Callable[[NoteWrite], Decision] | None = None,
        notify: Callable[[Notice], None] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> Self:
        """Open a profile; its directory is made when it is missing.

        Args:
            home: The home directory; None for ``$HERMES_HOME``, else ``~/.hermes``.
            profile: A profile's name; None for the active one.
            llm: An auxiliary model for titles and reviews: an object with ``complete``, or a function of the
                messages (and of ``task`` and ``max_tokens``, if it takes them) that returns the text.
            providers: Provider classes of the host's own, under the same rules as installed ones. When
                ``memory.provider`` is empty and there is exactly one, it is the active external provider.
            approve: Asked before a note write when ``memory.write_approval`` is on.
            notify: Called with each notice for the person (memory full, provider down …), once per matter.
            clock: Epoch seconds, for tests.

        Raises:
            UsageError: ``llm`` is neither.
            ProfileError: There is no such profile.
            ConfigError: A setting cannot be used.
            StoreError: A file of the profile cannot be used.
        """
        model = as_llm(llm)
        place = resolve_profile(resolve_home(home), profile)
        make_private_dir(place.path)
        config = load_settings(place.path)
        secrets = Secrets.load(
            place.path,
            allow_environment=config.plain["security"]["allow_environment_secrets"],
        )
        opened = OpenProfile(
            place,
            config,
            secrets,
            clock=clock,
            llm=model,
            in_process=providers,
            approve=approve,
            notify=notify,
            no_plugins=os.environ.get(NO_PLUGINS, "") not in ("", "0"),
        )
        return cls(place, opened, model)

    # ------------------------------------------------------------ what it is

    @property
    def profile(self) -> Profile:
        """Name and directory of the profile."""
        return self._place

    @property
    def settings(self) -> LoadedConfig:
        """The settings as loaded at open."""
        return self._profile.config

    @property
    def notes(self) -> NotesStore | None:
        """The notes (MEMORY.md, USER.md); None when switched off."""
        return self._profile.notes

    @property
    def history(self) -> HistoryStore | None:
        """All conversations; None when switched off."""
        return self._profile.history

    @property
    def pending(self) -> Pending:
        """Note writes that wait for a person: list, diff, approve, reject."""
        return self._profile.pending

    @property
    def write_approval(self) -> bool:
        """``memory.write_approval`` as it is in effect here; setting it writes ``config.yaml`` first."""
        return self._profile.gate.write_approval

    @write_approval.setter
    def write_approval(self, on: bool) -> None:
        from hermes_memory_core.config.edit import set_value

        set_value(self._place.path, "memory.write_approval", on)
        self._profile.gate.write_approval = on

    def now(self) -> float:
        """Epoch seconds by this memory's clock."""
        return self._profile.clock()

    @property
    def outbox(self) -> Outbox:
        """What the external provider has not yet taken: to look at and to steer, see ``flush`` for waiting."""
        return self._profile.outbox

    def status(self, *, check: bool = False) -> dict[str, Any]:
        """What ``hermes memory status --json`` prints; with ``check`` after a real round trip."""
        return status_page.collect(self._profile, check=check)

    def check_provider(self, name: str) -> Health:
        """A real round trip with one provider, seated or not; its answer is kept for ``status``.

        Raises:
            PluginLoadError: It is not installed or does not load.
        """
        self._check()
        return status_page.ask(self._profile, self._profile.roster.borrow(name))

    # ------------------------------------------------------------ sessions

    def session(
        self,
        source: str = "cli",
        session_id: str | None = None,
        title: str | None = None,
        *,
        user_id: str | None = None,
        chat_id: str | None = None,
        cwd: str | None = None,
        model: str | None = None,
        parent_id: str | None = None,
        agent_context: AgentContext = "primary",
        on_exit: OnExit = "end",
    ) -> Session:
        """Begin a session, or go on with one.

        Args:
            source: Where the conversation happens: cli, telegram, mcp, cron …
            session_id: An id to go on with (any of its lineage leads to the newest), or to give to a new
                session; None makes one.
            title: Name of a new session; one that is taken gets ``#2``.
            user_id: Who speaks, as the host knows them.
            chat_id: Where they speak.
            cwd: Working directory.
            model: The model that answers.
            parent_id: The session this one was started from (a sub-agent's parent).
            agent_context: Other than ``primary``: the external provider is asked, and never told.
            on_exit: ``detach`` leaves the session open at the end of the ``with`` block, for the next request.

        Raises:
            UsageError: The id cannot be one, or the session belongs to another user or chat.
        """
        self._check()
        source = word(source, "source") or "cli"
        user_id, chat_id = word(user_id, "user_id"), word(chat_id, "chat_id")
        cwd, model = word(cwd, "cwd"), word(model, "model")
        parent_id, title = word(parent_id, "parent_id"), word(title, "title")
        one_of(agent_context, get_args(AgentContext), "agent_context")
        one_of(on_exit, get_args(OnExit), "on_exit")
        self._profile.sweep()
        self._profile.crowd.saw(source, user_id, self._profile.history)
        scope = scope_for(self._profile.settings, source=source, user_id=user_id, chat_id=chat_id)
        if session_id is not None:
            checked_id(session_id)
            found = self._profile.attach.find(session_id, scope)
            if found is not None:
                return self._track(
                    Session(
                        self,
                        self._profile,
                        found.info,
                        found.turns,
                        on_exit,
                        auto_title=found.auto_title,
                    )
                )
        new_id = session_id or self._profile.attach.new_id()
        info = SessionInfo(
            id=new_id,
            lineage=new_id,
            profile=self._place.name,
            source=source,
            user_id=user_id,
            chat_id=chat_id,
            cwd=cwd,
            model=model,
            parent_id=parent_id,
            agent_context=agent_context,
            scope=scope,
            started_at=self._profile.clock(),
        )
        info = self._profile.attach.begin(info, title)
        return self._track(Session(self, self._profile, info, 0, on_exit))

    def resume(
        self,
        text: str,
        *,
        source: str | None = None,
        user_id: str | None = None,
        chat_id: str | None = None,
        on_exit: OnExit = "end",
    ) -> Session:
        """Go on with a stored conversation by id, unique prefix, or title, to the newest of its lineage.

        Args:
            text: Id, the beginning of one, or title.
            source: Where the person who asks is; with isolation on it makes, together with ``user_id`` or
                ``chat_id``, whose conversations are looked through.
            user_id: Who asks.
            chat_id: Where they ask.
            on_exit: As in ``session``.

        Raises:
            SessionNotFoundError: Nothing of theirs matches.
            ScopeRequired: Isolation is on and neither a user nor a chat was named.
        """
        self._check()
        text = word(text, "text") or ""
        source, user_id = word(source, "source"), word(user_id, "user_id")
        chat_id = word(chat_id, "chat_id")
        history = self._profile.history
        if history is None:
            raise SessionNotFoundError(
                "History is switched off, so there is nothing to go on with.",
                hint="hermes config set memory.history_enabled true",
            )
        named = source or user_id or chat_id
        scope = (
            scope_for(
                self._profile.settings, source=source or "cli", user_id=user_id, chat_id=chat_id
            )
            if named
            else None
        )
        record = history.resolve(text, scope=scope)
        return self.session(
            record.source,
            record.id,
            user_id=record.user_id,
            chat_id=record.chat_id,
            on_exit=on_exit,
        )

    # ------------------------------------------------------------ moving things along

    def flush(self, timeout_s: float = 5.0, *, force: bool = False) -> bool:
        """Wait for the outbox; True when it is empty for the active provider.

        Args:
            timeout_s: Seconds to wait.
            force: Try at once what waits for its next attempt, past the breaker (a person asked for it).
        """
        self._check()
        delivery = self._profile.delivery
        if delivery is not None and force:
            self._profile.outbox.hurry(self._profile.roster.external.name)  # type: ignore[union-attr]
            delivery.force()
        if delivery is None:
            return not self._profile.outbox.counts()["pending"]
        return delivery.flush(timeout_s)

    def export(self, *, providers: Sequence[str] = (), scope: Scope | None = None) -> Iterator[str]:
        """Lines of the open export format (docs/reference/export-format.md), the header first.

        Args:
            providers: Whose memories; none named means the built-ins and the active external provider.
            scope: Only this scope; None for all.

        Raises:
            ProviderError: One cannot export or stopped half-way.
        """
        self._check()
        return transfer.export(self._profile, providers, scope)

    def import_export(
        self,
        file: IO[str],
        *,
        to: str | None = None,
        dry_run: bool = False,
        progress: Callable[[Moved], None] | None = None,
    ) -> dict[str, Moved]:
        """Take in an export; what is there already counts as duplicate.

        Args:
            file: The export, opened as text.
            to: Everything goes to this provider; None: each record to the provider it came from, and to the
                active external one where that is not here.
            dry_run: Only count.
            progress: Told after each batch.

        Returns:
            What became of the records, by the provider that took them.
        """
        self._check()
        return transfer.take_in(self._profile, file, to=to, dry_run=dry_run, progress=progress)

    def migrate(
        self,
        source: str,
        target: str,
        *,
        dry_run: bool = False,
        progress: Callable[[Moved], None] | None = None,
    ) -> Moved:
        """Copy everything from one provider to another; an interrupted run goes on where it stopped.

        Nothing is removed from ``source`` and the active provider is not changed.
        """
        self._check()
        return transfer.migrate(self._profile, source, target, dry_run=dry_run, progress=progress)

    def forget(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        dry_run: bool = True,
        layers: Collection[str] | None = None,
        progress: Callable[[str], None] = lambda _text: None,
    ) -> list[ForgetReceipt]:
        """Find, and unless ``dry_run`` remove for good, everything that holds ``query``, wherever it is kept.

        Args:
            query: Matched as it is, letters in either case.
            scope: Whose memory. With isolation on it is needed; the profile's own scope (``PROFILE_SCOPE``) means
                everybody's and is the owner's to give.
            dry_run: Only look, and say what would go.
            layers: Names of ``types.moving.FORGET_LAYERS``; None for all.
            progress: Told what is being looked at.

        Returns:
            A receipt per place with what was found, what was removed, and why something was not; after a real
            run also one per file whose bytes still hold the text.

        Raises:
            UsageError: The query is blank, or a layer is unknown.
            ScopeRequired: Isolation is on and no scope was named.
        """
        from hermes_memory_core.engine.forgetting import Forgetting

        self._check()
        if not dry_run:
            self._titles.drop()
        run = Forgetting(
            self._profile, query, scope=scope, dry_run=dry_run, layers=layers, progress=progress
        )
        receipts = run.run()
        if not dry_run:
            with self._lock:
                sessions = list(self._sessions)
            for session in sessions:
                session._drop_prompt(run.holds)  # noqa: SLF001 - the two are one façade
        return receipts

    def slash(self, text: str, session: Session | None = None) -> str:
        """Run a slash command such as ``/memory pending`` for any host; the text to show.

        Never raises: an error is part of the text.
        """
        from hermes_memory_core import slash

        try:
            return slash.run(self, str(text or ""), session)
        except HermesMemoryError as error:
            return f"{error.message}\n→ {error.hint}" if error.hint else error.message

    def close(self) -> None:
        """End sessions that are still open, deliver what can be delivered, let the files go."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            sessions = list(self._sessions)
        # without the lock: a session that ends on another thread wants it too
        try:
            for session in sessions:
                session.__exit__()
            self._titles.close()
        finally:
            self._exit()
            self._profile.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------ inside

    def _check(self) -> None:
        if self._closed:
            raise UsageError("This memory is closed.", hint="open it again: Memory.open(...)")

    def _track(self, session: Session) -> Session:
        with self._lock:
            self._sessions.append(session)
        return session

    def _forget_session(self, session: Session) -> None:
        with self._lock:
            if session in self._sessions:
                self._sessions.remove(session)

    def _renew(self) -> None:
        """In a child after a fork: new locks, and threads when they are needed."""
        renew_lock(self)
        for session in self._sessions:
            renew_lock(session)
        self._titles.after_fork()
        renew(self._profile)

    def _end_sessions(self) -> None:
        """The interpreter exits and nobody closed this memory."""
        if self._closed:
            return
        for session in list(self._sessions):
            try:
                session.__exit__()
            except HermesMemoryError as error:  # it is ended as a crash at the next start
                logger.warning("session %s was not ended at exit: %s", session.id, error)
        self._titles.close()


_OPEN: weakref.WeakSet[Memory] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for memory in list(_OPEN):
        memory._renew()  # noqa: SLF001 - its own module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _close_at_exit(memory: Memory) -> Callable[[], None]:
    """End the sessions of a memory that nobody closed when the interpreter exits; returns how to call it off."""
    reference = weakref.ref(memory)
    owner = os.getpid()

    def at_exit() -> None:
        found = reference()
        if found is not None and os.getpid() == owner:
            found._end_sessions()  # noqa: SLF001 - its own module

    atexit.register(at_exit)
    return lambda: atexit.unregister(at_exit)
