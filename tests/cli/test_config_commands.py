from __future__ import annotations

import stat

import pytest

BROKEN = "memory: [unclosed\n"
WRONG = "memory:\n  memory_char_limit: plenty\n  user_char_limit: -1\n"


def test_everything_at_its_default_says_so_and_what_to_type(hermes):
    ran = hermes("config")
    assert (ran.code, ran.out) == (0, "Everything is at its default.\n")
    assert "hermes config show --effective" in ran.err
    assert hermes("config", "show", "--json").data["settings"] == []


def test_j10_effective_shows_every_value_with_who_decided_it(hermes, write_config, monkeypatch):
    write_config("memory:\n  memory_char_limit: 4000\n")
    monkeypatch.setenv("HERMES_MEMORY_MEMORY__USER_CHAR_LIMIT", "900")
    rows = {
        row["key"]: row
        for row in hermes("config", "show", "--effective", "--json").data["settings"]
    }
    assert rows["memory.memory_char_limit"]["value"] == 4000
    assert rows["memory.memory_char_limit"]["source"].endswith("config.yaml")
    assert rows["memory.user_char_limit"]["value"] == 900
    assert "HERMES_MEMORY_MEMORY__USER_CHAR_LIMIT" in rows["memory.user_char_limit"]["source"]
    assert rows["memory.isolation"]["source"] == "default"
    text = hermes("config", "show").out
    assert "memory.memory_char_limit" in text
    assert "memory.isolation" not in text  # not changed


def test_set_get_unset_keep_comments_and_tell_the_truth(hermes, write_config, profile_dir):
    write_config("# mine\nmemory:\n  write_approval: false  # for now\nother: kept\n")
    ran = hermes("config", "set", "memory.memory_char_limit", "4000")
    assert (ran.code, ran.out) == (0, "memory.memory_char_limit is 4000 now.\n")
    assert "already" in hermes("config", "set", "memory.memory_char_limit", "4000").out
    assert hermes("config", "get", "memory.memory_char_limit").out == "4000\n"
    text = (profile_dir / "config.yaml").read_text()
    assert "# mine" in text
    assert "# for now" in text
    assert "other: kept" in text
    assert (
        hermes("config", "unset", "memory.memory_char_limit").out
        == "memory.memory_char_limit is 2200 now.\n"
    )
    data = hermes("config", "unset", "memory.memory_char_limit", "--json").data
    assert data["changed"] is False
    assert data["effective"] == 2200


