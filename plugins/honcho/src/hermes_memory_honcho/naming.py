"""Names on the server: which characters, which session, which peer. Pure functions, no settings file, no network.

The server takes ``[a-zA-Z0-9_-]``, up to 512 characters. Whatever would get lost by cleaning is told apart by a hash.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

MAX_CHARS = 100
"""Upstream's conservative length; names that fit keep the name Hermes Agent gave them."""
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


def digest(text: str, chars: int = 8) -> str:
    """First hex digits of the SHA-256: the same on every machine."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:chars]


def safe_name(text: str, *, limit: int = MAX_CHARS) -> str:
    """A name the server takes. Two different texts never share one, whatever their script.

    ASCII names only change where they must; a change adds ``-`` and 8 hex digits of the original.
    """
    clean = _UNSAFE.sub("-", text).strip("-")
    if clean == text and 0 < len(clean) <= limit:
        return clean
    suffix = digest(text)
    head = clean[: limit - 9].strip("-")
    return f"{head}-{suffix}" if head else suffix


def scoped(name: str, scope_digest: str, *, limit: int = MAX_CHARS) -> str:
    """The name for one scope; "" for the whole profile changes nothing."""
    if not scope_digest:
        return name
    return f"{name[: limit - 9].strip('-')}-{scope_digest[:8]}"


def repository(cwd: str) -> Path | None:
    """Top directory of the git repository ``cwd`` lies in; None outside of one."""
    path = Path(cwd)
    for place in (path, *path.parents):
        if (place / ".git").exists():
            return place
    return None


def directory_name(cwd: str, *, repo: bool, path_hash: bool) -> str:
    """Base name of the directory (or of its repository), told apart by the path if wanted."""
    place = (repository(cwd) if repo else None) or Path(cwd)
    name = safe_name(place.name or str(place))
    return f"{name}-{digest(str(place))}" if path_hash else name


def runtime_peer(user_id: str, prefix: str, taken: frozenset[str]) -> str:
    """Peer of a platform's user: prefix and id; a hash keeps it off explicit peers and lossy names apart."""
    whole = prefix + user_id
    clean = safe_name(whole)
    if clean not in taken:
        return clean
    for chars in (8, 12, 16, 24, 32, 64):
        candidate = f"{clean[: MAX_CHARS - chars - 1]}-{digest(whole, chars)}"
        if candidate not in taken:
            return candidate
    return digest(whole, 64)
