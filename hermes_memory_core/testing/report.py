"""The checks as a report, without pytest: what ``hermes plugins check NAME`` prints."""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hermes_memory_core.errors import PluginConflictError, PluginLoadError, UsageError
from hermes_memory_core.plugins.catalog import how_to_install
from hermes_memory_core.plugins.discover import FoundPlugin, discover
from hermes_memory_core.plugins.load import GUARDED, check_version, import_class
from hermes_memory_core.testing.backend import Backend
from hermes_memory_core.testing.checks.registry import Check, CheckFailed, Skip, all_checks
from hermes_memory_core.testing.harness import Harness

Outcome = Literal["pass", "fail", "skip"]
SCHEMA = "hermes-memory-plugin-check/1"


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one check."""

    check: str
    title: str
    hook: str
    """The hook it is about; "" for the provider as a whole."""
    outcome: Outcome
    message: str = ""
    """What was seen, why it was skipped, or a remark."""
    hint: str = ""
    """How to mend it."""
    seconds: float = 0.0
    wanting: bool = False
    """Skipped for lack of configuration or of a backend, not because it does not apply."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all checks of one provider."""

    provider: str
    distribution: str
    version: str
    rows: tuple[Row, ...]
    import_s: float = 0.0
    """Seconds that importing its module took; 0 when it was imported already."""

    @property
    def ok(self) -> bool:
        """True when no check failed and at least one passed."""
        return not self.of("fail") and bool(self.of("pass"))

    def of(self, outcome: Outcome) -> tuple[Row, ...]:
        """Rows with this outcome."""
        return tuple(row for row in self.rows if row.outcome == outcome)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``--json``."""
        return {
            "schema": SCHEMA,
            "provider": self.provider,
            "distribution": self.distribution,
            "version": self.version,
            "ok": self.ok,
            "import_s": round(self.import_s, 3),
            "counts": {outcome: len(self.of(outcome)) for outcome in ("pass", "fail", "skip")},
            "rows": [asdict(row) for row in self.rows],
        }

    def to_text(self, *, verbose: bool = False) -> str:
        """For people: failures with how to mend them, what could not be looked at, the counts.

        Args:
            verbose: Every check, not only those that failed.
        """
        origin = f" ({self.distribution} {self.version})" if self.distribution else ""
        lines = [f"{self.provider}{origin}"]
        marks = {"pass": "ok  ", "fail": "FAIL", "skip": "-   "}
        # one fault, such as a constructor that raises, breaks most promises at once: it is told once
        reasons = Counter(row.message for row in self.of("fail"))
        for row in self.rows:
            if (row.outcome != "fail" or not reasons[row.message]) and not verbose:
                continue
            remark = f"  ({row.message})" if row.message and row.outcome != "fail" else ""
            lines.append(f"  {marks[row.outcome]} {row.title}{remark}")
            if row.outcome == "fail":
                lines.append(f"       {row.message}")
                if row.hint:
                    lines.append(f"       → {row.hint}")
                if not verbose and (more := reasons.pop(row.message) - 1):
                    lines.append(f"       … and {more} more for the same reason")
        wanting = sorted({row.message for row in self.of("skip") if row.wanting})
        lines.extend(f"  not looked at: {reason}" for reason in wanting)
        counts = f"{len(self.of('pass'))} kept, {len(self.of('fail'))} broken, {len(self.of('skip'))} skipped"
        lines.append(f"  {counts} of {len(self.rows)} promises")
        return "\n".join(lines)


def run(
    provider: str | type,
    *,
    config: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    backend: Backend | None = None,
    only: Callable[[Check], bool] | None = None,
    progress: Callable[[Row], None] | None = None,
) -> Report:
    """Check one provider, in temporary homes only; nobody's data is read or written.

    With real ``config`` and ``secrets`` the provider talks to its real service and leaves a few made-up
    sentences there.

    Args:
        provider: Name of an installed provider, or a class.
        config: The ``providers.NAME`` section; without it, checks that need it are skipped and say so.
        secrets: Secrets by field name.
        settings: Core settings, merged over the defaults.
        backend: The stand-in for its service, where there is one.
        only: Which checks to run.
        progress: Told each row as it comes.

    Raises:
        PluginLoadError: It cannot be imported.
        PluginConflictError: Several distributions claim the name.
        UsageError: Nothing of this name is installed.
    """
    kind, name, found, import_s = _find(provider)
    # a stand-in is part of the test: what it does not answer is the provider's fault
    strict = backend is not None
    rows = []
    with _private_user() as base:
        for number, one in enumerate(all_checks()):
            if only is not None and not only(one):
                continue
            root = base / f"{number}"
            root.mkdir()
            with Harness(
                kind,
                root,
                name=name,
                config=config,
                secrets=secrets,
                settings=settings,
                backend=backend,
                strict=strict,
            ) as harness:
                row = _row(one, harness)
            rows.append(row)
            if progress is not None:
                progress(row)
    return Report(
        name or harness_name(kind),
        found.distribution if found else "",
        found.version if found else "",
        tuple(rows),
        import_s,
    )


def harness_name(kind: type) -> str:
    """The name a class goes by when no entry point names it."""
    from hermes_memory_core.engine.roster import in_process_name

    return in_process_name(kind)


def _row(one: Check, harness: Harness) -> Row:
    hook = one.hooks[0] if one.hooks else ""
    began = time.monotonic()
    outcome: Outcome = "pass"
    message, hint, wanting = "", "", False
    try:
        message = one.run(harness) or ""
    except Skip as skip:
        outcome, message, wanting = "skip", skip.reason, skip.wanting
    except CheckFailed as failed:
        outcome, message, hint = "fail", failed.message, failed.mend
    except GUARDED as error:
        # a provider can break a check in ways nobody thought of; the report goes on
        outcome, message = "fail", f"{type(error).__name__}: {error}"
    return Row(one.id, one.title, hook, outcome, message, hint, time.monotonic() - began, wanting)


def _find(provider: str | type) -> tuple[type, str | None, FoundPlugin | None, float]:
    if inspect.isclass(provider):
        return provider, None, None, 0.0
    found = next((one for one in discover() if one.name == provider), None)
    if found is None:
        names = ", ".join(one.name for one in discover())
        raise UsageError(
            f"No provider `{provider}` is installed; installed are {names}.",
            hint=how_to_install(str(provider)),
        )
    if found.conflict:
        both = ", ".join((found.distribution, *found.conflict))
        raise PluginConflictError(
            f"Several distributions claim `{provider}`: {both}; none of them is loaded.",
            hint=f"pip uninstall {found.conflict[0]}",
        )
    check_version(found)
    began = time.monotonic()
    try:
        kind = import_class(found)
    except GUARDED as error:
        raise PluginLoadError(
            f"`{provider}` ({found.distribution} {found.version}) cannot be imported: "
            f"{type(error).__name__}: {error}",
            hint=f"hermes plugins update {provider}",
            details={"phase": "import"},
        ) from error
    return kind, found.name, found, time.monotonic() - began


@contextmanager
def _private_user() -> Iterator[Path]:
    """A temporary directory that is also the user's home, so that no SDK finds the person's own files."""
    names = (
        "HOME",
        "USERPROFILE",
        "HERMES_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
    )
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(
        prefix="hermes-check-", ignore_cleanup_errors=True
    ) as directory:
        base = Path(directory)
        user = base / "user"
        user.mkdir()
        os.environ.update(dict.fromkeys(names, str(user)))
        try:
            yield base
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
