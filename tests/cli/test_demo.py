"""``hermes demo``: it holds, it is quick, it leaves what it shows, and it says so when something does not hold."""

from __future__ import annotations

import stat
import time

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.cli import demo_scenes
from hermes_memory_core.cli.demo import MARK
from hermes_memory_core.cli.demo_paper import DemoFailedError, Paper


@pytest.mark.timeout(30)
def test_everything_it_says_is_true_within_ten_seconds_and_its_home_is_there(
    hermes, home, tmp_path
):
    place = tmp_path / "demo"
    begun = time.monotonic()
    ran = hermes("demo", "--home", str(place))
    assert time.monotonic() - begun < 10
    assert ran.code == 0, ran.out + ran.err
    assert "all true" in ran.out
    for shown in (
        "chars]",
        "over_by",
        "预算",
        "Diary",
        "0600",
        "MEMORY.md",
        "1,240 euros",
        "三万两千元",
    ):
        assert shown in ran.out
    assert not home.exists(), "the person's own home is not touched"
    with Memory.open(home=place) as memory:
        assert memory.history.stats()["sessions"] >= 8
        assert any("三万两千元" in hit.content for hit in memory.history.search("预算"))
        assert any("Porto" in note.text for note in memory.notes.list("user"))
        assert memory.notes.usage("memory").percent > 80
        assert memory.history.check() == []
    for path in place.rglob("*"):
        assert not stat.S_IMODE(path.lstat().st_mode) & 0o077, path


@pytest.mark.timeout(30)
def test_json_lists_the_statements_and_a_home_nobody_named_is_removed(
    hermes, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ran = hermes("demo", "--json")
    assert ran.code == 0
    assert ran.schema == "hermes-memory/demo/1"
    assert len(ran.data["facts"]) > 25
    assert all(fact["holds"] for fact in ran.data["facts"])
    assert ran.data["home"] is None
    assert list(tmp_path.glob("hermes-demo-*")) == []


@pytest.mark.timeout(30)
def test_it_plays_again_in_its_own_home_and_in_no_other(hermes, tmp_path):
    place = tmp_path / "demo"
    assert hermes("demo", "--home", str(place), "-q").code == 0
    (place / "left-over").write_text("from the first run")
    assert hermes("--home", str(place), "demo", "-q").code == 0
    assert not (place / "left-over").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    ran = hermes("demo", "--home", str(mine), "--json")
    assert (ran.code, ran.error["code"]) == (2, "usage")
    assert [path.name for path in mine.iterdir()] == ["thesis.txt"]


def test_a_link_to_another_directory_is_not_cleared(hermes, tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / MARK).write_text("")
    (real / "kept").write_text("")
    link = tmp_path / "link"
    link.symlink_to(real)
    assert hermes("demo", "--home", str(link)).code == 2
    assert (real / "kept").exists()


@pytest.mark.timeout(30)
def test_without_plugins_it_leaves_the_external_scene_out(hermes):
    ran = hermes("demo", "--no-plugins", "--json")
    assert ran.code == 0
    assert not [fact for fact in ran.data["facts"] if "diary" in fact["statement"]]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("LESSONS", ("short",)),  # the store never fills
        ("WEEKS_AGO", 0),  # nothing is a month old
    ],
)
def test_what_does_not_hold_ends_it_with_a_clear_message(hermes, monkeypatch, name, broken):
    monkeypatch.setattr(demo_scenes, name, broken)
    if name == "WEEKS_AGO":  # the scene's own bound must not move with it
        real = demo_scenes._check_age

        def check(memory, paper, now, question, evidence):
            monkeypatch.setattr(demo_scenes, "WEEKS_AGO", 35)
            real(memory, paper, now, question, evidence)

        monkeypatch.setattr(demo_scenes, "_check_age", check)
    ran = hermes("demo")
    assert ran.code == 1
    assert "this should be so and is not" in ran.err
    assert "all true" not in ran.out


def test_a_search_that_finds_nothing_is_noticed(hermes, monkeypatch):
    monkeypatch.setattr(demo_scenes.Session, "call_tool", lambda *_, **__: '{"success": false}')
    ran = hermes("demo", "--json")
    assert (ran.code, ran.error["code"]) == (1, "demo_failed")
    assert ran.error["details"]["facts"][-1]["holds"] is False


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_the_paper_is_no_wider_than_the_terminal(capsys, monkeypatch, columns):
    from hermes_memory_core.cli import output

    monkeypatch.setenv("COLUMNS", columns)
    paper = Paper()
    paper.scene("A scene 场景", "A remark that is long enough to be broken over lines. " * 3)
    paper.said("user", "预算" * 80)
    paper.call("memory", {"content": "word " * 50})
    paper.answer({"success": True, "usage": "x" * 200}, "success", "usage")
    paper.block("═" * 60 + "\ntext " * 90)
    paper.notice("Something is full. " * 8, "hermes memory edit")
    paper.expect(True, "a statement " * 20)
    for line in capsys.readouterr().out.splitlines():
        assert output.cells(line) <= min(96, int(columns)), line
    with pytest.raises(DemoFailedError):
        paper.expect(False, "the moon is made of cheese", "rock")
