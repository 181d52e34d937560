"""Which providers are at work in one open profile: the built-ins, and at most one external.

Built-ins are loaded when first needed; the external one when a session, or a command that is about it, needs it.
The module of a provider that is not active is never imported.
"""

from __future__ import annotations

import difflib
import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pluggy

from hermes_memory_core.config import LoadedConfig, Secrets
from hermes_memory_core.engine.breaker import Breaker
from hermes_memory_core.engine.calls import Provider, describe
from hermes_memory_core.engine.contexts import Contexts, Services
from hermes_memory_core.engine.figures import Figures
from hermes_memory_core.engine.pool import Pool
from hermes_memory_core.errors import ConfigError, PluginLoadError, StoreError
from hermes_memory_core.hookspecs import PROJECT, ProviderSpec
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, FoundPlugin, discover
from hermes_memory_core.plugins.load import Loaded, PluginStatus, default_hint, load
from hermes_memory_core.profiles import Profile
from hermes_memory_core.types import Notice

logger = logging.getLogger(__name__)

LOAD_TIMEOUT_S = 10.0
"""How long an external provider may take to be imported and constructed. Large SDKs need two or three seconds."""


@dataclass
class Roster:
    """The providers of one open Memory.

    Args:
        place: The profile.
        config: Its settings.
        secrets: Its ``.env``.
        services: For the providers' contexts.
        figures: Where states and breakers are kept.
        in_process: Provider classes the host handed over; they count as installed.
        on_change: Told when the external provider's breaker opens or closes.
        no_plugins: The safe mode: no external provider at all.
    """

    place: Profile
    config: LoadedConfig
    secrets: Secrets
    services: Services
    figures: Figures
    in_process: Sequence[type] = ()
    on_change: Callable[[Provider, bool], None] | None = None
    no_plugins: bool = False
    failures: list[PluginStatus] = field(default_factory=list)
    """What could not be loaded, and why."""

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(ProviderSpec)
        self._loaded: list[Provider] = []
        self._built_ins: list[Provider] | None = None
        self._external: Provider | None = None
        self._lending = False
        self.external_tried = False
        """Whether loading the external provider was attempted."""
        self._stores: Mapping[str, Any] | None = None
        self._contexts = Contexts(self.place, self.config, self.secrets, self.services)

    # ------------------------------------------------------------ who is there

    @property
    def loaded(self) -> list[Provider]:
        """Providers that are loaded so far, in order, without loading any."""
        return list(self._loaded)

    @property
    def built_ins(self) -> list[Provider]:
        """files, sessions, skills: those that are installed and switched on."""
        with self._lock:
            if self._built_ins is None:
                self._built_ins = self._load_built_ins()
            return self._built_ins

    @property
    def external(self) -> Provider | None:
        """The one active external provider; None when there is none or it could not be loaded."""
        with self._lock:
            if not self.external_tried:
                self.external_tried = True
                self.built_ins  # noqa: B018 - their order in the manager comes first
                chosen = self.chosen
                self._external = self._load(*chosen) if chosen else None
            return self._external

    @property
    def external_if_loaded(self) -> Provider | None:
        """The external provider when something has needed it already; never loads it."""
        return self._external

    @property
    def everyone(self) -> list[Provider]:
        """Built-ins first, then the external provider."""
        return [*self.built_ins, *([self.external] if self.external else [])]

    @property
    def stores(self) -> Mapping[str, Any]:
        """``notes``, ``history``, ``skills`` as the providers offer them; the first to offer one wins."""
        with self._lock:
            if self._stores is None:
                self._stores = self._collect_stores()
            return self._stores

    def _collect_stores(self) -> Mapping[str, Any]:
        stores: dict[str, Any] = {}
        for provider in self.built_ins:
            outcome = provider.call("stores", self.config.plain["memory"]["deadlines"]["close_s"])
            if outcome.ok and isinstance(outcome.value, Mapping):
                for name, store in outcome.value.items():
                    stores.setdefault(name, store)
        return stores

    @cached_property
    def chosen(self) -> tuple[FoundPlugin, type | None] | None:
        """Which external provider is meant, found but not imported.

        Raises:
            ConfigError: Several in-process providers and no ``memory.provider`` that names one.
        """
        if self.no_plugins:
            return None
        name = self.config.plain["memory"]["provider"]
        classes = self._classes
        if not name and len(classes) > 1:
            names = ", ".join(classes)
            raise ConfigError(
                f"One external provider is active per profile; {len(classes)} were given ({names}).",
                hint=f"hermes memory use {next(iter(classes))}",
            )
        if not name and classes:
            name = next(iter(classes))
        for other, kind in classes.items():
            if other != name:
                self._refuse_second(other, kind, name)
        if not name:
            return None
        return self._find(name)

    def borrow(self, name: str) -> Provider:
        """A provider by name for one command (export, migration, check), seated or not.

        Raises:
            PluginLoadError: It is not installed or does not load; the reason is in the message.
        """
        self.everyone  # noqa: B018 - whoever has a seat comes first
        for provider in self._loaded:
            if provider.name == name:
                return provider
        with self._lock:
            self._lending = True
            try:
                found = self._find(name)
                borrowed = self._load(*found) if found else None
            finally:
                self._lending = False
        if borrowed is not None:
            return borrowed
        why = next((one for one in reversed(self.failures) if one.name == name), None)
        raise PluginLoadError(
            f"`{name}` cannot be used: {why.error if why else 'it is not installed'}.",
            hint=why.hint if why else f"hermes plugins install {name}",
        )

    def close(self, timeout_s: float) -> None:
        """Close all that were loaded, the external one first."""
        for provider in reversed(self._loaded):
            provider.close(timeout_s)

    # ------------------------------------------------------------ inside

    def _is_on(self, name: str) -> bool:
        memory = self.config.plain["memory"]
        if name in self.config.plain["plugins"]["disabled"]:
            return False
        if name == "files":
            return bool(memory["memory_enabled"] or memory["user_profile_enabled"])
        return bool(memory["history_enabled"]) if name == "sessions" else True

    @cached_property
    def _classes(self) -> Mapping[str, type]:
        return {in_process_name(kind): kind for kind in self.in_process}

    def _find(self, name: str) -> tuple[FoundPlugin, type | None] | None:
        """An external provider by name: the host's own class, or what is installed; not imported."""
        kind = self._classes.get(name)
        if kind is not None:
            return _made_up(name, kind), kind
        plugin = self._installed(name)
        return (plugin, None) if plugin is not None else None

    def _installed(self, name: str) -> FoundPlugin | None:
        installed = {plugin.name: plugin for plugin in discover() if not plugin.built_in}
        if name in self.config.plain["plugins"]["disabled"]:
            self._note(
                _status(name, "disabled in `plugins.disabled`", f"hermes plugins enable {name}")
            )
            return None
        plugin = installed.get(name)
        if plugin is None:
            near = difflib.get_close_matches(name, installed, n=1, cutoff=0.6)
            hint = f"hermes memory use {near[0]}" if near else f"hermes plugins install {name}"
            self._note(_status(name, "is not installed; what it holds is untouched", hint))
            return None
        if plugin.conflict:
            both = ", ".join((plugin.distribution, *plugin.conflict))
            self._note(
                _status(
                    name,
                    f"several distributions claim this name: {both}",
                    f"pip uninstall {plugin.conflict[0]}",
                )
            )
            return None
        return plugin

    def _load_built_ins(self) -> list[Provider]:
        found = {plugin.name: plugin for plugin in discover() if plugin.built_in}
        wanted = [name for name in BUILT_IN_NAMES if self._is_on(name)]
        providers = [self._load(found[name], None) for name in wanted if name in found]
        for name in wanted:
            if name not in found and name != "skills":  # skills come with a later version
                self._missing_built_in(name)
        return [provider for provider in providers if provider is not None]

    def _load(self, plugin: FoundPlugin, kind: type | None) -> Provider | None:
        def run() -> Loaded | PluginStatus:
            return load(
                plugin,
                self._contexts.make,
                lambda found: self._contexts.raw_config(plugin.name, found),
                provider_class=kind,
            )

        result = run() if plugin.built_in else self._bounded(plugin, run)
        if isinstance(result, PluginStatus):
            self._note(result)
            return None
        return self._enlist(plugin, result)

    def _bounded(
        self, plugin: FoundPlugin, run: Callable[[], Loaded | PluginStatus]
    ) -> Loaded | PluginStatus:
        """Load a stranger on a thread of its own: an import or a constructor that hangs costs a limited time."""
        pool = Pool(f"load-{plugin.name}", threads=1, limit=1)
        job = pool.submit(run)
        assert job is not None  # noqa: S101 - the pool is new
        ended = job.wait(LOAD_TIMEOUT_S) or not pool.abandon(job)
        pool.close()
        if ended and isinstance(job.value, Loaded | PluginStatus):
            return job.value
        error = describe(job.error) or f"it was still loading after {LOAD_TIMEOUT_S:.0f} s"
        return PluginStatus(
            plugin.name,
            plugin.distribution,
            plugin.version,
            "import",
            error,
            default_hint(plugin, "import"),
        )

    def _enlist(self, plugin: FoundPlugin, result: Loaded) -> Provider | None:
        breaker = None
        if not result.built_in:
            settings = self.config.plain["memory"]["breaker"]
            breaker = Breaker(
                failures=settings["failures"],
                open_s=settings["open_s"],
                max_open_s=settings["max_open_s"],
                state=self.figures.breaker_of(result.name),
            )
        try:
            provider = Provider(
                result,
                self._manager,
                self.services.clock,
                breaker=breaker,
                on_change=self.on_change,
            )
        except (pluggy.PluginValidationError, ValueError) as error:
            self._note(
                PluginStatus(
                    plugin.name, plugin.distribution, plugin.version, "validate", str(error), ""
                )
            )
            return None
        for other in self._loaded:
            other.peers_changed()
        self._loaded.append(provider)
        self._register(provider)
        return provider

    def _refuse_second(self, name: str, kind: type, active: str) -> None:
        plugin = _made_up(name, kind)
        self._note(
            PluginStatus(
                name,
                plugin.distribution,
                plugin.version,
                "validate",
                f"`{active}` is the active external provider of this profile; there is one seat",
                f"hermes memory use {name}",
            )
        )

    def _missing_built_in(self, name: str) -> None:
        self._note(
            _status(
                name,
                "the built-in is not installed",
                "pip install --force-reinstall hermes-memory-core",
            )
        )

    def _note(self, status: PluginStatus) -> None:
        self.failures.append(status)
        if self._lending:  # the command that asked tells it; the profile does not live with it
            return
        self._register(status)
        self.services.tell(
            Notice(
                "provider_failed",
                f"`{status.name}` is not working ({status.phase}): {status.error}.".replace(
                    "..", "."
                ),
                hint=status.hint,
                key=f"provider_failed:{status.name}:{status.phase}",
            )
        )

    def _register(self, what: Provider | PluginStatus) -> None:
        try:
            self.figures.register(what)
        except StoreError as error:  # status will lack a line; the provider works all the same
            logger.warning("the state of %s could not be kept: %s", what.name, error.message)


def in_process_name(kind: type) -> str:
    """The name of a class handed over by the host: its ``name`` attribute, else its own name in snake case."""
    given = getattr(kind, "name", None)
    if isinstance(given, str) and given:
        return given
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def _made_up(name: str, kind: type) -> FoundPlugin:
    return FoundPlugin(
        name, f"{kind.__module__}:{kind.__qualname__}", f"{kind.__module__} (in process)", "0"
    )


def _status(name: str, error: str, hint: str) -> PluginStatus:
    return PluginStatus(name, "", "", "import", error, hint)
