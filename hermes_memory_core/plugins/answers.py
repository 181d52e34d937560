"""What uv and pip said, understood: the changes of a dry run, and why they refused. Runs nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hermes_memory_core.errors import PluginInstallError
from hermes_memory_core.plugins.catalog import same_name
from hermes_memory_core.plugins.targets import without_credentials


@dataclass(frozen=True, slots=True)
class Change:
    """One distribution that an installation would add, replace or remove."""

    name: str
    before: str | None
    after: str | None
    pin: str = ""
    """The exact requirement that is installed, e.g. ``honcho-ai==2.7.0`` or ``x @ git+https://…@<commit>``."""
    sha256: str = ""
    """Hash of the archive, where the installer told it."""
    requires: tuple[str, ...] = ()
    requested: bool = False

    @property
    def line(self) -> str:
        """One line for a person: ``+ name 1.0``, ``~ name 1.0 → 2.0``, ``- name 1.0``."""
        if self.before is None:
            return f"+ {self.name} {self.after}"
        if self.after is None:
            return f"- {self.name} {self.before}"
        return f"~ {self.name} {self.before} → {self.after}"


def parse_pip(report: str) -> list[Change]:
    """The changes in the JSON of ``pip install --dry-run --report``; ``before`` is not known to it.

    Raises:
        PluginInstallError: The text is no such report.
    """
    try:
        data = json.loads(report[report.index("{") :])
        return [_pip_change(item) for item in data["install"]]
    except (ValueError, KeyError, TypeError) as error:
        raise PluginInstallError(
            f"pip's report cannot be understood ({type(error).__name__}); nothing was changed.",
            hint="python -m pip install --upgrade pip",
        ) from error


def _pip_change(item: Mapping[str, Any]) -> Change:
    info, source = item["metadata"], item["download_info"]
    name, version = same_name(info["name"]), str(info["version"])
    url = str(source["url"]).replace(" ", "%20")  # pip tells a local address unquoted
    archive = source.get("archive_info") or {}
    hashes = archive.get("hashes") or {}
    below = f"#subdirectory={source['subdirectory']}" if source.get("subdirectory") else ""
    if "vcs_info" in source:
        vcs = source["vcs_info"]
        pin = f"{name} @ {vcs['vcs']}+{url}@{vcs['commit_id']}{below}"
    elif "dir_info" in source:
        editable = bool(source["dir_info"].get("editable"))
        pin = f"--editable {url}" if editable else f"{name} @ {url}"
    elif item.get("is_direct"):
        pin = f"{name} @ {url}{below}"
    else:
        pin = f"{name}=={version}"
    return Change(
        name=name,
        before=None,
        after=version,
        pin=pin,
        sha256=str(hashes.get("sha256", "")),
        requires=tuple(info.get("requires_dist") or ()),
        requested=bool(item.get("requested")),
    )


UNKNOWN_VERSION = "?"
"""What uv tells of a version it has yet to build."""

_UV_LINE = re.compile(
    r"^ (?P<sign>[+~-]) (?P<name>[A-Za-z0-9._-]+)"
    r"(?:==(?P<version>\S+)(?: \(from (?P<url>.+)\))?| @ (?P<direct>\S+))$",
    re.MULTILINE,
)


def parse_uv(text: str) -> list[Change]:
    """The changes in what ``uv pip install --dry-run`` prints: lines `` + name==1.0`` or `` + name @ URL``."""
    gone: dict[str, str] = {}
    new: dict[str, Change] = {}
    for found in _UV_LINE.finditer(text):
        name, version = same_name(found["name"]), found["version"] or UNKNOWN_VERSION
        url = found["url"] or found["direct"]
        if found["sign"] == "-":
            gone[name] = version
            continue
        pin = f"{name} @ {url}" if url else f"{name}=={version}"
        new[name] = Change(name, None, version, pin, requested=bool(url))
    changes = [
        Change(change.name, gone.get(name), change.after, change.pin, requested=change.requested)
        for name, change in new.items()
    ]
    return changes + [Change(name, old, None) for name, old in gone.items() if name not in new]


_REASONS = (
    (
        r"do not match the hashes|hash mismatch|hashes? (?:are|is) required",
        "what was downloaded is not what was shown before",
        "look at the plan again: add --dry-run",
        False,
    ),
    (
        r"externally[- ]managed",
        "this Python belongs to the operating system, which forbids installing into it",
        "install Hermes Memory into a virtual environment (python3 -m venv), or with uv tool or pipx",
        False,
    ),
    (
        (
            r"name resolution|getaddrinfo|failed to establish|could not connect|connection (?:refused|reset|error)"
            r"|network is unreachable|error sending request|dns error|max retries|timed out|proxyerror"
            r"|temporary failure|could not resolve host"
        ),
        "the package index or repository could not be reached",
        "look at the network (or at the index settings of uv and pip), then try again",
        True,
    ),
    (
        r"\(constraint\)|conflicting dependencies|resolutionimpossible",
        "its requirements contradict what is installed or each other",
        "",
        False,
    ),
    (
        (
            r"no matching distribution|was not found in|could not find a version"
            r"|there are no versions|no versions of"
        ),
        "no such package, or no version of it that fits, is on the package index",
        "hermes plugins search",
        False,
    ),
    (
        r"unsatisfiable|no solution found",
        "its requirements contradict what is installed or each other",
        "",
        False,
    ),
    (
        r"no such file or directory: 'git'|git executable|cannot find command 'git'",
        "git is not installed",
        "install git",
        False,
    ),
    (
        r"permission denied|read-only file system|not writeable",
        "the environment cannot be written",
        "",
        False,
    ),
    (r"no space left", "the disk is full", "", False),
)


_CORE = re.compile(
    r"hermes-memory-core\s*((?:[<>=!~]{1,3}\s*[\w.*+!]+)(?:\s*,\s*[<>=!~]{1,3}\s*[\w.*+!]+)*)"
)


def _other_core(text: str) -> str:
    """A range of the core that was asked for and leaves this one out; "" when none was."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    from hermes_memory_core.version import VERSION

    for found in _CORE.finditer(text):
        with suppress(InvalidSpecifier):
            if not SpecifierSet(found[1]).contains(VERSION, prereleases=True):
                return f"hermes-memory-core {found[1]} was asked for, and this is {VERSION}"
    return ""


def explain(program: str, said: str) -> PluginInstallError:
    """An error in a person's words for what the installer printed when it failed."""
    text = without_credentials(said).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("[notice]")]
    reason, hint, again = next(
        (row[1:] for row in _REASONS if re.search(row[0], text, re.IGNORECASE)),
        (f"it failed ({lines[-1][:200]})" if lines else "it failed without a word", "", False),
    )
    wanted = "" if again else _other_core(text)
    if wanted:
        reason += f"; {wanted}"
    return PluginInstallError(
        f"{program} refused: {reason}.",
        hint=hint or "`-v` shows what the installer said",
        details={"installer": program, "said": "\n".join(lines[-30:])},
        retryable=again,
    )
