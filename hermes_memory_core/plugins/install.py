"""Installing and updating plugins: resolved first, shown, done, verified, or undone.

Decides; ``installer`` runs uv or pip, ``environment`` reads what is there, ``backup`` undoes. Installing never
activates: which provider a profile uses is said in its config and nowhere else.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_core.errors import (
    HermesMemoryError,
    PluginConflictError,
    PluginInstallError,
    PluginVersionError,
)
from hermes_memory_core.hookspecs import ENTRY_POINT_GROUP
from hermes_memory_core.plugins.answers import Change
from hermes_memory_core.plugins.backup import back_up, roll_back
from hermes_memory_core.plugins.catalog import Catalog, same_name
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, CORE_DISTRIBUTION
from hermes_memory_core.plugins.environment import (
    HOST_DISTRIBUTION,
    Installed,
    Snapshot,
    broken_by,
    held_versions,
    read_environment,
)
from hermes_memory_core.plugins.installer import Installer, show
from hermes_memory_core.plugins.probe import Probe, probe
from hermes_memory_core.plugins.removal import UNCHANGED, find_installed, requirement_name
from hermes_memory_core.plugins.targets import Target, without_credentials

PUT_BACK = "Everything was put back as it was."


@dataclass(frozen=True, slots=True)
class Plan:
    """What an installation will do, exactly; made without changing anything."""

    target: Target
    installer: Installer
    before: Snapshot
    changes: tuple[Change, ...]
    warnings: tuple[str, ...] = ()

    @property
    def pins(self) -> tuple[str, ...]:
        """The lines of the requirements file that is installed: exact versions, commits, and hashes where known."""
        installed = [change for change in self.changes if change.pin]
        hashed = all(change.sha256 for change in installed)
        return tuple(
            f"{change.pin} --hash=sha256:{change.sha256}" if hashed else change.pin
            for change in installed
        )

    @property
    def command(self) -> str:
        """The command that will run, as a person would type it."""
        return show(self.installer.install_command(Path("pins.txt")))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an installation did."""

    plan: Plan
    providers: tuple[Probe, ...]
    """The providers it brought, each imported once in a process of its own."""


def plan_install(
    target: Target, installer: Installer, before: Snapshot, *, upgrade: Sequence[str] = ()
) -> Plan:
    """Resolve ``target`` against what is installed; nothing is changed.

    Raises:
        PluginInstallError: It cannot be resolved.
        PluginVersionError: It needs another hermes-memory-core.
        PluginConflictError: It would break what is installed, for example a Hermes Agent's pins.
    """
    with tempfile.TemporaryDirectory(prefix="hermes-plugins-") as directory:
        constraints = Path(directory) / "constraints.txt"
        constraints.write_text("".join(f"{line}\n" for line in held_versions(before)))
        try:
            found = installer.resolve(target.arguments, constraints, upgrade=upgrade)
        except HermesMemoryError as error:
            _say(error, f"`{target.shown}` cannot be installed: {error.message} {UNCHANGED}")
            raise
    changes = tuple(
        replace(change, before=before.version(change.name), pin=_pin(change, target))
        for change in found
    )
    _refuse_core(target, changes)
    broken = broken_by(before, {change.name: change.after for change in changes})
    if broken:
        raise PluginConflictError(
            f"`{target.shown}` would break what is installed: {'; '.join(broken)}. {UNCHANGED}",
            hint="install it into a virtual environment of its own, with hermes-memory-core beside it",
            details={"broken": broken, "changes": [change.line for change in changes]},
        )
    return Plan(target, installer, before, changes, _plan_warnings(target, changes))


def apply(plan: Plan, *, check: Callable[[str, str], Probe] = probe) -> Outcome:
    """Install what was planned and verify it; on any failure everything is put back.

    Args:
        plan: From ``plan_install``.
        check: ``(provider, python) -> Probe``: how the new providers are looked at.

    Raises:
        PluginInstallError: The installer failed, or what it installed offers no provider.
        PluginVersionError: The plugin is for another hermes-memory-core.
        PluginConflictError: Another distribution offers a provider of this name.
        PluginLoadError: A new provider cannot be imported.
    """
    names = [change.name for change in plan.changes]
    with tempfile.TemporaryDirectory(prefix="hermes-plugins-") as directory:
        kept = Path(directory) / "kept"
        kept.mkdir()
        backup = back_up(names, plan.before, kept)
        pins = Path(directory) / "pins.txt"
        pins.write_text("".join(f"{line}\n" for line in plan.pins))
        with _undone_on_failure(lambda: roll_back(plan.installer, backup, names)):
            plan.installer.install(pins)
            after = read_environment(plan.installer.python)
            offered = _verified(plan, after)
            probes = tuple(check(name, plan.installer.python).or_raise() for name in offered)
    return Outcome(plan, probes)


def plan_update(name: str, installer: Installer, before: Snapshot, catalog: Catalog) -> Plan | str:
    """What updating an installed plugin will do, or one sentence why there is nothing to do.

    Args:
        name: A provider's or a distribution's name.
        installer: The installer.
        before: What is installed.
        catalog: Says which versions of a known plugin are known to work.
    """
    installed = find_installed(name, before)
    if installed.is_editable:
        return f"`{installed.name}` is editable: its code is what stands in {installed.origin}."
    target = _update_target(installed, catalog)
    if isinstance(target, str):
        return target
    plan = plan_install(target, installer, before, upgrade=[installed.name])
    if not plan.changes:
        return f"`{installed.name}` {installed.version} is up to date."
    return plan


