"""Which home and which profile is meant. A profile that is named and missing is an error, never the default.

Only reads. The rules are those of Hermes Agent (spec/builtin.md section 9), so both programs agree in one home.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.errors import ProfileError
from hermes_memory_core.storage.atomic import read_bytes

DEFAULT = "default"
PROFILES_DIR = "profiles"
ACTIVE_FILE = "active_profile"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Profile:
    """One isolated memory: the root home itself (``default``) or ``<root>/profiles/<name>``."""

    name: str
    path: Path
    root: Path

    @property
    def is_default(self) -> bool:
        """Whether it is the root home itself."""
        return self.name == DEFAULT


def resolve_home(home: str | Path | None = None, environ: Mapping[str, str] | None = None) -> Path:
    """The directory all data lives under: the argument, else ``$HERMES_HOME``, else ``~/.hermes``.

    It may itself be a profile's directory; ``resolve_profile`` sees that. Nothing is created.

    Raises:
        ProfileError: It is a file, or the person's own directory cannot be found out.
    """
    environ = os.environ if environ is None else environ
    chosen = str(home) if home is not None else environ.get("HERMES_HOME", "").strip()
    try:
        path = Path(chosen).expanduser() if chosen else _user_home(environ) / ".hermes"
    except RuntimeError as error:
        raise ProfileError(
            f"The home `{chosen or '~/.hermes'}` cannot be found out: {error}.",
            hint="set HERMES_HOME to a directory",
        ) from error
    path = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the person's own links
    if path.exists() and not path.is_dir():
        raise ProfileError(
            f"`{path}` is a file; the home has to be a directory.",
            hint="set HERMES_HOME to a directory",
        )
    return path


def resolve_profile(home: Path, name: str | None = None) -> Profile:
    """The profile that is meant.

    Args:
        home: From ``resolve_home``: the root home, or the directory of one of its profiles.
        name: Named by the person; None for the home's own profile, else the active one, else ``default``.

    Raises:
        ProfileError: The name cannot be one, or there is no such profile. Nothing falls back to ``default``.
    """
    root, own = split_home(home)
    said_by = ""
    if name is None and own is not None:
        name, said_by = own, f"The home is set to `{home}`. "
    elif name is None:
        name, said_by = active_profile(root), f"`{root / ACTIVE_FILE}` names the active profile. "
    profile = profile_at(root, checked_name(name))
    if not profile.is_default and not profile.path.is_dir():
        raise missing_profile(root, profile.name, said_by=said_by)
    return profile


def split_home(home: Path) -> tuple[Path, str | None]:
    """(root, profile name) of a home; the name is None unless the home is ``<root>/profiles/<name>``."""
    if home.parent.name == PROFILES_DIR and NAME.fullmatch(home.name):
        return home.parent.parent, home.name
    return home, None


def profile_at(root: Path, name: str) -> Profile:
    """The profile of that name, whether it exists or not."""
    return Profile(name, root if name == DEFAULT else root / PROFILES_DIR / name, root)


def active_profile(root: Path) -> str:
    """The name in ``<root>/active_profile``; ``default`` when there is no such file or it is empty.

    Raises:
        ProfileError: The file holds no name. Guessing would put one profile's memory into another.
        StoreUnreadableError: The file cannot be read.
    """
    path = root / ACTIVE_FILE
    data = read_bytes(path)
    if data is None or not data.strip():
        return DEFAULT
    name = data[:200].decode("utf-8-sig", "replace").strip().lower()
    if not NAME.fullmatch(name):
        raise ProfileError(
            f"`{path}` should hold the active profile's name and holds something else; no profile was opened.",
            hint="`hermes profile use NAME` writes it anew",
            details={"path": str(path)},
        )
    return name


def list_profiles(root: Path) -> list[Profile]:
    """``default`` first, then all others by name."""
    found = [profile_at(root, DEFAULT)]
    directory = root / PROFILES_DIR
    if directory.is_dir():
        names = [
            child.name
            for child in directory.iterdir()
            if NAME.fullmatch(child.name) and child.name != DEFAULT and child.is_dir()
        ]
        found += [profile_at(root, name) for name in sorted(names)]
    return found


def checked_name(name: str) -> str:
    """The name in lower case.

    Raises:
        ProfileError: It has other characters than a to z, digits, ``-`` and ``_``, or more than 64.
    """
    lowered = name.strip().lower()
    if not NAME.fullmatch(lowered):
        raise ProfileError(
            f"{name!r} cannot be a profile's name: a to z, digits, - and _ can, 64 at most, "
            "a letter or digit first.",
            hint="`hermes profile list` shows the profiles there are",
        )
    return lowered


def missing_profile(root: Path, name: str, *, said_by: str = "") -> ProfileError:
    """There is no such profile: what there is, and how to make it."""
    there = [profile.name for profile in list_profiles(root)]
    return ProfileError(
        f"{said_by}There is no profile `{name}`; nothing was opened. There are: {', '.join(there)}.",
        hint=f"`hermes profile create {name}` makes it; `hermes -p default …` uses the default one",
        details={"profile": name, "profiles": there},
    )


def _user_home(environ: Mapping[str, str]) -> Path:
    # a caller's own mapping decides, so that nothing of this process leaks into it
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) if home else Path.home()
