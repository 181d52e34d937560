"""Running one command line in this process, as the script does, and looking at what came out where."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)["data"]

    @property
    def error(self) -> Any:
        return json.loads(self.out)["error"]

    @property
    def schema(self) -> str:
        return json.loads(self.out)["schema"]


@pytest.fixture
def hermes(capsys, monkeypatch):
    """``hermes("memory", "list")`` → exit code, standard output, standard error."""

    def run_it(*arguments: str, stdin: str | None = "", program: str = "hermes") -> Ran:
        from hermes_memory_core.cli.run import run

        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        code = run(list(arguments), program)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run_it


@pytest.fixture
def profile_dir(home):
    """The default profile's directory, made."""
    home.mkdir(parents=True, exist_ok=True)
    return home


@pytest.fixture
def write_config(profile_dir):
    """Write the default profile's config.yaml."""

    def write(text: str) -> None:
        (profile_dir / "config.yaml").write_text(text, encoding="utf-8")

    return write
