"""The checks as pytest tests: subclass ``ProviderConformance``, give one fixture.

    class TestNotebook(ProviderConformance):
        @pytest.fixture
        def provider_class(self):
            return Notebook

No standard test can be deleted or overridden, unless it is marked ``@pytest.mark.xfail(reason="…")``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_core.testing.backend import Backend
from hermes_memory_core.testing.checks.registry import Check, CheckFailed, Skip, all_checks
from hermes_memory_core.testing.harness import Harness

PREFIX = "test_"


class ProviderConformance:
    """Every promise of the hook spec as one test; a test that does not apply is skipped and says why.

    Fixtures to override: ``provider_class`` (always), ``provider_config``, ``provider_secrets``,
    ``provider_settings``, ``provider_backend``, ``provider_name``.
    """

    @pytest.fixture
    def provider_class(self) -> type:
        """The provider's class. Override this."""
        raise NotImplementedError(
            f"{type(self).__name__} needs a fixture `provider_class` that returns the provider's class"
        )

    @pytest.fixture
    def provider_name(self) -> str | None:
        """Its entry point's name; None for the class's own."""
        return None

    @pytest.fixture
    def provider_config(self) -> Mapping[str, Any]:
        """The ``providers.NAME`` section, for example a loopback server's address."""
        return {}

    @pytest.fixture
    def provider_secrets(self) -> Mapping[str, str]:
        """Secrets by field name; of 8 characters or more, so that they can be looked for."""
        return {}

    @pytest.fixture
    def provider_settings(self) -> Mapping[str, Any]:
        """Core settings, merged over the defaults."""
        return {}

    @pytest.fixture
    def provider_backend(self) -> Backend | None:
        """The stand-in for its service, such as a ``LoopbackServer``; some checks need one."""
        return None

    @pytest.fixture
    def harness(
        self,
        tmp_path: Path,
        provider_class: type,
        provider_name: str | None,
        provider_config: Mapping[str, Any],
        provider_secrets: Mapping[str, str],
        provider_settings: Mapping[str, Any],
        provider_backend: Backend | None,
    ) -> Iterator[Harness]:
        """A fresh harness for one test."""
        root = tmp_path / "conformance"
        root.mkdir()
        with Harness(
            provider_class,
            root,
            name=provider_name,
            config=provider_config,
            secrets=provider_secrets,
            settings=provider_settings,
            backend=provider_backend,
        ) as harness:
            yield harness

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        problem = _tampering(cls)
        if problem:
            raise TypeError(problem)

    def test_no_standard_test_is_missing(self) -> None:
        """Nothing was taken out of the class after it was made either."""
        problem = _tampering(type(self))
        if problem:
            pytest.fail(problem, pytrace=False)


def _tampering(kind: type) -> str:
    """What was done to a standard test; "" when all are in place."""
    for name, original in _STANDARD.items():
        found = inspect.getattr_static(kind, name, None)
        if found is original or _is_expected_failure(found):
            continue
        what = "overridden" if callable(found) else "deleted"
        return (
            f"{kind.__name__}: the standard test `{name}` was {what}. Mend the provider, or keep the test and "
            f'mark it: @pytest.mark.xfail(reason="…") def {name}(self, harness): super().{name}(harness)'
        )
    return ""


def _is_expected_failure(found: Any) -> bool:
    if not callable(found):
        return False
    return any(
        mark.name == "xfail" and str(mark.kwargs.get("reason", "")).strip()
        for mark in getattr(found, "pytestmark", ())
    )


def _as_test(one: Check) -> Callable[[Any, Harness], None]:
    def test(_self: Any, harness: Harness) -> None:
        __tracebackhide__ = True
        skipped, failed = "", ""
        try:
            one.run(harness)
        except Skip as skip:
            skipped = skip.reason
        except CheckFailed as failure:
            failed = f"{one.title}: no.\n{failure}"
        # told outside of the except blocks, so that pytest shows the sentence and no chain
        if skipped:
            pytest.skip(skipped)
        if failed:
            pytest.fail(failed, pytrace=False)

    test.__name__ = PREFIX + one.id
    test.__qualname__ = f"ProviderConformance.{test.__name__}"
    test.__doc__ = f"{one.title[0].upper()}{one.title[1:]}."
    return test


_STANDARD: dict[str, Callable[..., None]] = {PREFIX + one.id: _as_test(one) for one in all_checks()}
for _name, _test in _STANDARD.items():
    setattr(ProviderConformance, _name, _test)
_STANDARD["test_no_standard_test_is_missing"] = ProviderConformance.test_no_standard_test_is_missing
