"""What every command gets (``@click.pass_obj``): the global options, the open memory, and ways to answer.

Data goes to standard output, everything else to standard error. No command here; heavy modules are imported
inside the methods that need them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import output
from hermes_memory_core.cli.naming import Naming
from hermes_memory_core.errors import HermesMemoryError, ScopeRequired, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from hermes_memory_core.config import LoadedConfig
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.types import HistoryStore, NotesStore, Notice, Scope

NO_PLUGINS = "HERMES_MEMORY_NO_PLUGINS"


class _NotesOf:
    """The notes store with one scope filled in: commands need not know that there are several."""

    def __init__(self, store: NotesStore, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(getattr(self._store, name), scope=self._scope)


class State:
    """One run of the program. Commands of installed providers get the same object."""

    def __init__(self, program: str = "hermes") -> None:
        self.naming = Naming(program)
        self.home: str | None = None
        self.profile: str | None = None
        self.json = False
        self.verbose = 0
        self.quiet = False
        self.color: bool | None = None
        self.no_input = False
        self.whose_user: str | None = None
        self.whose_chat: str | None = None
        self.no_plugins = os.environ.get(NO_PLUGINS, "") not in ("", "0")

    def keep(self, name: str, value: Any) -> None:
        """Remember one global option, wherever on the line it stood; the last one wins."""
        setattr(self, name, value)
        if name in ("home", "profile"):
            setattr(self.naming, name, value)

    # -- the memory -----------------------------------------------------------

    @contextmanager
    def open(self, *, told_anyway: Collection[str] = ()) -> Iterator[Memory]:
        """The memory of the chosen profile, closed when the command is done.

        Args:
            told_anyway: Codes of notices that would only repeat what this command's own error says.
        """
        from hermes_memory_core.memory import Memory

        def notify(notice: Notice) -> None:
            if notice.code not in told_anyway:
                self.notice(notice)

        self.set_up_logging()
        with (
            self.plugins_switch(),
            Memory.open(home=self.home, profile=self.profile, notify=notify) as memory,
        ):
            yield memory

    @contextmanager
    def plugins_switch(self) -> Iterator[None]:
        """``--no-plugins`` made visible to everything below, by its environment variable."""
        before = os.environ.get(NO_PLUGINS)
        if self.no_plugins:
            os.environ[NO_PLUGINS] = "1"
        try:
            yield
        finally:
            if self.no_plugins and before is None:
                os.environ.pop(NO_PLUGINS, None)

    def root(self) -> Path:
        """The home directory: ``--home``, ``HERMES_HOME`` or the default. Need not exist."""
        from hermes_memory_core.profiles import resolve_home

        return resolve_home(self.home)

    def settings(self) -> LoadedConfig:
        """The settings of the chosen profile, without opening its stores."""
        from hermes_memory_core.config import load_settings

        return load_settings(self.profile_dir())

    def profile_dir(self) -> Path:
        """The chosen profile's directory."""
        from hermes_memory_core.profiles import resolve_profile

        return resolve_profile(self.root(), self.profile).path

    def notes(self, memory: Memory) -> NotesStore:
        """The notes store; with ``--user`` or ``--chat`` that one's notes only.

        Raises:
            UsageError: The ``files`` provider is switched off or did not load.
            ScopeRequired: Notes are kept apart and nobody was named.
        """
        store = memory.notes
        if store is None:
            raise UsageError(
                "The notes of this profile are switched off, or the built-in `files` did not load.",
                hint="hermes memory status",
            )
        scope = self.scope(memory)
        isolation = memory.settings.get("memory.isolation")
        if scope is None and isolation != "profile":
            raise ScopeRequired(
                f"Notes are kept per {isolation} in this profile; name the {isolation} you mean.",
                hint=f"add --{isolation} SOURCE:ID; who there is: hermes memory identity list",
            )
        return store if scope is None else _NotesOf(store, scope)

    def scope(self, memory: Memory) -> Scope | None:
        """Whose memory ``--user`` or ``--chat`` names; None when neither was given.

        Raises:
            UsageError: They name nobody, or this profile keeps nobody apart that way.
        """
        if self.whose_user is None and self.whose_chat is None:
            return None
        from hermes_memory_core.engine.scopes import scope_named

        return scope_named(memory.settings.plain, user=self.whose_user, chat=self.whose_chat)

    @staticmethod
    def history(memory: Memory) -> HistoryStore:
        """The history store.

        Raises:
            UsageError: The ``sessions`` provider is switched off or did not load.
        """
        store = memory.history
        if store is None:
            raise UsageError(
                "The history of this profile is switched off, or the built-in `sessions` did not load.",
                hint="hermes memory status",
            )
        return store

    # -- answering ------------------------------------------------------------

    def result(self, schema: str, data: Any, human: Callable[[], str]) -> None:
        """Print the answer: one JSON object with ``--json``, else what ``human`` makes of it."""
        if self.json:
            click.echo(output.to_json(schema, self.naming.data(data)))
            return
        text = human()
        if text:
            click.echo(text)

    def say(self, text: str) -> None:
        """A remark for the person, on standard error; not with ``--quiet`` or ``--json``."""
        if not (self.quiet or self.json):
            click.echo(self.naming.text(text), err=True)

    def hint(self, text: str) -> None:
        """The next command to type, as ``→ …``."""
        if text:
            self.say("→ " + text)

    def notice(self, notice: Notice) -> None:
        """News from the memory itself (full notes, a provider that failed): never dropped, even with -q."""
        click.echo(output.clean(notice.message), err=True)
        if notice.hint:
            click.echo("→ " + self.naming.text(notice.hint), err=True)

    @property
    def interactive(self) -> bool:
        """Whether there is a person to ask: a terminal, and neither ``--no-input`` nor ``--json``."""
        return not (self.no_input or self.json) and sys.stdin is not None and sys.stdin.isatty()

    def confirm(self, question: str, *, yes: bool) -> bool:
        """Ask; True with ``--yes``.

        Raises:
            UsageError: There is nobody to ask (``--no-input``, ``--json``).
        """
        if yes:
            return True
        self._need_person("This needs a yes; nothing was changed.", "add --yes")
        with self._somebody_there():
            return click.confirm(question, err=True)

    def ask_word(self, question: str, word: str, *, yes: bool) -> bool:
        """Have a word typed before something that cannot be taken back."""
        if yes:
            return True
        self._need_person(f"This needs `{word}` typed; nothing was changed.", "add --yes")
        with self._somebody_there():
            answer: str = click.prompt(question, default="", show_default=False, err=True)
        return answer.strip() == word

    @contextmanager
    def _somebody_there(self) -> Iterator[None]:
        """Tell the end of a pipe (a script that answers nothing) from Ctrl-C, which click does not."""
        try:
            yield
        except click.Abort:
            if sys.stdin is not None and sys.stdin.isatty():
                raise
            raise UsageError("Nobody answered; nothing was changed.", hint="add --yes") from None

    def _need_person(self, message: str, hint: str) -> None:
        if self.no_input or self.json:
            raise UsageError(message, hint=hint)

    # -- going wrong ----------------------------------------------------------

    def failure(self, error: HermesMemoryError) -> None:
        """Print an expected error: message and hint for a person, the error object with ``--json``."""
        if self.json:
            click.echo(output.to_json("error", self.naming.data(error.to_dict()), field="error"))
            return
        click.echo(output.clean(error.message), err=True)
        for key, title in (("closest_entries", "nearest"), ("matches", "matches")):
            for text in error.details.get(key) or ():
                click.echo(
                    f"  {title}: {output.cut(str(text), output.terminal_width() - 12)}", err=True
                )
        for line in error.hint.splitlines():
            click.echo("→ " + self.naming.text(line), err=True)

    def set_up_logging(self) -> None:
        """Log lines to standard error: errors only, more with -v and -vv. A library never does this; we do."""
        import logging

        level = (logging.ERROR, logging.INFO, logging.DEBUG)[min(self.verbose, 2)]
        if self.quiet:
            level = logging.CRITICAL
        logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
