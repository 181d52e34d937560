"""Loading: layers, sources, strict values, and files that cannot be understood."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_core.config import load_settings
from hermes_memory_core.config.defaults import DEFAULTS, SETTINGS
from hermes_memory_core.errors import ConfigError, StoreUnreadableError


def load(tmp_path, text=None, *, environ=None, overrides=None):
    if text is not None:
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "config.yaml").write_bytes(data)
    return load_settings(tmp_path, environ=environ or {}, overrides=overrides)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "\n\n",
        "# only a comment\n",
        "---\n",
        "memory:\n",
        "memory:\n  # provider: x\n",
        "\ufeff# bom\n",
    ],
)
def test_nothing_set_is_all_defaults(tmp_path, text):
    loaded = load(tmp_path, text)
    assert loaded.plain == DEFAULTS
    assert loaded.source("memory.provider") == "default"
    assert loaded.settings.memory.memory_char_limit == 2200


def test_layers_in_order_and_each_value_knows_its_source(tmp_path):
    text = "memory:\n  provider: one\n  nudge_interval: 3\n  snapshot_ttl_s: 7\n"
    loaded = load(
        tmp_path,
        text,
        environ={
            "HERMES_MEMORY_MEMORY__PROVIDER": "two",
            "HERMES_MEMORY_MEMORY__NUDGE_INTERVAL": "4",
        },
        overrides={"memory": {"provider": "three"}, "memory.breaker.failures": 2},
    )
    assert loaded.get("memory.provider") == "three"
    assert loaded.get("memory.nudge_interval") == 4
    assert loaded.get("memory.snapshot_ttl_s") == 7
    assert loaded.settings.memory.breaker.failures == 2
    assert loaded.source("memory.provider") == "override"
    assert loaded.source("memory.nudge_interval") == (
        "environment variable HERMES_MEMORY_MEMORY__NUDGE_INTERVAL"
    )
    assert loaded.source("memory.snapshot_ttl_s") == str(tmp_path / "config.yaml")
    assert loaded.source("memory.write_approval") == "default"


def test_the_environment_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_MEMORY_MEMORY__PROVIDER", "before")
    loaded = load_settings(tmp_path)
    monkeypatch.setenv("HERMES_MEMORY_MEMORY__PROVIDER", "after")
    assert loaded.get("memory.provider") == "before"
    assert loaded.settings.memory.provider == "before"


@pytest.mark.parametrize(
    "word", ["false", "False", "'false'", "no", "off", "'OFF'", '"no"', "0", "'0'"]
)
def test_every_way_to_write_no_is_no(tmp_path, word):
    assert (
        load(tmp_path, f"memory:\n  memory_enabled: {word}\n").get("memory.memory_enabled") is False
    )


@pytest.mark.parametrize("word", ["true", "'true'", "Yes", "on", "'ON'", "1"])
def test_every_way_to_write_yes_is_yes(tmp_path, word):
    assert (
        load(tmp_path, f"memory:\n  write_approval: {word}\n").get("memory.write_approval") is True
    )


@pytest.mark.parametrize("word", ["maybe", "2", "'tru'", "[true]", "{}", "1.0", "''"])
def test_what_is_neither_yes_nor_no_is_refused(tmp_path, word):
    with pytest.raises(ConfigError, match=r"memory\.write_approval"):
        load(tmp_path, f"memory:\n  write_approval: {word}\n")


@pytest.mark.parametrize("word", ["3000", "'3000'", '" 3000 "', "+3000", "3000.0"])
def test_clean_numbers_are_taken_quoted_or_not(tmp_path, word):
    value = load(tmp_path, f"memory:\n  memory_char_limit: {word}\n").get(
        "memory.memory_char_limit"
    )
    assert value == 3000
    assert type(value) is int


@pytest.mark.parametrize("word", ["2k", "'2,200'", "true", "0", "-5", "2.5", "[1]", ".inf", ".nan"])
def test_other_numbers_are_refused_naming_key_value_and_file(tmp_path, word):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"memory:\n  memory_char_limit: {word}\n")
    assert "memory.memory_char_limit" in caught.value.message
    assert str(tmp_path / "config.yaml") in caught.value.message
    assert "config set memory.memory_char_limit" in caught.value.hint


@pytest.mark.parametrize("word", ["0", "-1", ".inf", ".nan", "soon", "true", "99999999"])
def test_a_deadline_is_a_sensible_number_of_seconds(tmp_path, word):
    with pytest.raises(ConfigError, match="prefetch_s"):
        load(tmp_path, f"memory:\n  deadlines:\n    prefetch_s: {word}\n")


def test_all_mistakes_are_told_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(
            tmp_path,
            "memory:\n  memory_char_limit: x\n  outbox: {max_itms: 3}\nsessions: {retention_days: -1}\n",
        )
    keys = {problem["key"] for problem in caught.value.details["problems"]}
    assert keys == {"memory.memory_char_limit", "memory.outbox.max_itms", "sessions.retention_days"}


@pytest.mark.parametrize("value", ["[honcho, mem0]", "'honcho, mem0'", "{a: b}", "3"])
def test_more_than_one_provider_is_refused_with_the_way_to_switch(tmp_path, value):
    with pytest.raises(ConfigError, match="one external provider is active per profile") as caught:
        load(tmp_path, f"memory:\n  provider: {value}\n")
    assert "memory use NAME" in caught.value.hint


@pytest.mark.parametrize("value", ["''", "null", "off", "false", "none", "' '"])
def test_no_provider_may_be_written_in_many_ways(tmp_path, value):
    assert load(tmp_path, f"memory:\n  provider: {value}\n").get("memory.provider") == ""


def test_yaml_11_words_mean_the_same_in_word_settings(tmp_path):
    loaded = load(tmp_path, "display: {memory_notifications: off}\nmemory: {history_recall: on}\n")
    assert loaded.get("display.memory_notifications") == "off"
    assert loaded.get("memory.history_recall") == "on"
    loaded = load(
        tmp_path, "display: {memory_notifications: false}\nmemory: {history_recall: true}\n"
    )
    assert loaded.get("display.memory_notifications") == "off"
    assert loaded.get("memory.history_recall") == "on"


def test_notifications_per_platform(tmp_path):
    loaded = load(
        tmp_path,
        "display:\n  memory_notifications: verbose\n  platforms:\n    telegram: {memory_notifications: off, x: 1}\n"
        "    slack: {x: 1}\n",
    )
    assert loaded.notifications() == "verbose"
    assert loaded.notifications("telegram") == "off"
    assert loaded.notifications("slack") == "verbose"
    assert loaded.notifications("unknown") == "verbose"
    with pytest.raises(ConfigError, match="telegram"):
        load(tmp_path, "display: {platforms: {telegram: {memory_notifications: loud}}}\n")


# ---------------------------------------------------------------- keys that are not ours

SHARED = """\
model: {default: some/model}
memory:
  flush_min_turns: 6
  honcho: {peer: x}
  provider: ""
