"""What every test gets: a home of its own, no network beyond loopback, and a check that it leaked nothing."""

from __future__ import annotations

import os
import threading

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A fresh HERMES_HOME; the person's own home and settings are out of reach."""
    path = tmp_path / "home"
    monkeypatch.setenv("HERMES_HOME", str(path))
    monkeypatch.setenv("HOME", str(tmp_path / "user-home"))
    monkeypatch.setenv("COLUMNS", "100")  # tables are cut to the terminal's width
    for name in [name for name in os.environ if name.startswith("HERMES_MEMORY_")]:
        monkeypatch.delenv(name)
    return path


@pytest.fixture(autouse=True)
def no_stray_threads():
    """A test that leaves a non-daemon thread behind would hang a real program at exit."""
    before = set(threading.enumerate())
    yield
    stray = [
        thread
        for thread in threading.enumerate()
        if thread not in before and thread.is_alive() and not thread.daemon
    ]
    assert not stray, f"threads left running: {stray}"
