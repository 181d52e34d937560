"""What a provider is constructed with: its context, and its settings together with its secrets."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_memory_core.config import LoadedConfig, Secrets
from hermes_memory_core.profiles import Profile
from hermes_memory_core.types import LLM, Decision, NoteWrite, Notice, ProviderContext


@dataclass(frozen=True)
class Services:
    """What every provider's context carries besides its own settings."""

    clock: Callable[[], float]
    redact: Callable[[str], str]
    tell: Callable[[Notice], None]
    notes_changed: Callable[[NoteWrite], None]
    approve: Callable[[NoteWrite], Decision]
    llm: LLM | None = None


@dataclass(frozen=True)
class Contexts:
    """Makes the contexts of one open profile's providers."""

    place: Profile
    config: LoadedConfig
    secrets: Secrets
    services: Services

    def make(self, name: str, config: Any) -> ProviderContext:
        """The context of one provider.

        Args:
            name: The provider.
            config: Its settings as its ``Config`` made them, or the plain mapping.
        """
        services = self.services
        return ProviderContext(
            name=name,
            home=self.place.path,
            data_dir=self.place.path / "providers" / re.sub(r"[^A-Za-z0-9_.-]", "_", name),
            profile=self.place.name,
            config=config,
            settings=self.config.plain,
            secrets=self.secrets.for_provider(name, self._secret_fields(name, None)),
            logger=logging.getLogger(f"hermes_memory.providers.{name}"),
            llm=services.llm,
            clock=services.clock,
            redact=services.redact,
            notify=services.tell,
            notes_changed=services.notes_changed,
            approve=services.approve,
        )

    def raw_config(self, name: str, kind: Any) -> Mapping[str, Any]:
        """``providers.<name>`` as written, with the secrets that are fields of the class's ``Config``."""
        raw = self.config.provider_config(name)
        model = getattr(kind, "Config", None)
        secrets = self.secrets.for_provider(name, self._secret_fields(name, model))
        fields = getattr(model, "model_fields", {})
        return {**raw, **{key: value for key, value in secrets.items() if key in fields}}

    def _secret_fields(self, name: str, model: Any) -> set[str]:
        """Field names of ``.env`` lines with this provider's prefix, and all fields of its Config."""
        prefix = re.sub(r"[^A-Z0-9]+", "_", name.upper()) + "_"
        found = {
            key[len(prefix) :].lower() for key in self.secrets.names() if key.startswith(prefix)
        }
        return found | set(getattr(model, "model_fields", {}))
