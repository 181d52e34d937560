"""Making, choosing, renaming, deleting: whole or not at all, and nothing that is not ours goes unsaid."""

from __future__ import annotations

import os
import stat

import pytest

from hermes_memory_core.errors import ProfileError, StoreError
from hermes_memory_core.profiles import (
    active_profile,
    create_profile,
    delete_profile,
    list_profiles,
    profile_contents,
    rename_profile,
    resolve_profile,
    use_profile,
)
from hermes_memory_core.profiles.manage import RESERVED


def tree(path):
    return {
        str(child.relative_to(path)): child.read_text() if child.is_file() else None
        for child in sorted(path.rglob("*"))
    }


@pytest.fixture
def root(tmp_path):
    for name, text in {
        "config.yaml": "memory: {provider: honcho}\n",
        ".env": "HONCHO_API_KEY=k\n",
        "SOUL.md": "me",
        "state.db": "theirs",
        "memories/MEMORY.md": "一条笔记",
        "memories/MEMORY.md.lock": "",
        "skills/a/SKILL.md": "how",
        "sessions/s.jsonl": "{}\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        path.chmod(0o644)
    return tmp_path


def names(root):
    return [profile.name for profile in list_profiles(root)]


def test_a_new_profile_is_empty_and_private(tmp_path):
    profile = create_profile(tmp_path / "home", "Work")
    assert profile.name == "work"
    assert list(profile.path.iterdir()) == []
    for path in (profile.path, profile.path.parent, profile.root):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("memories", [True, False])
@pytest.mark.parametrize("secrets", [True, False])
def test_a_clone_takes_memories_and_secrets_only_when_asked(root, memories, secrets):
    (root / "skills" / "link").symlink_to(root / ".env")
    os.mkfifo(root / "skills" / "pipe")
    profile = create_profile(
        root, "work", clone_from="default", with_memories=memories, with_secrets=secrets
    )
    wanted = {
        "config.yaml": "memory: {provider: honcho}\n",
        "SOUL.md": "me",
        "skills": None,
        "skills/a": None,
        "skills/a/SKILL.md": "how",
    }
    if memories:
        wanted |= {"memories": None, "memories/MEMORY.md": "一条笔记"}
    if secrets:
        wanted |= {".env": "HONCHO_API_KEY=k\n"}
    assert tree(profile.path) == wanted
    for path in profile.path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_names_make_no_profile(tmp_path, name):
    with pytest.raises(ProfileError, match="reserved"):
        create_profile(tmp_path, name)


def test_a_taken_name_and_a_missing_model_change_nothing(root):
    create_profile(root, "work", clone_from="default")
    before = tree(root / "profiles" / "work")
    with pytest.raises(ProfileError, match="already"):
        create_profile(root, "work")
    with pytest.raises(ProfileError, match="no profile `gone`"):
        create_profile(root, "new", clone_from="gone")
    assert tree(root / "profiles" / "work") == before
    assert names(root) == ["default", "work"]


def test_a_creation_that_fails_half_way_leaves_nothing(root, monkeypatch):
    from hermes_memory_core.profiles import manage

    def fails(source, target):
        target.write_text("half")
        raise OSError("disk")

    monkeypatch.setattr(manage, "_copy", fails)
    with pytest.raises(OSError, match="disk"):
        create_profile(root, "work", clone_from="default")
    assert names(root) == ["default"]
    assert [child.name for child in (root / "profiles").iterdir()] == [".profiles.lock"]


def test_use_writes_the_marker(tmp_path):
    create_profile(tmp_path, "work")
    use_profile(tmp_path, "work")
    assert (tmp_path / "active_profile").read_text() == "work\n"
    with pytest.raises(ProfileError):
        use_profile(tmp_path, "gone")
    assert active_profile(tmp_path) == "work"
    assert use_profile(tmp_path, "default").is_default
    assert resolve_profile(tmp_path).is_default


def test_a_rename_takes_everything_and_the_marker_along(root):
    work = create_profile(root, "work", clone_from="default", with_memories=True)
    before = tree(work.path)
    use_profile(root, "work")
    job = rename_profile(root, "work", "job")
    assert tree(job.path) == before
    assert names(root) == ["default", "job"]
    assert active_profile(root) == "job"


@pytest.mark.parametrize(
    ("old", "new"),
    [("default", "x"), ("gone", "x"), ("work", "play"), ("work", "root"), ("work", "../x")],
)
def test_renames_that_cannot_be(root, old, new):
    create_profile(root, "work")
    create_profile(root, "play")
    with pytest.raises(ProfileError):
        rename_profile(root, old, new)
    assert names(root) == ["default", "play", "work"]


def test_what_would_go_is_what_goes(root):
    work = create_profile(root, "work", clone_from="default", with_memories=True)
    (work.path / "state.db").write_text("theirs")
    (work.path / "history.db-wal").write_text("")
    for ours in ("providers", "backups"):
        (work.path / ours).mkdir()
    contents = profile_contents(root, "work")
    assert contents.foreign == ("SOUL.md", "state.db")
    assert contents.ours == (
        *("backups", "config.yaml", "history.db-wal", "memories", "providers", "skills"),
    )
    before = tree(work.path)
    assert contents.files == len([text for text in before.values() if text is not None])
    assert contents.size_bytes == sum(len(text.encode()) for text in before.values() if text)
    grave = delete_profile(root, "work")
    assert tree(grave) == before
    assert names(root) == ["default"]
    create_profile(root, "work")
    delete_profile(root, "work")
    assert len(list(grave.parent.iterdir())) == 2


def test_contents_of_the_default_profile_leave_the_others_out(root):
    before = profile_contents(root, "default")
    work = create_profile(root, "work")
    (work.path / "big").write_text("x" * 1000)
    after = profile_contents(root, "default")
    assert (after.files, after.size_bytes) == (before.files, before.size_bytes)


def test_a_final_deletion_is_final_and_the_default_takes_over(root):
    create_profile(root, "work", clone_from="default")
    use_profile(root, "work")
    assert delete_profile(root, "work", final=True) is None
    assert active_profile(root) == "default"
    assert list((root / "profiles" / ".trash").iterdir()) == []
    assert (root / "memories" / "MEMORY.md").read_text() == "一条笔记"


@pytest.mark.parametrize("name", ["default", "gone", ".."])
def test_deletions_that_cannot_be(root, name):
    before = tree(root)
    with pytest.raises(ProfileError):
        delete_profile(root, name, final=True)
    assert {
        key: value for key, value in tree(root).items() if not key.startswith("profiles")
    } == before


def test_a_link_in_a_profiles_place_is_not_followed(root, tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "precious").write_text("x")
    (root / "profiles").mkdir(exist_ok=True)
    (root / "profiles" / "linked").symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        delete_profile(root, "linked", final=True)
    with pytest.raises(ProfileError, match="already"):
        create_profile(root, "linked")
    assert (target / "precious").read_text() == "x"


@pytest.mark.parametrize("form", ["{pid}", '{{"pid": {pid}, "kind": "gateway"}}'])
def test_nothing_is_moved_under_a_running_gateway(root, form):
    work = create_profile(root, "work")
    (work.path / "gateway.pid").write_text(form.format(pid=os.getpid()))
    assert profile_contents(root, "work").running_pid == os.getpid()
    for change in (
        lambda: delete_profile(root, "work"),
        lambda: rename_profile(root, "work", "job"),
    ):
        with pytest.raises(ProfileError, match=str(os.getpid())):
            change()
    assert names(root) == ["default", "work"]


@pytest.mark.parametrize("text", ["", "x", "{}", "-1", "0", "[1]", "999999999", '{"pid": null}'])
def test_a_stale_pid_file_stops_nobody(root, text):
    work = create_profile(root, "work")
    (work.path / "gateway.pid").write_text(text)
    delete_profile(root, "work")
    assert names(root) == ["default"]
