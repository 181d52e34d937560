"""From what a person typed to what is to be installed: a catalog name, a requirement, a path, a wheel or git.

Decides only what is meant; nothing is resolved, downloaded or run here.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes_memory_core.errors import PluginInstallError, UsageError
from hermes_memory_core.plugins.catalog import Catalog, CatalogEntry, same_name
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, CORE_DISTRIBUTION

Kind = Literal["catalog", "checkout", "requirement", "directory", "file", "git", "url"]

_ARCHIVES = (".whl", ".tar.gz", ".zip")
_GIT_HOSTS = re.compile(r"https?://(github\.com|gitlab\.com|codeberg\.org)/[\w.-]+/[\w.-]+/?$")
_CREDENTIALS = re.compile(r"://[^/@\s]+@")


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be installed."""

    kind: Kind
    arguments: tuple[str, ...]
    """What the installer is given: one requirement, path or URL, with ``--editable`` before it where wished."""
    said: str
    """Where it comes from, for a person."""
    distribution: str = ""
    """The distribution's name, where it is known before resolving."""
    entry: CatalogEntry | None = None

    @property
    def shown(self) -> str:
        """The requirement as a person may see it: no credentials."""
        return without_credentials(self.arguments[-1])

    @property
    def editable(self) -> bool:
        """Whether the code stays where it is instead of being copied."""
        return "--editable" in self.arguments


def understand(text: str, catalog: Catalog, *, editable: bool = False) -> Target:
    """What ``text`` names.

    Args:
        text: A catalog name, a requirement, a path, an archive or a git URL.
        catalog: Where short names are looked up, before anything else.
        editable: Install a directory or a git checkout so that its code stays in place.

    Raises:
        UsageError: It names nothing that could be installed; the hint says what was perhaps meant.
    """
    text = text.strip()
    if not text or text.startswith("-"):
        raise UsageError(f"`{text}` names no plugin; nothing was installed.", hint=_search_hint())
    target = _from_catalog(text, catalog) or _from_url(text) or _from_disk(text)
    target = target or _from_index(text, catalog)
    if editable and target.kind not in ("checkout", "directory"):
        raise UsageError(
            f"Only a directory can be installed with --editable, and `{target.shown}` is none.",
            hint=f"hermes plugins install {target.shown}",
        )
    if editable:
        return Target(
            target.kind,
            ("--editable", *target.arguments),
            target.said,
            target.distribution,
            target.entry,
        )
    return target


def source_checkout() -> Path | None:
    """The root of the source checkout this package runs from; None when it is installed for good."""
    import hermes_memory_core

    root = Path(hermes_memory_core.__file__).resolve().parent.parent
    return root if _project_name(root) == CORE_DISTRIBUTION else None


def without_credentials(text: str) -> str:
    """URLs without the user and password that may stand in them."""
    return _CREDENTIALS.sub("://***@", text)


def _from_catalog(text: str, catalog: Catalog) -> Target | None:
    if text.lower() in BUILT_IN_NAMES:
        raise UsageError(
            f"`{text}` is built in: it is installed with {CORE_DISTRIBUTION} and needs no installing.",
            hint="hermes memory status",
        )
    entry = catalog.find(text)
    if entry is None:
        return None
    root = source_checkout()
    if root is not None and entry.local:
        directory = root / "plugins" / entry.local
        if (directory / "pyproject.toml").is_file():
            said = f"plugins/{entry.local} of this source checkout"
            return Target("checkout", (str(directory),), said, entry.distribution, entry)
    said = f"{entry.distribution} from the package index ({entry.tier})"
    return Target("catalog", (entry.requirement,), said, entry.distribution, entry)


def _from_url(text: str) -> Target | None:
    if "://" not in text or " @ " in text:
        return None
    said = without_credentials(text)
    if text.startswith("git+"):
        return Target("git", (text,), f"git: {said.removeprefix('git+')}")
    if not text.startswith(("https://", "http://", "ssh://", "file://")):
        raise UsageError(f"`{said}` is no address that can be installed from.", hint=_search_hint())
    bare = text.partition("#")[0]
    if bare.endswith(_ARCHIVES):
        return Target("url", (text,), said)
    if (
        re.search(r"\.git(@[^/]+)?/?$", bare)
        or _GIT_HOSTS.fullmatch(bare)
        or text.startswith("ssh://")
    ):
        return Target("git", (f"git+{text}",), f"git: {said}")
    raise UsageError(
        f"`{said}` is neither an archive nor a git repository.",
        hint=f"hermes plugins install git+{said}",
    )


def _from_disk(text: str) -> Target | None:
    if " @ " in text:
        return None
    path = Path(text).expanduser()
    looks_like_path = text.startswith((".", "/", "~")) or text.endswith(_ARCHIVES)
    if not looks_like_path and not (path.is_dir() and "/" in text):
        return None
    if not path.exists():
        raise UsageError(
            f"There is no `{text}`; nothing was installed.", hint="hermes plugins search"
        )
    path = path.resolve()
    if path.is_file():
        if not path.name.endswith(_ARCHIVES):
            raise UsageError(f"`{text}` is neither a wheel nor a source archive.")
        return Target("file", (str(path),), str(path))
    if not any((path / name).is_file() for name in ("pyproject.toml", "setup.py")):
        raise UsageError(
            f"`{text}` has no pyproject.toml, so it cannot be installed.",
            hint="hermes plugins new NAME",
        )
    return Target("directory", (str(path),), str(path), _project_name(path))


def _from_index(text: str, catalog: Catalog) -> Target:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise UsageError(
            f"`{text}` is neither a plugin of the catalog nor a requirement, path or git URL; nothing "
            f"was installed.{_meant(text, catalog)}",
            hint=_near_hint(text, catalog),
            details={"known": [entry.name for entry in catalog.entries]},
        ) from None
    bare = text == requirement.name
    own = {same_name(entry.distribution) for entry in catalog.entries}
    if bare and same_name(text) not in own and catalog.near(text):
        # one letter away from a known plugin is the name a stranger would register
        raise UsageError(
            f"`{text}` is not in the catalog; nothing was installed.{_meant(text, catalog)}",
            hint=f"{_near_hint(text, catalog)}\nhermes plugins install '{text}>=0' if you mean the "
            "package of that name",
            details={"known": [entry.name for entry in catalog.entries]},
        )
    if requirement.url:
        return Target("url", (text,), without_credentials(requirement.url), requirement.name)
    said = f"{requirement.name} from the package index" + (
        " (not in the catalog)" if same_name(requirement.name) not in own else ""
    )
    return Target("requirement", (text,), said, requirement.name)


def _meant(text: str, catalog: Catalog) -> str:
    near = catalog.near(text)
    return f" Did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""


def _near_hint(text: str, catalog: Catalog) -> str:
    near = catalog.near(text, 1)
    return f"hermes plugins install {near[0]}" if near else _search_hint()


def _search_hint() -> str:
    return "hermes plugins search"


def _project_name(directory: Path) -> str:
    """The distribution's name in a directory's pyproject.toml; "" when it has none there."""
    path = directory / "pyproject.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise PluginInstallError(
            f"`{path}` cannot be read ({error}); nothing was installed.",
            details={"path": str(path)},
        ) from error
    project = data.get("project")
    name = project.get("name", "") if isinstance(project, dict) else ""
    return str(name)