session: {terminal_continue: true}
sessions: {write_json_snapshots: false}
skills: {external_dirs: []}
display: {compact: false}
plugins: {enabled: [a], entries: {}}
hooks: {on_start: [x]}
hooks_auto_accept: false
honcho: {}
security: {tirith_enabled: true}
"""


def test_keys_of_hermes_agent_are_kept_and_ignored_without_a_word(tmp_path):
    loaded = load(tmp_path, SHARED)
    assert loaded.plain == DEFAULTS
    assert loaded.warnings == ()
    assert "memory.honcho" in loaded.ignored
    assert "model" in loaded.ignored
    assert loaded.raw["memory"]["honcho"] == {"peer": "x"}
    assert (tmp_path / "config.yaml").read_text() == SHARED


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("memory: {provder: x}", "memory.provider"),
        ("memroy: {provider: x}", "memory"),
        ("memory: {deadline: {prefetch_s: 1}}", "memory.deadlines"),
        ("hooks: {output_spil: {enabled: false}}", "hooks.output_spill"),
        ("sessions: {autoprune: true}", "sessions.auto_prune"),
    ],
)
def test_a_near_miss_in_a_shared_section_is_a_warning(tmp_path, text, meant):
    (warning,) = load(tmp_path, text).warnings
    assert f"did you mean `{meant}`?" in warning.message
    assert str(tmp_path) in warning.message


@pytest.mark.parametrize(
    "section", ["memory.deadlines", "memory.breaker", "memory.outbox", "memory.identity"]
)
def test_an_unknown_key_in_a_section_of_ours_is_an_error(tmp_path, section):
    _, name = section.split(".")
    with pytest.raises(ConfigError, match=rf"memory\.{name}\.zzz"):
        load(tmp_path, f"memory: {{{name}: {{zzz: 1}}}}")


def test_a_bad_value_from_the_environment_is_mended_there(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environ={"HERMES_MEMORY_MEMORY__NUDGE_INTERVAL": "x"})
    assert "environment variable HERMES_MEMORY_MEMORY__NUDGE_INTERVAL" in caught.value.message
    assert "unset the environment variable" in caught.value.hint


def test_an_unknown_environment_variable_is_a_warning_and_switches_are_none_of_it(tmp_path):
    loaded = load(
        tmp_path,
        environ={
            "HERMES_MEMORY_MEMORY__PROVDER": "x",
            "HERMES_MEMORY_NO_PLUGINS": "1",
            "OTHER__X": "1",
        },
    )
    (warning,) = loaded.warnings
    assert "HERMES_MEMORY_MEMORY__PROVDER" in warning.message
    assert "memory.provider" in warning.message


@pytest.mark.parametrize(
    "overrides", [{"memory": {"provder": "x"}}, {"memory.provder": "x"}, {"nope": 1}]
)
def test_an_unknown_override_is_an_error(tmp_path, overrides):
    with pytest.raises(ConfigError, match="is no setting"):
        load(tmp_path, overrides=overrides)


@pytest.mark.parametrize("value", ["5", "x", "[a]", "true"])
def test_a_section_that_is_a_value_is_refused(tmp_path, value):
    with pytest.raises(ConfigError, match="`memory` must be a section"):
        load(tmp_path, f"memory: {value}\n")


# ---------------------------------------------------------------- providers


def test_a_providers_settings_are_a_copy_and_not_judged(tmp_path):
    loaded = load(
        tmp_path,
        "providers:\n  honcho: {workspace: 工作, deep: {a: [1]}}\n  bad: 3\n",
        environ={"HERMES_MEMORY_PROVIDERS__HONCHO__TIMEOUT_S": "5"},
    )
    config = loaded.provider_config("honcho")
    assert config == {"workspace": "工作", "deep": {"a": [1]}, "timeout_s": 5}
    config["deep"]["a"].append(2)
    assert loaded.provider_config("honcho")["deep"] == {"a": [1]}
    assert loaded.provider_config("absent") == {}
    assert loaded.source("providers.honcho.workspace") == str(tmp_path / "config.yaml")
    assert loaded.source("providers.honcho.timeout_s").startswith("environment variable")
    assert loaded.source("providers.honcho.other") == "default"
    with pytest.raises(ConfigError, match=r"providers\.bad"):
        loaded.provider_config("bad")


def test_plain_settings_are_not_shared_between_loads(tmp_path):
    load(tmp_path).plain["memory"]["deadlines"]["prefetch_s"] = 99
    assert load(tmp_path).get("memory.deadlines.prefetch_s") == 2.0


# ---------------------------------------------------------------- files that cannot be understood


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"memory:\n  provider: [a\n", "line"),
        (b"memory:\n\tprovider: x\n", "line 2"),
        (b"a: 1\na: 2\n", "line 2"),
        (b"memory: {provider: *nowhere}\n", "line 1"),
        (b"a: 1\n--- \nb: 2\n", "understood"),
        (b"a: !!python/object/apply:os.system [ls]\n", "line 1"),
        (b"- a\n", "no settings"),
        (b"just words\n", "no settings"),
        (b"memory:\n  provider: caf\xe9\n", "line 2"),
        ("memory: 1".encode("utf-16"), "UTF-8"),
        (b"a: &a [*a]\n", "without end"),
        (b"a: " + b"[" * 1200, "understood"),
        (b"a: \x00\n", "understood"),
    ],
)
def test_a_file_nobody_understands_is_an_error_and_stays(tmp_path, data, where):
    with pytest.raises(ConfigError, match=where) as caught:
        load(tmp_path, data)
    assert str(tmp_path / "config.yaml") in caught.value.message
    assert caught.value.hint
    assert (tmp_path / "config.yaml").read_bytes() == data


def test_aliases_of_aliases_are_not_followed_for_ever(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(ConfigError, match="without end"):
        load(tmp_path, "\n".join(lines))


def test_a_doubled_key_does_not_show_its_value(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "auxiliary:\n  api_key: hunter2aaa\n  api_key: hunter2bbb\n")
    assert "hunter2" not in str(caught.value.to_dict())


def test_a_directory_in_the_files_place_is_not_no_settings(tmp_path):
    (tmp_path / "config.yaml").mkdir()
    with pytest.raises(StoreUnreadableError):
        load_settings(tmp_path, environ={})


def test_a_huge_file_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="bytes"):
        load(tmp_path, b"#" * (4 * 1024 * 1024 + 1))


def test_crlf_and_bom_are_read(tmp_path):
    loaded = load(
        tmp_path, b"\xef\xbb\xbfmemory:\r\n  provider: honcho\r\n  memory_char_limit: 5\r\n"
    )
    assert loaded.get("memory.provider") == "honcho"
    assert loaded.get("memory.memory_char_limit") == 5


def test_breaker_and_links_are_checked_as_a_whole(tmp_path):
    with pytest.raises(ConfigError, match="max_open_s must not be below open_s"):
        load(tmp_path, "memory: {breaker: {open_s: 1000}}")
    with pytest.raises(ConfigError, match="links telegram:1 to both a and b"):
        load(tmp_path, "memory: {identity: {links: {a: ['telegram:1'], b: ['telegram:1']}}}")
    loaded = load(tmp_path, "memory: {identity: {links: {美: ['telegram:1', 'cli:x']}}}")
    assert loaded.get("memory.identity.links") == {"美": ["telegram:1", "cli:x"]}


def test_redact_patterns_must_compile(tmp_path):
    with pytest.raises(ConfigError, match="no regular expression"):
        load(tmp_path, "security: {redact_patterns: ['(']}")


@given(
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.lists(st.integers(), max_size=2),
    ),
    key=st.sampled_from(
        [key for key in SETTINGS if key.count(".") == 1 and key != "display.platforms"]
    ),
)
def test_any_value_is_taken_in_its_own_kind_or_refused_by_name(tmp_path_factory, value, key):
    directory = tmp_path_factory.getbasetemp()
    section, name = key.split(".")
    try:
        loaded = load_settings(directory / "none", environ={}, overrides={section: {name: value}})
    except ConfigError as error:
        assert key in error.message
    else:
        default = SETTINGS[key]
        assert default is None or type(loaded.get(key)) is type(default)


def test_the_process_environment_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setitem(os.environ, "HERMES_MEMORY_PLUGINS__DISABLED", "a, b")
    assert load_settings(tmp_path).get("plugins.disabled") == ["a", "b"]


def test_an_auxiliary_task_keeps_foreign_keys_and_has_ours_filled_in(tmp_path):
    task = load(
        tmp_path, "auxiliary: {title_generation: {model: m, enabled: null, timeout: '5'}}\n"
    ).get("auxiliary.title_generation")
    assert task == {"model": "m", "enabled": True, "timeout": 5.0, "language": ""}
    other = load(tmp_path, "auxiliary: {vision: {model: v}}\n").get("auxiliary")
    assert other["vision"] == {"model": "v"}
    assert other["title_generation"]["enabled"] is True
    off = {"HERMES_MEMORY_AUXILIARY__TITLE_GENERATION__ENABLED": "off"}
    assert load(tmp_path, "", environ=off).get("auxiliary.title_generation.enabled") is False


@pytest.mark.parametrize(
    ("yaml", "named"),
    [
        ("{enabled: maybe}", "title_generation.enabled"),
        ("{timeout: 0}", "title_generation.timeout"),
        ("{timeout: soon}", "title_generation.timeout"),
        ("yes please", "title_generation must be a mapping"),
    ],
)
def test_our_settings_of_an_auxiliary_task_are_checked(tmp_path, yaml, named):
    with pytest.raises(ConfigError, match=named):
        load(tmp_path, f"auxiliary: {{title_generation: {yaml}}}\n")
