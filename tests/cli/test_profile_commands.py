from __future__ import annotations

import pytest


def test_an_empty_home_has_the_default_profile_and_a_way_to_make_another(hermes, home):
    ran = hermes("profile")
    assert ran.code == 0
    assert "◆" in ran.out
    assert "default" in ran.out
    assert "hermes profile create NAME" in ran.err
    data = hermes("profile", "list", "--json").data
    assert data["current"] == "default"
    assert [item["name"] for item in data["profiles"]] == ["default"]
    assert data["home"] == str(home)


def test_create_use_rename_show(hermes):
    assert hermes("profile", "create", "work").code == 0
    assert hermes("profile", "list", "--json").data["current"] == "default"
    assert hermes("profile", "use", "work").code == 0
    assert hermes("profile", "list", "--json").data["current"] == "work"
    assert hermes("profile", "rename", "work", "job").code == 0
    data = hermes("profile", "show", "--json").data
    assert data["name"] == "job"
    assert data["exists"] is True
    assert hermes("profile", "use", "default").code == 0
    assert hermes("profile", "list", "--json").data["current"] == "default"


def test_p_chooses_the_profile_of_a_single_command(hermes, home):
    hermes("profile", "create", "work")
    hermes("-p", "work", "config", "set", "memory.memory_char_limit", "4000")
    assert hermes("config", "get", "memory.memory_char_limit").out == "2200\n"
    assert hermes("config", "get", "memory.memory_char_limit", "-p", "work").out == "4000\n"
    assert (home / "profiles" / "work" / "config.yaml").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["config", "show"],
        ["config", "set", "memory.memory_char_limit", "1"],
        ["config", "path"],
        ["profile", "show"],
        ["memory", "use", "none"],
    ],
    ids=" ".join,
)
def test_an_unknown_profile_is_never_the_default_one(hermes, home, arguments):
    ran = hermes("-p", "wrok", *arguments)
    assert ran.code == 3
    assert "wrok" in ran.err
    assert "hermes profile create wrok" in ran.err
    assert not home.exists() or not list(home.glob("**/config.yaml"))


def test_clone_copies_memories_and_secrets_only_when_asked(hermes, home):
    hermes("profile", "create", "work")
    work = home / "profiles" / "work"
    (work / "memories").mkdir(mode=0o700)
    (work / "memories" / "MEMORY.md").write_text("a note")
    (work / ".env").write_text("A_KEY=1\n")
    hermes("-p", "work", "config", "set", "memory.memory_char_limit", "4000")
    assert hermes("profile", "create", "bare", "--clone-from", "work").code == 0
    assert (
        hermes(
            "profile", "create", "full", "--clone-from", "work", "--with-memories", "--with-secrets"
        ).code
        == 0
    )
    bare, full = home / "profiles" / "bare", home / "profiles" / "full"
    assert (bare / "config.yaml").exists()
    assert not (bare / "memories").exists()
    assert not (bare / ".env").exists()
    assert (full / "memories" / "MEMORY.md").read_text() == "a note"
    assert (full / ".env").exists()
    assert hermes("profile", "create", "x", "--with-memories").code == 2
    assert not (home / "profiles" / "x").exists()


@pytest.mark.parametrize("stdin", ["wrong\n", "\n"])
def test_delete_wants_the_name(hermes, home, stdin):
    hermes("profile", "create", "work")
    ran = hermes("profile", "delete", "work", stdin=stdin)
    assert ran.code == 1
    assert "nothing was changed" in ran.err
    assert (home / "profiles" / "work").is_dir()


def test_delete_shows_first_asks_and_moves_to_the_trash(hermes, home):
    hermes("profile", "create", "work")
    (home / "profiles" / "work" / "config.yaml").write_text("{}")
    dry = hermes("profile", "delete", "work", "--dry-run", "--json").data
    assert (dry["deleted"], dry["files"], dry["ours"]) == (False, 1, ["config.yaml"])
    ran = hermes("profile", "delete", "work", stdin="work\n")
    assert ran.code == 0
    assert not (home / "profiles" / "work").exists()
    assert len(list((home / "profiles" / ".trash").iterdir())) == 1
    hermes("profile", "create", "work")
    data = hermes("profile", "delete", "work", "--yes", "--final", "--json").data
    assert (data["deleted"], data["trash"]) == (True, None)
    assert len(list((home / "profiles" / ".trash").iterdir())) == 1


@pytest.mark.parametrize("option", ["--no-input", "--json"])
def test_delete_never_asks_where_nobody_can_answer(hermes, home, option):
    hermes("profile", "create", "work")
    ran = hermes("profile", "delete", "work", option)
    assert ran.code == 2
    assert "--yes" in ran.out + ran.err
    assert (home / "profiles" / "work").is_dir()


def test_the_default_profile_cannot_be_deleted(hermes, profile_dir):
    assert hermes("profile", "delete", "default", "--yes").code == 3
    assert profile_dir.is_dir()


def test_export_and_import_bring_notes_over_and_leave_secrets(hermes, home, tmp_path):
    hermes("profile", "create", "work")
    work = home / "profiles" / "work"
    (work / "memories").mkdir(mode=0o700)
    (work / "memories" / "MEMORY.md").write_text("a note")
    (work / ".env").write_text("A_KEY=1\n")
    archive = tmp_path / "work.tar.gz"
    ran = hermes("profile", "export", "work", "-o", str(archive))
    assert ran.code == 0
    assert ".env" in ran.out
    assert hermes("profile", "export", "work", "-o", str(archive)).code == 3
    assert hermes("profile", "export", "work", "-o", str(archive), "--overwrite").code == 0
    data = hermes("profile", "import", str(archive), "--name", "again", "--json").data
    assert data["name"] == "again"
    again = home / "profiles" / "again"
    assert (again / "memories" / "MEMORY.md").read_text() == "a note"
    assert not (again / ".env").exists()
    assert hermes("profile", "import", str(archive), "--name", "again").code == 3


def test_a_broken_marker_or_config_does_not_hide_the_list(hermes, home):
    hermes("profile", "create", "work")
    (home / "active_profile").write_text("not a name!\n")
    (home / "profiles" / "work" / "config.yaml").write_text("memory: [\n")
    ran = hermes("profile", "list")
    assert ran.code == 0
    assert "work" in ran.out
    data = hermes("profile", "list", "--json").data
    assert data["current"] is None
    assert data["profiles"][1]["problem"]
    assert hermes("profile", "use", "work").code == 0
    assert hermes("profile", "list", "--json").data["current"] == "work"


def test_hermes_home_that_is_a_profile_itself(hermes, home, monkeypatch):
    hermes("profile", "create", "work")
    monkeypatch.setenv("HERMES_HOME", str(home / "profiles" / "work"))
    data = hermes("profile", "list", "--json").data
    assert data["current"] == "work"
    assert data["home"] == str(home)
    ran = hermes("profile", "use", "default")
    assert ran.code == 0
    assert "HERMES_HOME" in ran.err
