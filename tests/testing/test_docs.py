"""The page for authors: its code runs, and it lists exactly the checks there are."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest
from faults.reference.local import LocalProvider

from hermes_memory_core.testing import ProviderConformance
from hermes_memory_core.testing.checks.registry import all_checks

PAGE = Path(__file__).parents[2] / "docs" / "plugin" / "testing.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_lists_exactly_the_checks_there_are():
    listed = dict(re.findall(r"^- `(\w+)`: (.+)$", TEXT, re.MULTILINE))
    assert listed == {one.id: one.title for one in all_checks()}


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_the_code_of_the_page_runs(monkeypatch, capsys):
    notebook = types.ModuleType("notebook")
    notebook.Notebook = type("Notebook", (LocalProvider,), {"name": "notebook"})
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    space = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), space)
    assert issubclass(space["TestWithAGap"], ProviderConformance)
    space["test_what_was_said_is_found"]()
    assert space["report"].ok, space["report"].to_text()
    assert "promises" in capsys.readouterr().out
