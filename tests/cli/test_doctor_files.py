"""``hermes doctor`` on links, leftovers, odd names, waiting writes, and people who share one memory."""

from __future__ import annotations

import os
import time

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.types import Origin


@pytest.fixture
def used(home):
    with Memory.open() as memory:
        memory.notes.add("memory", "A fact")
        memory.notes.remove("memory", "A fact", origin=Origin(who="review", attended=False))
        with memory.session() as session:
            session.end_turn("hello there", "hi")
    return home


def found(hermes, level):
    data = hermes("doctor", "--json").data
    return {one["check"]: one["message"] for one in data["findings"] if one["level"] == level}


def test_a_used_home_is_clean(hermes, used):
    assert found(hermes, "warning") == {}
    assert found(hermes, "failed") == {}


@pytest.mark.parametrize("name", ["memories/USER.md", "sessions/x.jsonl", "pending/memory/a.json"])
def test_links_where_we_write_are_named(hermes, used, tmp_path, name):
    (tmp_path / "elsewhere").write_text("theirs")
    (used / name).symlink_to(tmp_path / "elsewhere")
    assert name in found(hermes, "failed")["links"]
    assert hermes("doctor", "--fix").code == 1
    assert (tmp_path / "elsewhere").read_text() == "theirs"


def test_leftovers_of_a_crash_go_with_fix_and_young_ones_stay(hermes, used):
    old, young = (used / "memories" / f".MEMORY.md.{c * 12}.hmtmp" for c in "ab")
    for path in (old, young):
        path.write_text("half")
        path.chmod(0o600)
    os.utime(old, (time.time() - 9_000,) * 2)
    assert old.name in found(hermes, "warning")["leftovers"]
    assert hermes("doctor", "--fix").code == 0
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("name", ["memories/user/anna", "profiles/evil!", "profiles/A B"])
def test_names_we_do_not_give_are_told(hermes, used, name):
    (used / name).mkdir(parents=True, mode=0o700)
    assert name.rpartition("/")[2] in found(hermes, "warning")["names"]


def test_waiting_writes_nobody_can_decide_on_are_told_and_hermes_agents_are_not(hermes, used):
    folder = used / "pending" / "memory"
    for name, text in (
        ("0badcafe.json", "{"),
        ("evil.json", "{}"),
        ("0badbeef.json", '{"id": "0badbeef", "payload": {}}'),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    data = hermes("doctor", "--json").data
    told = [one["message"] for one in data["findings"] if one["check"] == "pending"]
    assert len(told) == 2
    assert not any("0badbeef" in message for message in told)


def test_e03_several_people_in_one_memory_are_told(hermes, used):
    with Memory.open() as memory:
        for user in ("anna", "ben"):
            with memory.session("telegram", user_id=user) as session:
                session.end_turn("hello there", "hi")
    assert "2 people" in found(hermes, "warning")["people"]
