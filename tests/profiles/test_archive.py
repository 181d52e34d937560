"""Export carries what is worth keeping and no secret; import trusts nothing and leaves nothing half done."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile

import pytest

from hermes_memory_core.errors import ConfigError, ProfileError, StoreError
from hermes_memory_core.profiles import (
    create_profile,
    export_profile,
    import_profile,
    list_profiles,
)

CONFIG = """\
# mine
memory:
  provider: honcho   # note
auxiliary:
  title_generation:
    api_key: hunter2
    model: m
custom:
- name: x
  api_key: hunter2
"""
FILES = {
    "config.yaml": CONFIG,
    "SOUL.md": "me",
    ".env": "K=hunter2\n",
    "auth.json": '{"token": "hunter2"}',
    "state.db": "hunter2",
    "history.db": "derived",
    "runtime.db": "derived",
    "logs/agent.log": "hunter2",
    "plugins/p/__init__.py": "hunter2",
    "memories/MEMORY.md": "一条笔记\n§\ntwo",
    "memories/history.jsonl": '{"a": 1}\n',
    "memories/MEMORY.md.lock": "",
    "memories/user/0123456789abcdef/USER.md": "scoped",
    "sessions/one.jsonl": '{"n": 1}\n{"n": 2}\n{"half',
    "sessions/sessions.json": "hunter2",
    "skills/a/SKILL.md": "how",
    "skills/a/scripts/run.py": "print()",
    "skills/a/.env": "hunter2",
    "skills/a/id.pem": "hunter2",
    "skills/.hub/x": "hunter2",
}
KEPT = {
    "SOUL.md": "me",
    "memories/MEMORY.md": "一条笔记\n§\ntwo",
    "memories/history.jsonl": '{"a": 1}\n',
    "memories/user/0123456789abcdef/USER.md": "scoped",
    "sessions/one.jsonl": '{"n": 1}\n{"n": 2}\n',
    "skills/a/SKILL.md": "how",
    "skills/a/scripts/run.py": "print()",
    "config.yaml": "# mine\nmemory:\n  provider: honcho   # note\nauxiliary:\n  title_generation:\n    model: m\n",
}


def fill(path, files=FILES):
    for name, text in files.items():
        target = path / name
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_text(text)


def files(path):
    return {
        str(child.relative_to(path)): child.read_text()
        for child in path.rglob("*")
        if child.is_file()
    }


@pytest.mark.parametrize("name", ["work", "default"])
def test_an_export_comes_back_without_what_is_secret(tmp_path, name):
    home = tmp_path / "home"
    home.mkdir()
    path = home if name == "default" else create_profile(home, name).path
    fill(path)
    (path / "memories" / "link.md").symlink_to(path / ".env")
    archive = tmp_path / "out" / "profile.tar.gz"
    report = export_profile(home, name, archive)
    assert report.path == archive
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert b"hunter2" not in gzip.decompress(archive.read_bytes())
    assert {".env", "auth.json", "state.db", "logs"} <= set(report.left_out)
    assert "config.yaml: auxiliary.title_generation.api_key (a secret)" in report.left_out
    assert "config.yaml: custom (a secret)" in report.left_out
    back = import_profile(home, archive, "copy")
    assert files(back.profile.path) == KEPT
    assert back.files == report.files == len(KEPT)
    assert back.size_bytes == report.size_bytes
    assert back.skipped == ()
    for child in back.profile.path.rglob("*"):
        assert stat.S_IMODE(child.stat().st_mode) == (0o700 if child.is_dir() else 0o600)
    assert files(path)["config.yaml"] == CONFIG


def test_the_archives_own_name_is_used_when_none_is_given(tmp_path):
    fill(create_profile(tmp_path / "a", "work").path)
    export_profile(tmp_path / "a", "work", tmp_path / "w.tar.gz")
    assert import_profile(tmp_path / "b", tmp_path / "w.tar.gz").profile.name == "work"
    with pytest.raises(ProfileError, match="already"):
        import_profile(tmp_path / "b", tmp_path / "w.tar.gz")
    (tmp_path / "a" / "SOUL.md").write_text("x")
    export_profile(tmp_path / "a", "default", tmp_path / "d.tar.gz")
    with pytest.raises(ProfileError, match="reserved") as caught:
        import_profile(tmp_path / "b", tmp_path / "d.tar.gz")
    assert "--name" in caught.value.hint


def test_a_config_nobody_understands_stays_behind_and_the_rest_goes(tmp_path):
    fill(tmp_path / "h", {"config.yaml": "a: [\napi_key: hunter2", "memories/MEMORY.md": "note"})
    report = export_profile(tmp_path / "h", "default", tmp_path / "x.tar.gz")
    assert any("cannot be understood" in line for line in report.left_out)
    assert files(import_profile(tmp_path / "h", tmp_path / "x.tar.gz", "new").profile.path) == {
        "memories/MEMORY.md": "note"
    }


def test_an_archive_is_not_overwritten_unless_asked(tmp_path):
    fill(tmp_path / "h", {"SOUL.md": "x"})
    target = tmp_path / "x.tar.gz"
    target.write_text("precious")
    with pytest.raises(ProfileError, match="exists already"):
        export_profile(tmp_path / "h", "default", target)
    assert target.read_text() == "precious"
    export_profile(tmp_path / "h", "default", target, overwrite=True)
    link = tmp_path / "link.tar.gz"
    link.symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        export_profile(tmp_path / "h", "default", link, overwrite=True)


def test_a_failed_export_leaves_nothing(tmp_path, monkeypatch):
    from hermes_memory_core.profiles import pack as packing

    def fails(*_args):
        raise OSError(28, "No space left on device")

    fill(tmp_path / "h", {"SOUL.md": "x"})
    monkeypatch.setattr(packing, "_add_file", fails)
    with pytest.raises(StoreError, match="No room"):
        export_profile(tmp_path / "h", "default", tmp_path / "out" / "x.tar.gz")
    assert list((tmp_path / "out").iterdir()) == []


# ---------------------------------------------------------------- archives by strangers


def pack(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as tar:
        for member in members:
            name, data, kind = (*member, tarfile.REGTYPE)[:3]
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0o4777
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = data
                tar.addfile(info)
            else:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data.encode()))
    return path


GOOD = ("p/memories/MEMORY.md", "note")


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([GOOD, ("p/../../evil", "x")], "leads outside"),
        ([GOOD, ("/etc/evil", "x")], "leads outside"),
        ([GOOD, ("..", "x")], "leads outside"),
        ([GOOD, ("p/memories/..\\evil", "x")], "leads outside"),
        ([GOOD, ("p/memories/C:evil", "x")], "leads outside"),
        ([GOOD, ("p/memories/l", "/etc/passwd", tarfile.SYMTYPE)], "link or a device"),
        ([GOOD, ("p/memories/l", "p/memories/MEMORY.md", tarfile.LNKTYPE)], "link or a device"),
        ([GOOD, ("p/memories/f", "", tarfile.FIFOTYPE)], "link or a device"),
        ([GOOD, ("p/memories/d", "", tarfile.CHRTYPE)], "link or a device"),
        ([GOOD, ("q/memories/MEMORY.md", "x")], "more than one root"),
        ([GOOD, GOOD], "twice"),
        ([GOOD, ("p/memories/memory.md", "x")], "twice"),
        ([("p/unknown", "x")], "holds nothing"),
        ([("memories", "x")], "holds nothing"),
        ([], "holds nothing"),
    ],
)
def test_an_archive_that_means_harm_brings_nothing(tmp_path, members, says):
    archive = pack(tmp_path / "x.tar.gz", members)
    home = tmp_path / "home"
    with pytest.raises(ProfileError, match=says):
        import_profile(home, archive, "new")
    assert [profile.name for profile in list_profiles(home)] == ["default"]
    assert [child.name for child in (home / "profiles").iterdir()] == [".profiles.lock"]
    assert not (tmp_path / "evil").exists()
    assert not (home / "evil").exists()


def test_only_what_is_on_the_list_is_taken(tmp_path):
    extra = [
        ("p/.env", "K=x"),
        ("p/plugins/e/__init__.py", "evil"),
        ("p/state.db", "x"),
        ("p/skills/.git/hooks", "x"),
    ]
    report = import_profile(tmp_path / "h", pack(tmp_path / "x.tar.gz", [GOOD, *extra]), "new")
    assert files(report.profile.path) == {"memories/MEMORY.md": "note"}
    assert set(report.skipped) == {name.removeprefix("p/") for name, _ in extra}
    assert stat.S_IMODE((report.profile.path / "memories" / "MEMORY.md").stat().st_mode) == 0o600


def test_sizes_are_bounded_before_anything_is_kept(tmp_path):
    archive = pack(
        tmp_path / "x.tar.gz", [(f"p/memories/{number}.md", "x" * 100) for number in range(20)]
    )
    for limits in ({"max_bytes": 1999}, {"max_members": 19}):
        with pytest.raises(ProfileError, match="unpacks to more"):
            import_profile(tmp_path / "h", archive, "new", **limits)
    assert (
        import_profile(tmp_path / "h", archive, "new", max_bytes=2000, max_members=20).files == 20
    )


def test_a_bomb_is_refused_without_unpacking_it(tmp_path):
    info = tarfile.TarInfo("p/memories/huge.md")
    info.size = 1 << 45
    with gzip.open(tmp_path / "x.tar.gz", "wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 100_000)
    with pytest.raises(ProfileError, match="unpacks to more"):
        import_profile(tmp_path / "h", tmp_path / "x.tar.gz", "new")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE])
def test_a_huge_header_is_refused_without_reading_it(tmp_path, kind):
    info = tarfile.TarInfo("p/x")
    info.type, info.size = kind, 1 << 32
    with gzip.open(tmp_path / "x.tar.gz", "wb") as out:
        out.write(info.tobuf(tarfile.GNU_FORMAT) + b"1" * 10_000)
    with pytest.raises(ProfileError, match="header is too long"):
        import_profile(tmp_path / "h", tmp_path / "x.tar.gz", "new")


@pytest.mark.parametrize("damage", ["cut", "bits", "text", "empty", "plain"])
def test_a_damaged_archive_brings_nothing(tmp_path, damage):
    members = [(f"p/memories/{number}.md", f"{number * 7919:x}" * 300) for number in range(50)]
    archive = pack(tmp_path / "x.tar.gz", members, "w" if damage == "plain" else "w:gz")
    data = bytearray(archive.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "bits":
        data[len(data) // 2] ^= 0xFF
    elif damage == "text":
        data = bytearray(b"no archive")
    elif damage == "empty":
        data = bytearray()
    archive.write_bytes(data)
    with pytest.raises(ProfileError, match="nothing was imported"):
        import_profile(tmp_path / "h", archive, "new")
    assert [profile.name for profile in list_profiles(tmp_path / "h")] == ["default"]


def test_no_archive_and_bad_names(tmp_path):
    with pytest.raises(ProfileError, match="There is no"):
        import_profile(tmp_path, tmp_path / "none.tar.gz", "new")
    archive = pack(tmp_path / "x.tar.gz", [GOOD])
    for name in ("default", "root", "../up", ""):
        with pytest.raises(ProfileError):
            import_profile(tmp_path, archive, name)


def test_a_broken_config_in_an_archive_is_told_and_the_notes_come(tmp_path):
    archive = pack(tmp_path / "x.tar.gz", [GOOD, ("p/config.yaml", "memory: [")])
    report = import_profile(tmp_path / "h", archive)
    assert report.profile.name == "p"
    assert "cannot be understood" in report.warnings[0]
    from hermes_memory_core.config import load_settings

    with pytest.raises(ConfigError):
        load_settings(report.profile.path, environ={})
