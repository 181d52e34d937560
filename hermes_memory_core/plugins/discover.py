"""Which providers are installed: read from distribution metadata only, nothing is imported.

One function for every command and for the engine, so no command sees a plugin that another does not.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from hermes_memory_core.hookspecs import ENTRY_POINT_GROUP

CORE_DISTRIBUTION = "hermes-memory-core"
BUILT_IN_NAMES = ("files", "sessions", "skills")
"""Built-in providers, in the order they are asked."""


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """One provider entry point of one installed distribution."""

    name: str
    """Entry point name: the key of ``providers.NAME`` and what ``memory use`` takes."""
    value: str
    """``module:attribute``, as the distribution declares it."""
    distribution: str
    version: str
    requires_core: str = ""
    """The distribution's own range for hermes-memory-core, e.g. ``>=0.1,<0.2``; "" when it names none."""
    conflict: tuple[str, ...] = ()
    """Other distributions that claim the same name; then none of them is loaded."""

    @property
    def built_in(self) -> bool:
        """True for exactly files, sessions and skills of the core's own distribution."""
        return self.distribution == CORE_DISTRIBUTION and self.name in BUILT_IN_NAMES


_cache: tuple[tuple[tuple[str, int], ...], tuple[FoundPlugin, ...]] | None = None


def discover() -> tuple[FoundPlugin, ...]:
    """All installed providers, by name; read again only when a directory on ``sys.path`` changed."""
    global _cache
    key = _path_key()
    if _cache is None or _cache[0] != key:
        _cache = (key, tuple(_scan()))
    return _cache[1]


def find(name: str) -> FoundPlugin | None:
    """The installed provider with this name, or None."""
    return next((plugin for plugin in discover() if plugin.name == name), None)


def forget_cache() -> None:
    """Read metadata again on the next call (after an install in this process)."""
    global _cache
    _cache = None


def _path_key() -> tuple[tuple[str, int], ...]:
    key = []
    for entry in sys.path:
        try:
            key.append((entry, os.stat(entry or ".").st_mtime_ns))  # noqa: PTH116 - hot path
        except OSError:
            continue
    return tuple(key)


def _scan() -> list[FoundPlugin]:
    claims: dict[str, list[FoundPlugin]] = {}
    seen: set[str] = set()
    for distribution in metadata.distributions():
        text = _entry_points_text(distribution)
        if ENTRY_POINT_GROUP not in text:
            continue
        facts = distribution.metadata  # parsed anew on every access, so looked at once
        name = _normalise(facts["Name"] or "unknown")
        if name in seen:  # a second copy further down sys.path: Python imports the first
            continue
        seen.add(name)
        for point in distribution.entry_points.select(group=ENTRY_POINT_GROUP):
            plugin = FoundPlugin(
                name=point.name,
                value=point.value,
                distribution=name,
                version=facts["Version"] or "0",
                requires_core=_core_range(facts.get_all("Requires-Dist") or ()),
            )
            claims.setdefault(point.name, []).append(plugin)
    return [_settle(claims[name]) for name in sorted(claims)]


def _settle(claims: list[FoundPlugin]) -> FoundPlugin:
    """One claim, or, of several, the one to report with the others named as its conflict."""
    if len(claims) == 1:
        return claims[0]
    own = [claim for claim in claims if claim.built_in]
    if own:  # nobody takes a built-in's name away from it
        return own[0]
    first, *others = sorted(claims, key=lambda claim: claim.distribution)
    return FoundPlugin(
        name=first.name,
        value=first.value,
        distribution=first.distribution,
        version=first.version,
        requires_core=first.requires_core,
        conflict=tuple(other.distribution for other in others),
    )


def _entry_points_text(distribution: metadata.Distribution) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except (
        OSError,
        UnicodeDecodeError,
    ):  # a broken distribution of somebody else's is not ours to report
        return ""


def _core_range(requirements: Iterable[str]) -> str:
    for requirement in requirements:
        match = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)", requirement)
        if match and _normalise(match[1]) == CORE_DISTRIBUTION:
            return match[2].strip()
    return ""


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution_path(plugin: FoundPlugin) -> Path | None:
    """Where the distribution's metadata stands, for ``plugins info``."""
    try:
        found = metadata.distribution(plugin.distribution)
    except metadata.PackageNotFoundError:
        return None
    return Path(str(found.locate_file("")))
