"""What is installed for one interpreter, and what a change to it would break. Changes nothing.

Read by a fresh process of that interpreter, so that nothing cached here can be stale and no plugin is imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import PluginInstallError
from hermes_memory_core.plugins.catalog import same_name
from hermes_memory_core.plugins.discover import CORE_DISTRIBUTION

HOST_DISTRIBUTION = "hermes-agent"
"""Where it is installed, its exact pins are held."""

_SCRIPT = Path(__file__).with_name("_snapshot.py")
_READ_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Installed:
    """One installed distribution."""

    name: str
    version: str
    requires: tuple[str, ...]
    providers: tuple[tuple[str, str], ...]
    """(provider name, ``module:attribute``) of its entry points."""
    root: str
    """The directory its files are relative to."""
    info: str
    """Its metadata directory."""
    recorded: bool
    """Whether it has a list of its files, without which it can be neither removed nor kept a copy of."""
    direct_url: str = ""
    """The text of its ``direct_url.json``: where it came from, if not from an index."""

    @property
    def origin(self) -> str:
        """The URL it was installed from, or "" for an index."""
        try:
            data = json.loads(self.direct_url or "{}")
        except ValueError:
            return ""
        return str(data.get("url", "")) if isinstance(data, dict) else ""

    @property
    def is_editable(self) -> bool:
        """Whether its code stands elsewhere."""
        return '"editable": true' in self.direct_url.replace('":true', '": true')


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All distributions an interpreter sees, by normalised name."""

    python: str
    prefix: str
    distributions: Mapping[str, Installed]

    def get(self, name: str) -> Installed | None:
        """The distribution with this name."""
        return self.distributions.get(same_name(name))

    def version(self, name: str) -> str | None:
        """Its version; None when it is not installed."""
        found = self.get(name)
        return found.version if found else None

    def holders(self, provider: str) -> list[Installed]:
        """Distributions that offer a provider of this name."""
        return [
            one
            for one in self.distributions.values()
            if any(name == provider for name, _ in one.providers)
        ]


def read_environment(python: str = sys.executable) -> Snapshot:
    """What is installed for ``python`` now.

    Raises:
        PluginInstallError: The interpreter does not answer.
    """
    try:
        done = subprocess.run(
            [python, "-P", str(_SCRIPT)],
            capture_output=True,
            text=True,
            timeout=_READ_TIMEOUT_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        data: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise PluginInstallError(
            f"What is installed for `{python}` cannot be read ({error}); nothing was changed.",
            hint="hermes doctor",
        ) from error
    found = {
        name: Installed(
            name=name,
            version=one["version"] or "0",
            requires=tuple(one["requires"]),
            providers=tuple((point[0], point[1]) for point in one["providers"]),
            root=one["root"],
            info=one["info"],
            recorded=one["recorded"],
            direct_url=one["direct_url"],
        )
        for name, one in data["found"].items()
    }
    return Snapshot(python, data["prefix"], found)


def held_versions(before: Snapshot) -> list[str]:
    """Constraints no plugin may move: this core, and a Hermes Agent with what it pins exactly."""
    from packaging.requirements import InvalidRequirement, Requirement

    held = {}
    for name in (CORE_DISTRIBUTION, HOST_DISTRIBUTION):
        one = before.get(name)
        if one is not None:
            held[name] = one.version
    host = before.get(HOST_DISTRIBUTION)
    for text in host.requires if host else ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        version = before.version(requirement.name)
        exact = any(part.operator in ("==", "===") for part in requirement.specifier)
        if version and exact and _applies(requirement):
            held[same_name(requirement.name)] = version
    return [f"{name}=={version}" for name, version in held.items()]


def broken_by(before: Snapshot, after: Mapping[str, str | None]) -> list[str]:
    """Requirements of installed distributions that hold now and would not hold after a change.

    Args:
        before: What is installed now.
        after: Normalised name to the version it would have; None for "gone".

    Returns:
        One sentence per broken requirement, e.g. ``hermes-agent needs httpx==0.28.1, which would be 0.29.0``.
    """
    sentences = []
    for one in before.distributions.values():
        if one.name in after:  # it changes itself; the resolver saw its new requirements
            continue
        for text, name in _moved(one.requires, after):
            version, old = after[name], before.version(name)
            if old is not None and _holds(text, old) and not (version and _holds(text, version)):
                would = f"would be {version}" if version else "would be removed"
                sentences.append(
                    f"{one.name} needs {text.partition(';')[0].strip()}, which {would}"
                )
    return sentences


def _moved(requires: Iterable[str], after: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    from packaging.requirements import InvalidRequirement, Requirement

    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        name = same_name(requirement.name)
        if name in after and _applies(requirement):
            yield text, name


def _applies(requirement: Any) -> bool:
    """Whether a requirement counts here, no extra being asked for."""
    return requirement.marker is None or bool(requirement.marker.evaluate({"extra": ""}))


def _holds(text: str, version: str) -> bool:
    from packaging.requirements import Requirement
    from packaging.version import InvalidVersion, Version

    try:
        Version(version)
    except InvalidVersion:  # not known before it is built: no verdict
        return True
    return bool(Requirement(text).specifier.contains(version, prereleases=True))
