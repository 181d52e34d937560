"""``hermes plugins check``: does it load, and does it keep what the hook spec asks? Both in processes of their own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_core.cli import exits, output
from hermes_memory_core.cli.base import Command
from hermes_memory_core.cli.state import State
from hermes_memory_core.errors import UsageError
from hermes_memory_core.plugins.child import NoAnswer, answer_with, ask

if TYPE_CHECKING:
    from hermes_memory_core.plugins.probe import Probe

REPORT_MODULE = "hermes_memory_core.testing.report"
REPORT_TIMEOUT_S = 600.0


@click.command("check", cls=Command)
@click.argument("name")
@click.option(
    "--load-only", is_flag=True, help="Only import it and look at its hooks; no conformance report."
)
@click.pass_obj
def check(state: State, name: str, load_only: bool) -> None:
    """Import the plugin NAME in a process of its own, look at its hooks, and run the conformance report.

    The report uses a throw-away home, not yours. The exit code is 1 when something is wrong.

    hermes plugins check honcho
    hermes plugins check honcho --load-only
    """
    from hermes_memory_core.plugins.catalog import how_to_install
    from hermes_memory_core.plugins.discover import BUILT_IN_NAMES, find
    from hermes_memory_core.plugins.probe import probe

    if find(name) is None:
        raise UsageError(
            f"No plugin `{name}` is installed here.",
            hint="hermes plugins list" if name in BUILT_IN_NAMES else how_to_install(name),
        )
    loaded = probe(name)
    state.say(_loaded_text(loaded))
    report: dict[str, Any] | None = None
    if loaded.ok and not load_only:
        report = conformance(name)
    ok = loaded.ok and (report is None or report["ok"] is not False)
    data = {"name": name, "ok": ok, "load": asdict(loaded), "conformance": report}
    state.result("plugins-check", data, lambda: _text(loaded, report))
    if not loaded.ok:
        state.hint(loaded.hint)
    if not ok:
        raise click.exceptions.Exit(exits.FAILED)


def conformance(name: str) -> dict[str, Any]:
    """The conformance report of one provider: ``ok`` (None: could not be run), ``text``, ``data``."""
    if importlib.util.find_spec(REPORT_MODULE) is None:
        return {
            "ok": None,
            "text": "The conformance report is not part of this installation.",
            "data": None,
        }
    try:
        answer: dict[str, Any] = ask(
            "hermes_memory_core.cli.plugins_check", name, timeout_s=REPORT_TIMEOUT_S
        )
    except NoAnswer as silence:
        if silence.how == "late":
            text = (
                f"The conformance report took longer than {REPORT_TIMEOUT_S:.0f} s and was stopped."
            )
        elif silence.how == "not started":
            text = f"The conformance report cannot be started: {silence.why}"
        else:
            said = "\n".join(silence.said)
            text = f"The conformance report ended with exit code {silence.code}.\n{said}"
        return {"ok": False, "text": text, "data": None}
    return answer


def _loaded_text(loaded: Probe) -> str:
    if not loaded.ok:
        return ""
    return f"{loaded.distribution} {loaded.version}: imported in {loaded.import_s:.2f} s."


def _text(loaded: Probe, report: Mapping[str, Any] | None) -> str:
    if not loaded.ok:
        what = f"{loaded.distribution} {loaded.version}".strip() or loaded.name
        return output.clean(f"✗ {what} fails at {loaded.phase}: {loaded.error}")
    lines = [f"✓ loads; hooks: {', '.join(loaded.hooks) or 'none'}"]
    lines += [f"! {warning}" for warning in loaded.warnings]
    if report is not None:
        lines += ["", str(report["text"])]
    return output.clean("\n".join(lines))


def main(arguments: Sequence[str]) -> None:
    """The process of ``conformance``."""

    def report() -> dict[str, Any]:
        from importlib import import_module

        found = import_module(REPORT_MODULE).run(arguments[0])
        return {"ok": found.ok, "text": found.to_text(), "data": found.to_dict()}

    answer_with(report)


if __name__ == "__main__":
    main(sys.argv[1:])
