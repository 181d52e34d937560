"""``hermes plugins install | update``: shown first, then done, verified, or undone. No resolving here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command, Lazy
from hermes_memory_core.cli.plugins_common import catalog_of
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import HermesMemoryError, UsageError

if TYPE_CHECKING:
    from hermes_memory_core.plugins.environment import Snapshot
    from hermes_memory_core.plugins.install import Outcome, Plan
    from hermes_memory_core.plugins.installer import Installer

_SETUP = Lazy("hermes_memory_core.cli.setup:setup", "")
LOCK_NAME = "plugins.lock"

installer_option = click.option(
    "--with",
    "program",
    type=click.Choice(["uv", "pip"]),
    help="Which installer to run [uv where it is found, else pip].",
)
yes_option = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only show what would be done; change nothing."
)


@click.command("install", cls=Command)
@click.argument("what", metavar="NAME|REQUIREMENT|PATH|URL")
@click.option(
    "-e", "--editable", is_flag=True, help="Leave the code of a directory where it stands."
)
@installer_option
@yes_option
@dry_run_option
@click.pass_obj
def install(
    state: State, what: str, editable: bool, program: str | None, yes: bool, dry_run: bool
) -> None:
    """Install a plugin into this Python environment. Installing never makes it the active provider.

    A NAME of the catalog, a pip requirement, a directory, a wheel, or a git URL. What will run is shown before it
    runs. A plugin that would replace hermes-memory-core, or break what is installed, is refused; one that fails to
    install, offers no provider or cannot be imported is taken out again.

    hermes plugins install honcho
    hermes plugins install 'acme-memory>=2'
    hermes plugins install ./my-plugin --editable
    hermes plugins install git+https://github.com/acme/memory-plugin@v1.2
    """
    from hermes_memory_core.plugins.install import plan_install
    from hermes_memory_core.plugins.targets import understand

    target = understand(what, catalog_of(state), editable=editable)
    with _environment(state, program) as (installer, before):
        if not editable and target.kind == "catalog" and before.get(target.distribution):
            _already(state, before, target.distribution)
            return
        plan = plan_install(target, installer, before)
        if not plan.changes:
            _already(state, before, target.distribution)
            return
        if not _agreed(state, [plan], "Install it?", yes=yes, dry_run=dry_run):
            return
        outcome = _apply(plan)
    data = {**_plan_data(plan), "dry_run": False, "providers": _providers(outcome)}
    state.result("plugins-install", data, lambda: _installed_text(outcome))
    _offer_setup(state, outcome, yes)


@click.command("update", cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="All installed plugins.")
@installer_option
@yes_option
@dry_run_option
@click.pass_obj
def update(
    state: State,
    names: tuple[str, ...],
    everything: bool,
    program: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Bring plugins to the newest version that fits this core. hermes-memory-core itself is never changed.

    One that does not work in its new version goes back to the one it had.

    hermes plugins update honcho
    hermes plugins update --all --dry-run
    """
    if not names and not everything:
        raise UsageError("Name a plugin, or say --all.", hint="hermes plugins update --all")
    from hermes_memory_core.plugins.install import plan_update

    catalog = catalog_of(state)
    failures: list[HermesMemoryError] = []
    done: list[dict[str, Any]] = []
    with _environment(state, program) as (installer, before):
        for name in _wanted(names, before):
            try:
                plan = plan_update(name, installer, before, catalog)
                if isinstance(plan, str):
                    done.append({"name": name, "changes": [], "said": plan})
                    continue
                if not _agreed(state, [plan], "Update it?", yes=yes, dry_run=dry_run, final=False):
                    done.append({"name": name, **_plan_data(plan), "said": "left as it is"})
                    continue
                _apply(plan)
            except HermesMemoryError as error:  # one plugin that cannot be updated stops no other
                failures.append(error)
                tell_said(state, error)
                if not state.json:
                    state.failure(error)
                done.append({"name": name, "changes": [], "error": error.to_dict()})
                continue
            said = ", ".join(change.line[2:] for change in plan.changes)
            done.append({"name": name, **_plan_data(plan), "said": f"updated: {said}"})
            before = _fresh(installer)
    data = {"dry_run": dry_run, "plugins": done}
    state.result("plugins-update", data, lambda: _updated_text(done))
    if failures:
        raise click.exceptions.Exit(failures[0].exit_code if len(done) == 1 else exits.FAILED)


def _wanted(names: tuple[str, ...], before: Snapshot) -> list[str]:
    if names:
        return list(names)
    from hermes_memory_core.plugins.discover import CORE_DISTRIBUTION

    return sorted(
        one.name
        for one in before.distributions.values()
        if one.providers and one.name != CORE_DISTRIBUTION
    )


@contextmanager
def _environment(state: State, program: str | None) -> Iterator[tuple[Installer, Snapshot]]:
    """The installer for this interpreter and what it finds installed; nobody else installs meanwhile."""
    from hermes_memory_core.storage.locks import file_lock

    with file_lock(state.root() / LOCK_NAME, timeout_s=5.0):
        installer, before = installer_for(state, program)
        try:
            yield installer, before
        except HermesMemoryError as error:
            tell_said(state, error)
            raise


