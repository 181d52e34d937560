"""Which plugins are known by a short name: the file ``catalog.json`` shipped here, or one that replaces it.

Reading and looking up only; nothing is installed here. A replacement that cannot be used never passes in
silence: the shipped catalog is taken and ``Catalog.warning`` says why.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

Tier = Literal["official", "community"]

SCHEMA = "hermes-memory/catalog/1"
SHIPPED = Path(__file__).with_name("catalog.json")
MAX_BYTES = 1_000_000
"""A larger catalog is refused, be it a file or a download."""
FETCH_TIMEOUT_S = 5.0
"""For the whole download of a catalog."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One plugin that can be installed by its short name."""

    name: str
    """What a person types, and the provider's own name."""
    distribution: str
    summary: str
    tier: Tier = "community"
    """``official``: kept in this repository. ``community``: kept by others."""
    versions: str = ""
    """Range of the distribution's versions that are known to work, e.g. ``>=0.1,<0.2``."""
    extras: tuple[str, ...] = ()
    docs: str = ""
    needs: str = ""
    """What a person must have before it works, in a few words."""
    local: str = ""
    """Directory below ``plugins/`` of a source checkout."""

    @property
    def requirement(self) -> str:
        """What is installed where there is no source checkout."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.distribution}{extras}{self.versions}"


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog as read."""

    entries: tuple[CatalogEntry, ...]
    source: str = "shipped"
    """``shipped``, or the path or URL it was read from."""
    warning: str = ""
    """Why another catalog than the wanted one is used, or which of its entries were left out."""

    def find(self, name: str) -> CatalogEntry | None:
        """The entry with this name, whatever its case and whichever of ``-``, ``_``, ``.`` is written."""
        wanted = same_name(name)
        return next((entry for entry in self.entries if same_name(entry.name) == wanted), None)

    def near(self, name: str, count: int = 2) -> list[str]:
        """Names that were perhaps meant: by catalog name and by distribution."""
        known = {same_name(entry.name): entry.name for entry in self.entries}
        known |= {_bare(entry.distribution): entry.name for entry in self.entries}
        found = difflib.get_close_matches(_bare(name), known, count, 0.75)
        return list(dict.fromkeys(known[match] for match in found))

    def search(self, word: str) -> list[CatalogEntry]:
        """Entries whose name, distribution, summary or needs contain every word of ``word``."""
        words = word.casefold().split()
        return [
            entry
            for entry in self.entries
            if all(part in _searched(entry).casefold() for part in words)
        ]


def _bare(name: str) -> str:
    """A distribution's name without what all of ours begin with, which would make them all alike."""
    return same_name(name).removeprefix("hermes-memory-")


def _searched(entry: CatalogEntry) -> str:
    return " ".join((entry.name, entry.distribution, entry.summary, entry.needs, entry.tier))


def same_name(name: str) -> str:
    """One form for names that the package index holds for the same (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def find(name: str) -> CatalogEntry | None:
    """The shipped catalog's entry with this name."""
    return shipped().find(name)


def how_to_install(name: str) -> str:
    """The command for a provider that is not there: by name only what the catalog knows, never a stranger's package."""
    entry = shipped().find(name)
    return f"hermes plugins install {entry.name}" if entry else f"hermes plugins search {name}"


@cache
def shipped() -> Catalog:
    """The catalog of this version."""
    entries, problems = parse(SHIPPED.read_text(encoding="utf-8"))
    if problems:
        raise AssertionError(f"catalog.json: {problems}")  # our own file; tests read it
    return Catalog(entries)


def load(source: str = "") -> Catalog:
    """The catalog at a path or URL; the shipped one for "", and, with a warning, when that cannot be used.

    Args:
        source: ``plugins.catalog``: a path, an ``https://`` URL, or ``http://`` on this machine.
    """
    if not source:
        return shipped()
    try:
        text = _fetch(source) if "://" in source else _read(source)
        entries, problems = parse(text)
    except (OSError, ValueError) as error:
        return Catalog(
            shipped().entries,
            warning=f"The catalog `{_without_credentials(source)}` cannot be used ({error}); the one "
            "shipped with this version is used instead.",
        )
    warning = f"Left out of the catalog: {'; '.join(problems)}." if problems else ""
    return Catalog(
        tuple(_foreign(entry) for entry in entries), _without_credentials(source), warning
    )


