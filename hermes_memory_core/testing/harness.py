"""Builds what a check needs: a temporary home, contexts, live instances, sessions, a real ``Memory`` around them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from hermes_memory_core.config.defaults import default_values
from hermes_memory_core.config.secrets import SecretMapping, secret_name
from hermes_memory_core.engine.roster import in_process_name
from hermes_memory_core.errors import ConfigError
from hermes_memory_core.memory import Memory
from hermes_memory_core.plugins.discover import discover
from hermes_memory_core.plugins.load import GUARDED, validate_config
from hermes_memory_core.plugins.validate import validate
from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.backend import Backend
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip
from hermes_memory_core.testing.doubles import FakeClock, FakeLLM
from hermes_memory_core.testing.subject import LogTrap, Subject, Witness, implementations
from hermes_memory_core.types import ProviderContext

MARK = "hm-secret-"
"""Every secret a check makes up begins with this, so that it can be looked for."""


class Harness:
    """Everything for one check of one provider; each check gets a fresh one. Use it in a ``with`` block.

    Args:
        provider: The provider's class.
        root: An empty directory.
        name: Its name; None for the class's ``name``, else its own name in snake case.
        config: The ``providers.NAME`` section.
        secrets: Secrets by field name.
        settings: Core settings, merged over the defaults.
        backend: The stand-in for its service.
        strict: An unreachable backend is a failure (False: a skipped check).
    """

    def __init__(
        self,
        provider: type,
        root: Path,
        *,
        name: str | None = None,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
        backend: Backend | None = None,
        strict: bool = True,
    ) -> None:
        self.provider = provider
        self.root = root
        self.name = name or in_process_name(provider)
        self.config = dict(config or {})
        self.secrets = dict(secrets or {})
        self.settings = _merged(default_values(), settings or {})
        self.backend = backend
        self.strict = strict
        self.clock = FakeClock(inputs.STARTED)
        self.witness = Witness()
        self.subjects: list[Subject] = []
        self._settings_given = dict(settings or {})
        self._trap = LogTrap(self.witness.records)

    # ------------------------------------------------------------ what it is

    @property
    def hooks(self) -> frozenset[str]:
        """Hooks the class implements, found without constructing it."""
        return frozenset(implementations(self.provider))

    @property
    def built_in(self) -> bool:
        """True for the built-ins, whose files lie in the profile itself."""
        root = self.provider.__module__.partition(".")[0]
        return any(
            plugin.built_in
            and plugin.name == self.name
            and plugin.value.partition(":")[0].partition(".")[0] == root
            for plugin in discover()
        )

    def place(self, profile: str = "default") -> Path:
        """Directory of a profile."""
        home = self.root / "home"
        return home if profile == "default" else home / "profiles" / profile

    def data_dir(self, profile: str = "default") -> Path:
        """The provider's own directory there; of a built-in the profile."""
        return (
            self.place(profile) if self.built_in else self.place(profile) / "providers" / self.name
        )

    # ------------------------------------------------------------ live instances

    def start(
        self,
        profile: str = "default",
        *,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> Subject:
        """Construct the provider as the core does; a second call in the same profile is a restart's instance.

        Raises:
            Skip: It needs configuration that was not given.
            CheckFailed: It could not be constructed.
        """
        try:
            return self.construct(profile, config=config, secrets=secrets)
        except ConfigError as error:
            raise self._not_configured(error) from error
        except GUARDED as error:
            raise CheckFailed(
                f"Constructing it raised {type(error).__name__}: {error}",
                "raise `ConfigError` when a setting is missing; leave connections to the first call",
            ) from error

    def construct(
        self,
        profile: str = "default",
        *,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> Subject:
        """Construct it and let everything through that it raises."""
        context = self.context(profile, config=config, secrets=secrets)
        instance = self.provider(context)
        validate(instance, self.name)
        subject = Subject(instance, context, self.witness, strict=self.strict)
        self.subjects.append(subject)
        return subject

    def context(
        self,
        profile: str = "default",
        *,
        config: Mapping[str, Any] | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> ProviderContext:
        """What the class is constructed with.

        Raises:
            ConfigError: The configuration is not valid; it names the key.
        """
        place = self.place(profile)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        given = self.secrets if secrets is None else dict(secrets)
        raw = dict(self.config if config is None else config)
        fields = self.config_fields
        merged = {**raw, **{key: value for key, value in given.items() if key in fields}}
        return ProviderContext(
            name=self.name,
            home=place,
            data_dir=place / "providers" / self.name,
            profile=profile,
            config=validate_config(self.name, self.provider, merged),
            settings=self.settings,
            secrets=SecretMapping(given),
            logger=logging.getLogger(f"hermes_memory.providers.{self.name}"),
            llm=FakeLLM(),
            clock=self.clock,
            notify=self.witness.notices.append,
        )

    @property
    def config_fields(self) -> Mapping[str, Any]:
        """Fields of the provider's ``Config`` by name; empty when it declares none."""
        fields: Mapping[str, Any] = getattr(
            getattr(self.provider, "Config", None), "model_fields", {}
        )
        return fields

    # ------------------------------------------------------------ looking at what it keeps

    def stored(self, subject: Subject, text: str) -> int | None:
        """How many things it keeps that contain the text; None when that cannot be seen from outside."""
        if self.backend is not None:
            seen = self.backend.stored(text)
            if seen is not None:
                return seen
        if "export_memories" not in subject.hooks:
            return None
        return sum(text in record.content for record in subject.call("export_memories", scope=None))

    def must_see(self, subject: Subject, text: str) -> int:
        """Like ``stored``.

        Raises:
            Skip: What it keeps cannot be seen.
        """
        found = self.stored(subject, text)
        if found is None:
            raise Skip(
                "what the provider keeps cannot be seen: it has no `export_memories`, and the test gives no "
                "backend with `stored`",
                wanting=True,
            )
        return found

    # ------------------------------------------------------------ a real Memory

    @contextmanager
    def memory(self, **options: Any) -> Iterator[Memory]:
        """A real ``Memory`` on the temporary home with this provider as its external one.

        Raises:
            Skip: It needs configuration that was not given.
        """
        place = self.place()
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self.context()
        except ConfigError as error:  # told here; the engine would only report it
            raise self._not_configured(error) from error
        settings = _merged(self._settings_given, {"providers": {self.name: self.config}})
        # JSON is YAML
        (place / "config.yaml").write_text(json.dumps(settings, default=str), encoding="utf-8")
        lines = [
            f"{secret_name(self.name, key)}={json.dumps(value)}"
            for key, value in self.secrets.items()
        ]
        env = place / ".env"
        env.write_text("\n".join(lines) + "\n", encoding="utf-8")
        env.chmod(0o600)
        providers = () if self.built_in else (self._named(),)
        options = {"notify": self.witness.notices.append, **options}
        with Memory.open(self.root / "home", providers=providers, **options) as memory:
            yield memory

    def _not_configured(self, error: ConfigError) -> Skip | CheckFailed:
        if self.strict and (self.config or self.secrets):
            return CheckFailed(error.message, "mend `provider_config` of the test")
        return Skip(f"it needs configuration: {error.message}", wanting=True)

    def _named(self) -> type:
        if in_process_name(self.provider) == self.name:
            return self.provider
        return type(self.provider.__name__, (self.provider,), {"name": self.name})

    # ------------------------------------------------------------ life

    def __enter__(self) -> Self:
        logging.getLogger().addHandler(self._trap)
        self._levels = {
            name: logging.getLogger(name).level
            for name in (None, "hermes_memory", "hermes_memory_core")
        }
        for name in self._levels:
            logging.getLogger(name).setLevel(logging.DEBUG)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            for subject in self.subjects:
                subject.close()
        except CheckFailed:
            if kind is None:
                raise
        finally:
            logging.getLogger().removeHandler(self._trap)
            for name, level in self._levels.items():
                logging.getLogger(name).setLevel(level)


def files_below(directory: Path) -> dict[str, bytes]:
    """Every regular file below, by relative path, with its bytes."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                found[str(path.relative_to(directory))] = path.read_bytes()
    return found


def in_threads(work: Callable[[int], None], count: int, seconds: float = 30.0) -> None:
    """Run ``work(0)`` … ``work(count - 1)`` at the same time and raise the first error of any of them."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as pool:
        for future in [pool.submit(work, number) for number in range(count)]:
            future.result(seconds)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _merged(result[key], value) if both else value
    return result
