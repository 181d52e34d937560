"""What lies on the disk: the owner's alone, never through a link, never outside the home."""

from __future__ import annotations

import contextlib
import os
import stat

import pytest

from hermes_memory_core import Memory
from hermes_memory_core.engine.spill import safe_name
from hermes_memory_core.errors import HermesMemoryError
from hermes_memory_core.types import Notice, Origin, Scope
from tests.helpers import Clock, provider_class

REVIEW = Origin(who="review", attended=False)


@pytest.fixture
def open_umask():
    """The most careless setting a person can have."""
    old = os.umask(0)
    yield
    os.umask(old)


def fill(isolation="profile"):
    """Everything a run can leave: notes, history, trash, pending, spills, outbox, backups, a scope's folders."""

    def prefetch(self):
        return "recalled line\n" * 2_000

    kind = provider_class("keeper", prefetch=prefetch, sync_turn=lambda self, turn: None)
    with Memory.open(providers=[kind]) as memory:
        scope = Scope("user", "telegram:anna") if isolation == "user" else None
        memory.notes.add("memory", "A fact", scope=scope)
        memory.notes.add("user", "Likes tea", scope=scope)
        memory.notes.reset("user", scope=scope)
        memory.notes.remove("memory", "A fact", scope=scope, origin=REVIEW)
        for name in ("one", "two"):
            with memory.session("telegram", name, user_id="anna") as session:
                session.system_prompt()
                session.begin_turn("what do you know of me?")
                session.end_turn("hello there", "hi")
        memory.history.delete_sessions(["two"])
        memory.forget("nothing that is here", scope=scope, dry_run=False)
        memory._profile.notices.tell(Notice("x", "y"))


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize("isolation", ["profile", "user"])
def test_every_file_is_0600_and_every_directory_0700(home, open_umask, isolation):
    home.mkdir(parents=True, mode=0o700)
    config = home / "config.yaml"
    config.write_text(f"memory:\n  isolation: {isolation}\n  prefetch_spill_enabled: true\n")
    config.chmod(0o600)
    fill(isolation)
    seen = {}
    for path in [home, *home.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        seen[str(path.relative_to(home.parent))] = oct(mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))
    names = " ".join(seen)
    for part in (
        *("memories", "history.jsonl", "MEMORY.md", ".bak.", "sessions", "trash", "history.db"),
        *("runtime.db", "pending/memory", "decisions.jsonl", "hook_outputs"),
    ):
        assert part in names, f"the run left no {part}: the test would prove nothing"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "memories/MEMORY.md",
            "memories/history.jsonl",
            "pending/memory",
            "pending/decisions.jsonl",
        ),
        *("history.db", "runtime.db", "sessions/one.jsonl"),
    ],
)
def test_nothing_is_written_through_a_link(home, tmp_path, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / "target"
    if name == "pending/memory":
        target.mkdir()
    else:
        target.write_bytes(b"")
    path = home / name
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    with contextlib.suppress(HermesMemoryError):  # refusing is right; nothing may go through
        fill()
    assert list(target.iterdir()) == [] if target.is_dir() else target.read_bytes() == b""
    assert [child.name for child in outside.iterdir()] == ["target"]


BAD = ["../evil", "..", ".", "a/b", "/etc/x", "a\\..\\b", "x\0y", "", " ", "\n", "a" * 300]


@pytest.mark.parametrize("name", BAD)
def test_no_name_leads_out_of_the_home(home, name):
    """Profiles, sessions, pending writes, providers, spills: refused, or made harmless."""
    with pytest.raises(HermesMemoryError):
        Memory.open(profile=name or "/").close()
    assert safe_name(name) not in ("", ".", "..")
    assert not {"/", "\\", "\0"} & set(safe_name(name))
    with Memory.open(clock=Clock()) as memory:
        with pytest.raises(HermesMemoryError):
            memory.pending.get(name)
        try:
            with memory.session(session_id=name or None) as session:
                session.end_turn("hello there", "hi")
        except HermesMemoryError:
            pass
        with contextlib.suppress(HermesMemoryError):
            memory.history.append(name, "user", "by the back door")
    assert {path.name for path in home.parent.iterdir()} <= {"home", "user-home"}
    inside = {path.name for path in home.iterdir()}
    assert inside <= {
        *("memories", "sessions", "pending", "runtime.db", "runtime.db-wal", "runtime.db-shm"),
        *("history.db", "history.db-wal", "history.db-shm", "history.db.lock", "config.yaml"),
    }, inside


@pytest.mark.parametrize("name", ["../evil", "a/b", "..", "Has Space", "x,y"])
def test_a_provider_name_cannot_be_a_path(home, name):
    kind = provider_class(name, prefetch=lambda self: None)
    try:
        with Memory.open(providers=[kind]) as memory, memory.session() as session:
            session.begin_turn("a question of mine")
            external = memory._profile.roster.external
            if external is not None:
                folder = external.instance.context.data_dir
                assert folder.parent == home / "providers"
    except HermesMemoryError:
        pass
    assert {path.name for path in home.parent.iterdir()} <= {"home", "user-home"}