def installer_for(state: State, program: str | None) -> tuple[Installer, Snapshot]:
    """The installer for this interpreter, telling each command it runs, and what is installed now."""
    from pathlib import Path

    from hermes_memory_core.plugins.discover import CORE_DISTRIBUTION
    from hermes_memory_core.plugins.environment import read_environment
    from hermes_memory_core.plugins.installer import choose

    before = read_environment()
    core = before.get(CORE_DISTRIBUTION)
    inside = core is not None and Path(core.root).is_relative_to(before.prefix)

    def tell(line: str) -> None:
        if state.verbose:
            state.say(line)

    return choose(sys.executable, program, core_inside=inside, tell=tell), before


def _fresh(installer: Installer) -> Snapshot:
    from hermes_memory_core.plugins.environment import read_environment

    return read_environment(installer.python)


def _apply(plan: Plan) -> Outcome:
    from hermes_memory_core.plugins import discover
    from hermes_memory_core.plugins.install import apply

    try:
        return apply(plan)
    finally:
        discover.forget_cache()


def tell_said(state: State, error: HermesMemoryError) -> None:
    """With -v: what the installer itself said."""
    said = str(error.details.get("said", ""))
    if said and state.verbose:
        state.say(output.clean(said))


def _agreed(
    state: State,
    plans: list[Plan],
    question: str,
    *,
    yes: bool,
    dry_run: bool,
    final: bool = True,
) -> bool:
    """Show what will run and ask; False when it is not to be done."""
    for plan in plans:
        state.say(_plan_text(plan))
    if dry_run:
        if final:
            data = {**_plan_data(plans[0]), "dry_run": True, "providers": []}
            state.result("plugins-install", data, lambda: "Nothing was changed (--dry-run).")
        return False
    if state.confirm(question, yes=yes):
        return True
    state.say("Nothing was changed.")
    if final:
        raise click.exceptions.Exit(exits.FAILED)
    return False


def _plan_text(plan: Plan) -> str:
    lines = [f"Source   {output.clean(plan.target.said)}", f"Into     {plan.before.prefix}", ""]
    pins = {change.name: pin for change, pin in zip(_pinned(plan), plan.pins, strict=True)}
    for change in plan.changes:
        pin = pins.get(change.name, "")
        exact = pin if "==" not in pin.partition(" ")[0] else pin.partition(" ")[2]
        lines.append(f"  {change.line}" + (f"   {_shown(exact)}" if exact else ""))
    lines += ["", f"Runs     {plan.command}"]
    lines += [f"! {warning}" for warning in plan.warnings]
    return "\n".join(lines)


def _pinned(plan: Plan) -> list[Any]:
    return [change for change in plan.changes if change.pin]


def _shown(text: str) -> str:
    from hermes_memory_core.plugins.targets import without_credentials

    return output.cut(without_credentials(text.removeprefix("--hash=")), 100)


def _plan_data(plan: Plan) -> dict[str, Any]:
    from hermes_memory_core.plugins.targets import without_credentials

    return {
        "source": plan.target.said,
        "kind": plan.target.kind,
        "installer": plan.installer.program,
        "python": plan.installer.python,
        "command": plan.command,
        "pins": [without_credentials(pin) for pin in plan.pins],
        "changes": [
            {"name": change.name, "before": change.before, "after": change.after}
            for change in plan.changes
        ],
        "warnings": list(plan.warnings),
    }


def _providers(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "distribution": one.distribution,
            "version": one.version,
            "hooks": list(one.hooks),
            "settings": list(one.settings),
            "warnings": list(one.warnings),
        }
        for one in outcome.providers
    ]


def _installed_text(outcome: Outcome) -> str:
    lines = []
    for one in outcome.providers:
        lines.append(f"Installed {one.distribution} {one.version}: the provider `{one.name}`.")
        lines += [f"! `{one.name}`: {warning}" for warning in one.warnings]
    return "\n".join(output.clean(line) for line in lines)


def _updated_text(done: list[dict[str, Any]]) -> str:
    lines = [f"{one['name']}: {one['said']}" for one in done if "said" in one]
    return "\n".join(lines) if done else "No plugin is installed."


def _already(state: State, before: Snapshot, distribution: str) -> None:
    """Say that it is there already; an installed distribution without a provider is an error."""
    installed = before.get(distribution)
    names = [name for name, _ in installed.providers] if installed else []
    if installed is None or not names:
        from hermes_memory_core.errors import PluginInstallError

        raise PluginInstallError(
            f"`{distribution or 'It'}` is installed already and offers no memory provider. Nothing was changed.",
            hint="hermes plugins search",
        )
    data = {"distribution": installed.name, "version": installed.version, "providers": names}
    state.result(
        "plugins-install",
        {**data, "changes": []},
        lambda: f"{installed.name} {installed.version} is installed already. Nothing was changed.",
    )
    state.hint(f"hermes plugins update {names[0]}")


def _offer_setup(state: State, outcome: Outcome, yes: bool) -> None:
    """The next step: settings and keys. Asked for at a terminal, named elsewhere."""
    name = outcome.providers[0].name
    context = click.get_current_context()
    asks = not (yes or state.json or state.no_input or state.quiet) and sys.stdin.isatty()
    if asks and _SETUP.exists and state.confirm(f"Set up `{name}` now?", yes=False):
        command = _SETUP.load()
        with command.make_context("setup", [name], parent=context, obj=state) as inner:
            command.invoke(inner)
        return
    state.hint(f"set it up: hermes memory setup {name}")