def _pin(change: Change, target: Target) -> str:
    """The change's pin; that of an editable target says so, which uv's dry run does not."""
    name, _, url = change.pin.partition(" @ ")
    if target.editable and name == change.name and url.startswith("file://"):
        return f"--editable {url}"
    return change.pin


def _refuse_core(target: Target, changes: Sequence[Change]) -> None:
    for change in changes:
        if change.name not in (CORE_DISTRIBUTION, HOST_DISTRIBUTION):
            continue
        would = (
            f"replace {change.name} {change.before}" if change.before else f"install {change.name}"
        )
        with_it = f" by {change.after}" if change.before and change.after else ""
        raise PluginVersionError(
            f"`{target.shown}` would {would}{with_it}, and a plugin may not. {UNCHANGED}",
            hint="install a version of the plugin that fits, or use `--with pip` where hermes-memory-core "
            "comes from the system's packages",
            details={"changes": [one.line for one in changes]},
        )


def _plan_warnings(target: Target, changes: Sequence[Change]) -> tuple[str, ...]:
    said = []
    for change in changes:
        if change.requested and change.requires and not _core_range(change.requires):
            said.append(
                f"{change.name} names no range of {CORE_DISTRIBUTION}: an upgrade can break it unannounced."
            )
        if change.before and change.after and _older(change.after, change.before):
            said.append(f"{change.name} becomes older: {change.before} → {change.after}.")
    if target.kind in ("requirement", "url", "git", "file") and target.entry is None:
        said.append(
            "It is not in the catalog: only install what you trust; its code runs in your agent."
        )
    return tuple(said)


def _verified(plan: Plan, after: Snapshot) -> list[str]:
    """Names of the providers that the changed distributions offer."""
    offered: list[str] = []
    changed = [one for change in plan.changes if (one := after.get(change.name))]
    for installed in changed:
        for provider, value in installed.providers:
            _check_provider(provider, value, installed, after)
            offered.append(provider)
        if installed.providers:
            _check_range(installed, after)
    if not offered:
        what = plan.target.distribution or plan.target.shown
        raise PluginInstallError(
            f"`{what}` installs, but offers no memory provider: none of its packages has an entry point in "
            f"the group `{ENTRY_POINT_GROUP}`.",
            hint="hermes plugins new NAME",
            details={"installed": [change.line for change in plan.changes]},
        )
    return offered


def _check_provider(provider: str, value: str, installed: Installed, after: Snapshot) -> None:
    if provider in BUILT_IN_NAMES:
        raise PluginConflictError(
            f"{installed.name} offers a provider `{provider}`, which is the name of a built-in."
        )
    others = [one.name for one in after.holders(provider) if one.name != installed.name]
    if others:
        raise PluginConflictError(
            f"{installed.name} offers a provider `{provider}`, and so does {', '.join(others)}, which is "
            "installed.",
            hint=f"hermes plugins remove {others[0]}",
        )
    if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", value):
        raise PluginInstallError(
            f"The entry point `{provider} = {value}` of {installed.name} is not `module:Class`."
        )


def _check_range(installed: Installed, after: Snapshot) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    wanted, core = _core_range(installed.requires), after.version(CORE_DISTRIBUTION)
    if not wanted or core is None:
        return
    try:
        fits = SpecifierSet(wanted).contains(core, prereleases=True)
    except InvalidSpecifier:
        raise PluginVersionError(
            f"{installed.name} asks for {CORE_DISTRIBUTION} {wanted}, which is no range."
        ) from None
    if not fits:
        raise PluginVersionError(
            f"{installed.name} {installed.version} was written for {CORE_DISTRIBUTION} {wanted}; this is {core}."
        )


@contextmanager
def _undone_on_failure(undo: Callable[[], list[str]]) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        problems = undo()
        if isinstance(error, HermesMemoryError):
            said = (
                f"Not everything could be put back: {'; '.join(problems)}."
                if problems
                else PUT_BACK
            )
            _say(error, f"{error.message.rstrip()} {said}")
            error.details["put_back"] = not problems
        raise


def _say(error: HermesMemoryError, message: str) -> None:
    error.message = message
    error.args = (message,)


def _update_target(installed: Installed, catalog: Catalog) -> Target | str:
    origin = installed.origin
    if not origin:
        entries = [
            entry for entry in catalog.entries if same_name(entry.distribution) == installed.name
        ]
        requirement = entries[0].requirement if entries else installed.name
        kind = "catalog" if entries else "requirement"
        return Target(
            "catalog" if kind == "catalog" else "requirement",
            (requirement,),
            f"{installed.name} from the package index",
            installed.name,
            entries[0] if entries else None,
        )
    data = json.loads(installed.direct_url)
    if "vcs_info" in data:
        revision = data["vcs_info"].get("requested_revision", "")
        below = f"#subdirectory={data['subdirectory']}" if data.get("subdirectory") else ""
        url = f"git+{origin}{f'@{revision}' if revision else ''}{below}"
        return Target("git", (url,), f"git: {without_credentials(origin)}", installed.name)
    path = Path(re.sub(r"^file://", "", origin))
    if "dir_info" in data and path.is_dir():
        return Target("directory", (str(path),), str(path), installed.name)
    return (
        f"`{installed.name}` {installed.version} was installed from {without_credentials(origin)}; "
        "install a newer one the same way."
    )


def _core_range(requires: Sequence[str]) -> str:
    for text in requires:
        if same_name(requirement_name(text)) == CORE_DISTRIBUTION:
            bare = text.partition(";")[0]
            return re.sub(r"^[^<>=!~]*(?:\[[^\]]*\])?", "", bare).strip(" ()")
    return ""


def _older(one: str, other: str) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return Version(one) < Version(other)
    except InvalidVersion:
        return False
