"""Things in the place of files: directories, links, what may not be read. Each is said; none hides the others."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.errors import HermesMemoryError, StoreError, StoreUnreadableError


@pytest.fixture
def filled(home):
    """Three conversations about pelicans."""
    with Memory.open() as memory:
        memory.notes.add("memory", "likes pelicans")
        for name in ("s0", "s1", "s2"):
            with memory.session(session_id=name) as session:
                assert session.end_turn("pelican talk", "ok").saved
    return home


def forbid(monkeypatch, target):
    """Make one file unreadable, also for root."""
    real_open, real_os_open = Path.open, os.open

    def denied(path):
        if Path(path) == target:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def path_open(self, *args, **kwargs):
        denied(self)
        return real_open(self, *args, **kwargs)

    def os_open(path, *args, **kwargs):
        denied(path)
        return real_os_open(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", path_open)
    monkeypatch.setattr(os, "open", os_open)


def in_the_way(path, what):
    """Put something else where a file was."""
    path.unlink(missing_ok=True)
    if what == "directory":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.parent / "elsewhere")


@pytest.mark.parametrize("what", ["directory", "pipe", "link"])
@pytest.mark.parametrize("fresh", [False, True])
def test_one_odd_thing_among_the_transcripts_hides_no_other(filled, what, fresh):
    in_the_way(filled / "sessions" / "s1.jsonl", what)
    if fresh:
        (filled / "history.db").unlink()
    with Memory.open() as memory:
        found = {hit.session_id for hit in memory.history.search("pelican")}
        assert {"s0", "s2"} <= found
        with memory.session() as session:
            assert session.end_turn("another pelican", "ok").saved
        assert memory.history.stats()["sessions"] >= 3
        memory.history.check()


def test_a_transcript_that_may_not_be_read_is_told_and_is_never_taken_for_empty(
    filled, monkeypatch
):
    told = []
    path = filled / "sessions" / "s1.jsonl"
    with path.open("a") as file:
        file.write('{"v":1,"type":"title","at":1.0,"title":"Birds"}\n')
    with monkeypatch.context() as patch:
        forbid(patch, path)
        with Memory.open(notify=told.append) as memory:
            assert len(memory.history.search("pelican")) == 3
            assert [notice for notice in told if "s1.jsonl" in notice.message]
            assert any("s1.jsonl" in problem for problem in memory.history.check())
            with pytest.raises(StoreUnreadableError, match=r"s1\.jsonl"):
                memory.history.rebuild()
            assert len(memory.history.search("pelican")) == 3
            with pytest.raises(StoreError):
                memory.session(session_id="s1", title="x").end_turn("more", "ok")
    with Memory.open() as memory:
        assert memory.history.session("s1").title == "Birds"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("sessions", "file"),
        ("memories", "file"),
        ("history.db", "directory"),
        ("runtime.db", "directory"),
        ("config.yaml", "directory"),
        (".env", "directory"),
        ("memories/MEMORY.md", "directory"),
    ],
)
def test_something_else_in_the_place_of_a_file_or_folder_is_an_error_with_its_path(
    filled, name, what
):
    path = filled / name
    if what == "file":
        path.rename(filled / "moved")
        path.write_text("x")
    else:
        path.unlink(missing_ok=True)
        path.mkdir()
    steps = (
        lambda: Memory.open().close(),
        lambda: use(lambda memory: memory.history.search("pelican")),
        lambda: use(lambda memory: memory.notes.list()),
        lambda: use(lambda memory: memory.notes.add("memory", "a fact")),
        lambda: use(lambda memory: memory.session().end_turn("hello", "ok")),
        lambda: use(lambda memory: memory.status()),
    )
    errors = []
    for step in steps:
        try:
            step()
        except HermesMemoryError as error:  # anything else would be a traceback for a person
            errors.append(error)
    assert errors
    assert any(path.name in error.message for error in errors)


def use(work):
    """One call on a memory of its own."""
    with Memory.open() as memory:
        return work(memory)
