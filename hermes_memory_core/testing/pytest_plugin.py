"""Fixtures for provider authors' tests. Imports pytest and nothing of the framework until a fixture is used.

Loaded by the entry point ``hermes_memory``; ``-p no:hermes_memory`` switches it off.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.testing.doubles import FakeClock
    from hermes_memory_core.types import ProviderContext


@pytest.fixture
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory, named by ``HERMES_HOME``; the person's own is out of reach."""
    path = tmp_path / "hermes-home"
    monkeypatch.setenv("HERMES_HOME", str(path))
    monkeypatch.delenv("HERMES_MEMORY_NO_PLUGINS", raising=False)
    return path


@pytest.fixture
def fake_clock() -> FakeClock:
    """Epoch seconds that move only when told: ``fake_clock.forward(60)``."""
    from hermes_memory_core.testing.doubles import FakeClock

    return FakeClock()


@pytest.fixture
def provider_context(hermes_home: Path, fake_clock: FakeClock) -> ProviderContext:
    """What a provider is constructed with: empty configuration, no secrets, a directory of its own.

    For other values: ``dataclasses.replace(provider_context, config=…, secrets=…)``.
    """
    from hermes_memory_core.config.defaults import default_values
    from hermes_memory_core.types import ProviderContext

    hermes_home.mkdir(mode=0o700, exist_ok=True)
    return ProviderContext(
        name="testing",
        home=hermes_home,
        data_dir=hermes_home / "providers" / "testing",
        profile="default",
        config={},
        settings=default_values(),
        secrets={},
        logger=logging.getLogger("hermes_memory.providers.testing"),
        clock=fake_clock,
    )


@pytest.fixture
def memory(hermes_home: Path) -> Iterator[Memory]:
    """A real Memory on the empty home, with a ``RecordingProvider`` as its external provider."""
    from hermes_memory_core.memory import Memory
    from hermes_memory_core.testing.doubles import RecordingProvider

    with Memory.open(hermes_home, providers=[RecordingProvider]) as opened:
        yield opened
