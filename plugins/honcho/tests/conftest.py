"""Shared by all tests: a temporary home, a stub server, a provider. Skipped as a whole without the SDK."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

HAS_SDK = importlib.util.find_spec("honcho") is not None
collect_ignore_glob = [] if HAS_SDK else ["test_*.py"]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Nobody's real home, key or server."""
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home"))
    for name in ("HONCHO_API_KEY", "HONCHO_URL", "HONCHO_WORKSPACE_ID", "HONCHO_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def stub():
    from honcho_stub import HonchoStub

    with HonchoStub() as server:
        yield server


@pytest.fixture
def rig(stub, tmp_path):
    from rig import Rig

    made = Rig(stub, tmp_path)
    yield made
    made.close()
