"""``memory status`` and ``doctor`` on the real thing, and the layout of a report with everything in it."""

from __future__ import annotations

import os
import stat

import pytest

from hermes_memory_core.cli import status as status_module
from hermes_memory_core.cli.doctor import Finding, guarded


def test_c11_status_says_for_every_layer_whether_it_is_on_and_why(hermes, write_config):
    layers = {layer["name"]: layer for layer in hermes("memory", "status", "--json").data["layers"]}
    assert {"files", "sessions"} <= set(layers)
    assert all(layer["state"] == "on" for layer in layers.values())
    write_config(
        "memory:\n  memory_enabled: false\n  user_profile_enabled: false\n  provider: nowhere\n"
    )
    ran = hermes("memory", "status")
    assert ran.code == 0
    assert "memory.memory_enabled" in ran.out
    assert "not installed" in ran.out
    assert "hermes plugins install nowhere" in ran.err


def test_status_check_ends_with_1_when_something_does_not_work(hermes, write_config):
    assert hermes("memory", "status", "--check").code == 0
    write_config("memory:\n  provider: nowhere\n")
    assert hermes("memory", "status").code == 0
    assert hermes("memory", "status", "--check").code == 1
    assert hermes("memory", "status", "--check", "--json").data["layers"]


def test_j06_status_works_the_same_for_every_profile(hermes):
    hermes("profile", "create", "work")
    hermes("-p", "work", "memory", "add", "only here")
    assert (
        hermes("-p", "work", "memory", "status", "--json").data["notes"]["memory"]["entries"] == 1
    )
    assert hermes("memory", "status", "--json").data["notes"]["memory"]["entries"] == 0


FULL = {
    "profile": {"name": "work", "path": "/data/work"},
    "layers": [
        {
            "name": "files",
            "kind": "built-in",
            "state": "on",
            "why": "",
            "distribution": "core",
            "version": "1",
        },
        {
            "name": "acme",
            "kind": "external",
            "state": "degraded",
            "why": "5 failures in a row",
            "distribution": "acme-memory",
            "version": "2.1",
            "last_error": {
                "at": 0.0,
                "hook": "prefetch",
                "message": "no answer",
                "hint": "hermes acme login",
            },
            "calls": 1000,
            "failures": 12,
            "breaker": {"state": "open", "until": 60.0},
            "health": {
                "ok": False,
                "message": "401",
                "hint": "hermes memory setup acme",
                "age_s": 7200.0,
            },
        },
    ],
    "notes": {
        "memory": {
            "chars": 1474,
            "limit": 2200,
            "percent": 67,
            "entries": 9,
            "path": "/m/MEMORY.md",
        },
        "user": {"chars": 0, "limit": 1375, "percent": 0, "entries": 0, "path": "/m/USER.md"},
    },
    "history": {"sessions": 1, "messages": 3400, "bytes": 2_100_000},
    "outbox": {"pending": 3, "dead": 1, "oldest_age_s": 400.0},
    "spills": {"files": 2, "bytes": 10},
    "sessions_open": 1,
    "notices": [{"at": 0.0, "message": "memory is full", "hint": "hermes memory edit"}],
    "problems": ["history.db is damaged"],
    "next": "",
}


def test_a_report_with_everything_in_it_shows_everything():
    text = status_module.render(FULL)
    for part in (
        "work  /data/work",
        "67%  1,474 of 2,200 characters, 9 notes",
        "/m/MEMORY.md",
        "1 session, 3,400 messages, 2.1 MB",
        "3 items waiting, the oldest for 6 min; 1 refused for good",
        "2 files",
        "5 failures in a row, acme-memory 2.1",
        "in prefetch: no answer",
        "does not work (2 h ago): 401",
        "→ hermes memory setup acme",
        "breaker open",
        "12 of 1,000 calls failed",
        "memory is full",
        "✗ history.db is damaged",
    ):
        assert part in text, part
    assert status_module.broken(FULL) == ["acme"]


@pytest.mark.parametrize(
    "missing", ["notes", "history", "outbox", "spills", "notices", "problems", "layers"]
)
def test_a_report_with_a_part_missing_is_still_laid_out(missing):
    assert status_module.render({**FULL, missing: None if missing != "layers" else []})


def test_doctor_on_an_empty_and_on_a_used_home(hermes, home):
    ran = hermes("doctor")
    assert ran.code == 0
    hermes("memory", "add", "x")
    data = hermes("doctor", "--json").data
    assert data["ok"] is True
    assert {"home", "settings", "files", "sessions"} <= {
        finding["check"] for finding in data["findings"]
    }


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_doctor_finds_files_others_may_read_and_fix_mends_them(hermes, home):
    hermes("memory", "add", "x")
    path = home / "memories" / "MEMORY.md"
    path.chmod(0o644)
    ran = hermes("doctor")
    assert ran.code == 0  # a warning
    assert str(path) in ran.out
    assert "hermes doctor --fix" in ran.out
    assert hermes("doctor", "--fix").code == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert all(finding["level"] == "ok" for finding in hermes("doctor", "--json").data["findings"])


def test_doctor_finds_a_damaged_runtime_db_and_fix_sets_it_aside(hermes, home):
    hermes("memory", "add", "x")
    for path in home.glob("runtime.db-*"):
        path.unlink()
    (home / "runtime.db").write_bytes(b"not a database at all" * 500)
    ran = hermes("doctor")
    assert ran.code == 1
    assert "runtime.db" in ran.out
    assert "hermes doctor --fix" in ran.out
    assert hermes("doctor", "--fix").code == 0
    assert len(list(home.glob("runtime.db.damaged-*"))) == 1
    assert hermes("memory", "list", "--json").data["notes"][0]["text"] == "x"


def test_doctor_names_a_broken_config_and_still_runs_every_check(hermes, write_config):
    write_config("memory: [unclosed\n")
    ran = hermes("doctor", "--json")
    assert ran.code == 1
    findings = ran.data["findings"]
    assert {"home", "settings"} <= {finding["check"] for finding in findings}
    assert any(finding["level"] == "failed" and finding["hint"] for finding in findings)


def test_a_check_that_breaks_is_a_finding():
    def breaking(_state):
        yield Finding("first", "ok", "fine")
        raise RuntimeError("oh")

    found = list(guarded(breaking, None))
    assert [finding.level for finding in found] == ["ok", "failed"]
    assert "RuntimeError" in found[1].message
