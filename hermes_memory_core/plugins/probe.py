"""Does this plugin import, and is it a provider? Asked in a process of its own, so that no answer can hurt.

``python -m hermes_memory_core.plugins.probe NAME`` is that process; ``probe`` starts it. No instance is made and
no hook is called: that needs settings, and is the conformance report's work.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hermes_memory_core.errors import HermesMemoryError, PluginLoadError
from hermes_memory_core.plugins.child import NoAnswer, answer_with, ask
from hermes_memory_core.plugins.describe import describe, hint_of

PROBE_TIMEOUT_S = 60.0
"""A first import of a large SDK, nothing compiled yet, takes several seconds."""
SLOW_IMPORT_S = 5.0


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found out about one provider's class."""

    name: str
    ok: bool
    distribution: str = ""
    version: str = ""
    phase: str = ""
    """Where it went wrong: ``find``, ``version``, ``import``, ``config``, ``validate``."""
    error: str = ""
    hint: str = ""
    hooks: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Fields of its ``Config``."""
    commands: bool = False
    import_s: float = 0.0
    warnings: tuple[str, ...] = ()

    def or_raise(self) -> Probe:
        """Itself when all is well.

        Raises:
            PluginLoadError: It is not; with the phase in ``details``.
        """
        if self.ok:
            return self
        what = f"{self.distribution} {self.version}".strip() or self.name
        raise PluginLoadError(
            f"The provider `{self.name}` ({what}) fails at {self.phase}: {self.error}",
            hint=self.hint,
            details={"phase": self.phase, "provider": self.name, "distribution": self.distribution},
        )


def probe(name: str, python: str = sys.executable, timeout_s: float = PROBE_TIMEOUT_S) -> Probe:
    """Import the provider ``name`` in a process of ``python`` and look at its class.

    Nothing is raised: a plugin that hangs, exits or crashes its interpreter is an answer too.
    """
    try:
        data = ask("hermes_memory_core.plugins.probe", name, timeout_s=timeout_s, python=python)
        lists = {key: tuple(data[key]) for key in ("hooks", "settings", "warnings")}
        return Probe(**{**data, **lists})
    except NoAnswer as silence:
        if silence.how == "late":
            error = f"importing it took longer than {timeout_s:.0f} s and was stopped"
        elif silence.how == "not started":
            error = f"`{python}` cannot be started: {silence.why}"
        else:
            said = "".join(f": {line}" for line in silence.said[-1:])
            error = f"the interpreter ended while importing it (exit code {silence.code}){said}"
    except (TypeError, KeyError):
        error = "importing it put something else in the place of the answer"
    return _no_answer(name, error)


def _no_answer(name: str, error: str) -> Probe:
    return Probe(name, ok=False, phase="import", error=error, hint=f"hermes plugins remove {name}")


def examine(name: str) -> Probe:
    """The answer, found in this process; imports the plugin."""
    from hermes_memory_core.plugins.catalog import how_to_install
    from hermes_memory_core.plugins.discover import find
    from hermes_memory_core.plugins.load import check_version

    found = find(name)
    if found is None:
        return Probe(
            name,
            ok=False,
            phase="find",
            error="no installed distribution offers it",
            hint=how_to_install(name),
        )
    answer = Probe(name, ok=True, distribution=found.distribution, version=found.version)
    if found.conflict:
        both = ", ".join((found.distribution, *found.conflict))
        return replace(
            answer,
            ok=False,
            phase="find",
            error=f"several distributions offer it: {both}",
            hint=f"hermes plugins remove {found.conflict[0]}",
        )
    phase = "version"
    started = time.perf_counter()
    try:
        check_version(found)
        phase = "import"
        kind = _class(found)
        answer = replace(answer, import_s=round(time.perf_counter() - started, 3))
        phase = "config"
        settings = _settings(kind)
        phase = "validate"
        hooks = _hooks(kind, name)
    except BaseException as error:  # noqa: BLE001 - this process exists to find out what a plugin raises
        hint = hint_of(error) if isinstance(error, HermesMemoryError) else ""
        return replace(
            answer,
            ok=False,
            phase=phase,
            error=describe(error),
            # whoever reads this has just asked for the check that the usual hint names
            hint=hint or f"mend it, or: hermes plugins update {name}, hermes plugins remove {name}",
        )
    warnings = _warnings(kind, hooks, answer.import_s, found.requires_core)
    return replace(
        answer,
        hooks=tuple(sorted(hooks)),
        settings=settings,
        commands=bool(getattr(kind, "commands", None)),
        warnings=warnings,
    )


def _class(found: Any) -> Any:
    import inspect

    from hermes_memory_core.plugins.load import import_class

    kind = import_class(found)
    if not callable(kind):
        raise PluginLoadError(
            f"`{found.value}` is no class.", hint="point the entry point at the provider's class"
        )
    try:
        inspect.signature(kind).bind(object())
    except TypeError as error:
        raise PluginLoadError(
            f"`{found.value}` cannot be called with one argument, the context: {error}.",
            hint="write `def __init__(self, context)`",
        ) from None
    except ValueError:  # a class written in C has no signature to look at
        pass
    return kind


def _settings(kind: Any) -> tuple[str, ...]:
    model = getattr(kind, "Config", None)
    if model is None:
        return ()
    fields = getattr(model, "model_fields", None)
    if not isinstance(fields, Mapping):
        raise PluginLoadError(
            "`Config` is no pydantic model.", hint="derive it from `pydantic.BaseModel`"
        )
    return tuple(fields)


def _hooks(kind: Any, name: str) -> frozenset[str]:
    import inspect

    from hermes_memory_core.plugins.validate import validate

    if not inspect.isclass(kind):  # a factory: what it makes is known only once it is called
        return frozenset()
    return validate(object.__new__(kind), name)


def _warnings(
    kind: Any, hooks: frozenset[str], import_s: float, requires_core: str
) -> tuple[str, ...]:
    import inspect

    said = []
    if not requires_core:
        said.append(
            "it names no range of hermes-memory-core, so an upgrade can break it unannounced"
        )
    if inspect.isclass(kind) and not hooks:
        said.append("it implements no hook, so it never does anything")
    if hooks and "health" not in hooks:
        said.append("it has no `health`, so `status --check` cannot tell whether it works")
    if import_s > SLOW_IMPORT_S:
        said.append(f"importing it took {import_s:.1f} s")
    return tuple(said)


def main(arguments: Sequence[str]) -> None:
    """The process of ``probe``."""
    answer_with(lambda: asdict(examine(arguments[0])))


if __name__ == "__main__":
    main(sys.argv[1:])