def parse(text: str) -> tuple[tuple[CatalogEntry, ...], list[str]]:
    """The entries of a catalog, and what is wrong with those that are left out.

    Raises:
        ValueError: The text as a whole is no catalog.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(data, Mapping) or not isinstance(data.get("plugins"), list):
        raise ValueError("it has no list `plugins`")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"its `schema` is not `{SCHEMA}`")
    entries: dict[str, CatalogEntry] = {}
    problems = []
    for number, item in enumerate(data["plugins"], 1):
        try:
            entry = _entry(item)
            if same_name(entry.name) in entries:
                raise ValueError(f"`{entry.name}` stands there twice")
        except ValueError as error:
            problems.append(f"entry {number}: {error}")
            continue
        entries[same_name(entry.name)] = entry
    return tuple(entries.values()), problems


def _entry(item: Any) -> CatalogEntry:
    if not isinstance(item, Mapping):
        raise ValueError("it is no object")
    name, distribution = _word(item, "name"), _word(item, "distribution")
    tier = item.get("tier", "community")
    if tier not in ("official", "community"):
        raise ValueError(f"the tier of `{name}` is neither official nor community")
    extras = item.get("extras", [])
    if not isinstance(extras, list) or not all(_is_name(extra) for extra in extras):
        raise ValueError(f"`extras` of `{name}` is no list of names")
    entry = CatalogEntry(
        name=name,
        distribution=distribution,
        summary=_text(item, "summary"),
        tier=tier,
        versions=_text(item, "versions").replace(" ", ""),
        extras=tuple(extras),
        docs=_text(item, "docs"),
        needs=_text(item, "needs"),
        local=_text(item, "local"),
    )
    if entry.versions and not re.fullmatch(r"[A-Za-z0-9.,<>=!~*+-]+", entry.versions):
        raise ValueError(f"`versions` of `{name}` is no version range")
    if entry.local and not _is_name(entry.local):
        raise ValueError(f"`local` of `{name}` is no directory name")
    return entry


def _word(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if not _is_name(value):
        raise ValueError(f"`{key}` is no name")
    return str(value)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 100 and bool(_NAME.fullmatch(value))


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key, "")
    if not isinstance(value, str) or len(value) > 500:
        raise ValueError(f"`{key}` is no short text")
    return value


def _foreign(entry: CatalogEntry) -> CatalogEntry:
    """An entry of somebody else's catalog: it may not point into this checkout, nor call itself official."""
    own = shipped().find(entry.name)
    if own is not None and own.distribution == entry.distribution:
        return entry
    return CatalogEntry(
        name=entry.name,
        distribution=entry.distribution,
        summary=entry.summary,
        versions=entry.versions,
        extras=entry.extras,
        docs=entry.docs,
        needs=entry.needs,
    )


def _read(source: str) -> str:
    path = Path(source).expanduser()
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return _bounded(data)


def _bounded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
    return data.decode("utf-8-sig")  # a UnicodeDecodeError is a ValueError


def _fetch(url: str) -> str:
    """Download a catalog: encrypted or from this machine, not redirected, bounded in size and time."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError("only https:// addresses are read")
    import time

    import httpx

    deadline = time.monotonic() + FETCH_TIMEOUT_S
    data = b""
    try:
        with httpx.stream("GET", url, timeout=FETCH_TIMEOUT_S, follow_redirects=False) as response:
            if response.status_code != 200:
                raise ValueError(f"the server answered {response.status_code}")
            for chunk in response.iter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    break
                if time.monotonic() > deadline:
                    raise ValueError(f"it took longer than {FETCH_TIMEOUT_S:.0f} s")
    except httpx.HTTPError as error:
        raise ValueError(f"{type(error).__name__}: {error}".rstrip(": ")) from None
    return _bounded(data)


def _without_credentials(source: str) -> str:
    return re.sub(r"://[^/@\s]+@", "://***@", source)