def test_a_setting_the_environment_decides_says_that_the_file_does_not(hermes, monkeypatch):
    monkeypatch.setenv("HERMES_MEMORY_MEMORY__MEMORY_CHAR_LIMIT", "1000")
    ran = hermes("config", "set", "memory.memory_char_limit", "4000")
    assert "is 1000 now" in ran.out
    assert "HERMES_MEMORY_MEMORY__MEMORY_CHAR_LIMIT" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["get", "memory.memory_char_limt"], "memory.memory_char_limit"),
        (["set", "memory.memory_char_limt", "1"], "memory.memory_char_limit"),
        (["set", "memory.memory_char_limit", "plenty"], "memory_char_limit"),
        (["set", "memory", "1"], "section"),
        (["set", "providers.honcho.api_key", "k"], "hermes config secret HONCHO_API_KEY"),
        (["unset", "nothing.here"], "nothing.here"),
        (["explain", "memory.isolatoin"], "memory.isolation"),
        (["show", "memory.isolatoin"], "memory.isolation"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_no_setting_ends_with_3_and_changes_nothing(hermes, profile_dir, arguments, said):
    ran = hermes("config", *arguments)
    assert ran.code == 3
    assert said in ran.err
    assert not (profile_dir / "config.yaml").exists()


@pytest.mark.parametrize("text", [BROKEN, WRONG], ids=["unparsable", "wrong values"])
def test_a_broken_config_is_named_by_check_and_never_read_as_empty(
    hermes, write_config, profile_dir, text
):
    write_config(text)
    ran = hermes("config", "check")
    assert ran.code == 3
    assert "→" in ran.err
    data = hermes("config", "check", "--json").data
    assert data["ok"] is False
    assert data["problems"]
    for arguments in (["config", "show"], ["config", "get", "memory.isolation"]):
        assert hermes(*arguments).code == 3
    # what mends it works all the same
    assert "Whose memory" in hermes("config", "explain", "memory.isolation").out
    assert hermes("config", "path").out == f"{profile_dir / 'config.yaml'}\n"
    assert hermes("config", "schema").code == 0
    assert (profile_dir / "config.yaml").read_text() == text


def test_check_reports_all_mistakes_at_once(hermes, write_config):
    write_config(WRONG)
    keys = {item["key"] for item in hermes("config", "check", "--json").data["problems"]}
    assert keys == {"memory.memory_char_limit", "memory.user_char_limit"}


def test_explain_without_a_key_explains_every_setting(hermes):
    rows = hermes("config", "explain", "--json").data["settings"]
    assert len(rows) > 40
    assert all(row["description"] for row in rows)


def test_secrets_are_kept_privately_and_never_printed(hermes, profile_dir):
    value = "sk-very-secret-0123456789"
    ran = hermes("config", "secret", "HONCHO_API_KEY", stdin=value + "\n")
    assert ran.code == 0
    path = profile_dir / ".env"
    assert value in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    everything = [
        ran,
        hermes("config", "secret"),
        hermes("config", "secret", "--json"),
        hermes("config", "show", "--effective", "--json"),
        hermes("config", "check", "--json"),
    ]
    assert all(value not in it.out + it.err for it in everything)
    assert "HONCHO_API_KEY" in everything[1].out
    assert "was taken out" in hermes("config", "unset-secret", "HONCHO_API_KEY").out
    assert "was not set" in hermes("config", "unset-secret", "HONCHO_API_KEY").out


def test_an_empty_secret_is_refused(hermes, profile_dir):
    assert hermes("config", "secret", "X_KEY", stdin="\n").code == 2
    assert not (profile_dir / ".env").exists()


@pytest.fixture
def editor(monkeypatch, tmp_path):
    """An editor that puts the given texts into the file, one per time it is opened."""

    def use(*texts: str | None) -> list[str]:
        seen: list[str] = []
        waiting = list(texts)

        def edit(text=None, **_):
            seen.append(text)
            return waiting.pop(0)

        monkeypatch.setattr("click.edit", edit)
        return seen

    return use


def test_edit_saves_what_can_be_used(hermes, editor, write_config, profile_dir):
    write_config("# mine\n")
    seen = editor("# mine\nmemory:\n  memory_char_limit: 4000\n")
    assert hermes("config", "edit").code == 0
    assert seen == ["# mine\n"]
    assert hermes("config", "get", "memory.memory_char_limit").out == "4000\n"


def test_edit_left_without_saving_changes_nothing(hermes, editor, profile_dir):
    editor(None)
    assert hermes("config", "edit").out == "Nothing was changed.\n"
    assert not (profile_dir / "config.yaml").exists()


def test_edit_with_a_mistake_goes_on_from_what_was_typed(hermes, editor, write_config):
    write_config("# mine\n")
    seen = editor(WRONG, "memory:\n  memory_char_limit: 5\n")
    ran = hermes("config", "edit", stdin="y\n")
    assert ran.code == 0
    assert seen == ["# mine\n", WRONG]


def test_edit_given_up_leaves_the_file_and_keeps_the_draft(
    hermes, editor, write_config, profile_dir
):
    write_config("# mine\n")
    editor(BROKEN)
    ran = hermes("config", "edit", stdin="n\n")
    assert ran.code == 3
    assert (profile_dir / "config.yaml").read_text() == "# mine\n"
    (draft,) = profile_dir.glob("config.yaml.draft-*")
    assert draft.read_text() == BROKEN
    assert str(draft) in ran.err


def test_edit_never_overwrites_what_somebody_else_wrote_meanwhile(
    hermes, monkeypatch, write_config, profile_dir
):
    write_config("# mine\n")

    def edit(text=None, **_):
        write_config("# theirs\n")
        return "# edited\n"

    monkeypatch.setattr("click.edit", edit)
    ran = hermes("config", "edit")
    assert ran.code == 5
    assert (profile_dir / "config.yaml").read_text() == "# theirs\n"
    (draft,) = profile_dir.glob("config.yaml.draft-*")
    assert draft.read_text() == "# edited\n"


def test_edit_needs_a_person(hermes):
    assert hermes("config", "edit", "--no-input").code == 2
