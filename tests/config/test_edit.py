"""Changing config.yaml: what was asked changes, everything else stays, and nothing is ever half done."""

from __future__ import annotations

import multiprocessing
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_core.config import Secrets, load_settings
from hermes_memory_core.config.edit import set_value, unset_value
from hermes_memory_core.config.rewrite import render
from hermes_memory_core.config.secrets import set_secret
from hermes_memory_core.config.yamlfile import parse_mapping
from hermes_memory_core.errors import ConfigError, StoreError, StoreLockedError
from hermes_memory_core.storage.locks import file_lock

FILE = """\
# 我的设置
model:
    default: some/model     # four blanks
memory:   # notes
  # which service
  provider: 'old'  # quoted

  memory_char_limit: 2200
list:
-   a   # odd spacing
-   {k: v,  j: 1}
prompt: |
  # not a comment
  line
folded: >-
  one
  two
display: {compact: false,  memory_notifications: on} # flow
hooks: {} # none
skills: null

# the end
"""


def write(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_bytes(text.encode())
    return path


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize(
    ("key", "value", "gone", "come"),
    [
        (
            "memory.provider",
            "honcho",
            ["  provider: 'old'  # quoted"],
            ["  provider: honcho  # quoted"],
        ),
        (
            "memory.memory_char_limit",
            "3000",
            ["  memory_char_limit: 2200"],
            ["  memory_char_limit: 3000"],
        ),
        ("memory.write_approval", "on", [], ["  write_approval: true"]),
        ("memory.deadlines.prefetch_s", "3", [], ["  deadlines:", "    prefetch_s: 3.0"]),
        (
            "display.memory_notifications",
            "off",
            ["display: {compact: false,  memory_notifications: on} # flow"],
            ['display: {compact: false,  memory_notifications: "off"} # flow'],
        ),
        (
            "providers.honcho.工作区",
            "你好: #1",
            [],
            ["providers:", "  honcho:", '    "工作区": "你好: #1"'],
        ),
        (
            "hooks.output_spill.max_chars",
            "9",
            ["hooks: {} # none"],
            ["hooks: # none", "  output_spill:", "    max_chars: 9"],
        ),
        ("skills.write_approval", True, ["skills: null"], ["skills:", "  write_approval: true"]),
        ("plugins.disabled", "a, b", [], ["plugins:", "  disabled: [a, b]"]),
    ],
)
def test_a_set_touches_its_own_line_only(tmp_path, key, value, gone, come):
    path = write(tmp_path, FILE)
    change = set_value(tmp_path, key, value)
    assert change.changed
    after = path.read_text()
    removed, added = changed_lines(FILE, after)
    assert removed == gone
    assert [line.replace('"工作区"', "工作区") for line in added] == [
        line.replace('"工作区"', "工作区") for line in come
    ]
    assert load_settings(tmp_path, environ={}).source(key) == str(path)


@pytest.mark.parametrize("key", ["memory.provider", "memory.memory_char_limit"])
def test_an_unset_takes_its_own_line_only(tmp_path, key):
    path = write(tmp_path, FILE)
    assert unset_value(tmp_path, key).changed
    removed, added = changed_lines(FILE, path.read_text())
    assert added == []
    assert len(removed) == 1
    assert key.rpartition(".")[2] in removed[0]
    assert not unset_value(tmp_path, key).changed


def test_a_section_emptied_by_unset_goes_too(tmp_path):
    path = write(tmp_path, "# top\nmemory:\n  deadlines:\n    prefetch_s: 1\n# next\nother: 1\n")
    unset_value(tmp_path, "memory.deadlines.prefetch_s")
    assert path.read_text() == "# top\n# next\nother: 1\n"


def test_unset_of_the_only_setting_leaves_the_comments(tmp_path):
    path = write(tmp_path, "# mine\nmemory:\n  provider: x\n# also mine\n")
    unset_value(tmp_path, "memory.provider")
    assert path.read_text() == "# mine\n# also mine\n"
    set_value(tmp_path, "memory.provider", "new")
    assert path.read_text() == "# mine\n# also mine\nmemory:\n  provider: new\n"


@pytest.mark.parametrize(
    "text",
    [
        "memory:\n",
        "memory: \n  # provider: x\n",
        "memory: null\n",
        "memory: {}\n",
        "memory: {write_approval: true}\n",
        "---\nmemory:\n  write_approval: true\n...\n",
        "base: &b\n  write_approval: true\nmemory:\n  <<: *b\n  nudge_interval: 3\n",
        "memory:\n  provider:\n    other\n",
        "memory:\n  provider: >-\n    other\n\n# c\nx: 1\n",
        "memory:\n  provider: !!str other\n",
        "? memory\n: provider: other\n",
        '"memory":\n  "provider": "other"   # c\n',
        "memory:\n  provider: &p other\nx: *p\n",
        "a: 1",
        "a: |\n  text",
        "a: |+\n  text\n\n\n",
        "memory:\n  write_approval: true\n  honcho: |\n    text\n# c\nx: [1,\n  2]\n",
        "memory:\n  honcho:\n    - a\n    - b: 1\n      c: 2\nx: 1\n",
    ],
)
def test_set_and_unset_on_every_kind_of_file(tmp_path, text):
    path = write(tmp_path, text)
    before = parse_mapping(text, path)
    set_value(tmp_path, "memory.provider", "honcho")
    after = parse_mapping(path.read_text(), path)
    wanted = {**before, "memory": {**(before.get("memory") or {}), "provider": "honcho"}}
    assert after == wanted
    for comment in [line for line in text.splitlines() if line.strip().startswith("#")]:
        assert comment in path.read_text()
    unset_value(tmp_path, "memory.provider")
    assert load_settings(tmp_path, environ={}).get("memory.provider") == ""
    assert parse_mapping(path.read_text(), path).get("x") == before.get("x")


@pytest.mark.parametrize(
    "text",
    ["base: &b {write_approval: true}\nmemory: *b\n", "base: &b\n  provider: x\nmemory: *b\n# c\n"],
)
def test_a_section_shared_with_another_is_not_changed_behind_its_back(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match="without touching other settings"):
        set_value(tmp_path, "memory.provider", "honcho")
    assert path.read_text() == text


def test_crlf_and_bom_stay(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbf# top\r\nmemory:\r\n  provider: a # b\r\nx: 1\r\n")
    set_value(tmp_path, "memory.provider", "honcho")
    set_value(tmp_path, "memory.nudge_interval", 3)
    set_value(tmp_path, "skills.write_approval", True)
    assert path.read_bytes() == (
        b"\xef\xbb\xbf# top\r\nmemory:\r\n  provider: honcho # b\r\n  nudge_interval: 3\r\nx: 1\r\n"
        b"skills:\r\n  write_approval: true\r\n"
    )


def test_the_same_value_again_does_not_touch_the_file(tmp_path):
    path = write(tmp_path, FILE)
    before = path.stat().st_ino
    assert not set_value(tmp_path, "memory.provider", "old").changed
    assert path.stat().st_ino == before


def test_a_new_file_is_private(tmp_path):
    home = tmp_path / "new" / "home"
    set_value(home, "memory.provider", "honcho")
    assert stat.S_IMODE((home / "config.yaml").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_file_others_could_read_is_private_after_a_set(tmp_path):
    path = write(tmp_path, FILE)
    path.chmod(0o644)
    set_value(tmp_path, "memory.provider", "honcho")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("memory.provider", "a, b", "one external provider"),
        ("memory.memory_char_limit", "2k", "whole number"),
        ("memory.memory_char_limit", "", "whole number"),
        ("memory.write_approval", "perhaps", "true or false"),
        ("memory.isolation", "team", "profile"),
        ("memory", "x", "is a section"),
        ("memory.deadlines", {"prefetch_s": 1}, "is a section"),
        ("memry.provider", "x", "did you mean `memory.provider`"),
        ("model.default", "x", "no setting"),
        ("", "x", "no setting"),
        ("providers.", "x", "no setting"),
        ("providers.honcho..x", "x", "no setting"),
        ("providers", "x", "must be a mapping"),
        ("providers.honcho.api_key", "hunter2", "secret"),
        ("auxiliary.title_generation.api_key", "hunter2", "secret"),
        ("providers.honcho", {"deep": {"token": "hunter2"}}, "secret"),
        ("providers.honcho", "{token: hunter2}", "secret"),
        ("providers.honcho.x", "\ud800", "no valid text"),
        ("memory.breaker.open_s", "1000", "max_open_s"),
    ],
)
def test_what_cannot_be_set_leaves_the_file_alone(tmp_path, key, value, says):
    path = write(tmp_path, FILE)
    with pytest.raises(ConfigError, match=says) as caught:
        set_value(tmp_path, key, value)
    assert "hunter2" not in str(caught.value.to_dict())
    assert path.read_text() == FILE


def test_a_secret_is_pointed_to_its_place(tmp_path):
    with pytest.raises(ConfigError) as caught:
        set_value(tmp_path, "providers.honcho.api_key", "hunter2")
    assert "HONCHO_API_KEY" in caught.value.hint


@pytest.mark.parametrize("text", ["memory: [\n", "- a\n", "a: 1\na: 2\n", "memory: 5\n"])
def test_a_file_that_is_not_understood_is_never_written(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError):
        set_value(tmp_path, "memory.provider", "honcho")
    assert path.read_text() == text


def test_one_mistake_can_be_mended_while_another_is_still_there(tmp_path):
    path = write(tmp_path, "memory:\n  memory_char_limit: x\n  user_char_limit: y\n")
    set_value(tmp_path, "memory.memory_char_limit", "2000")
    with pytest.raises(ConfigError, match="whole number"):
        set_value(tmp_path, "memory.nudge_interval", "z")
    unset_value(tmp_path, "memory.user_char_limit")
    assert path.read_text() == "memory:\n  memory_char_limit: 2000\n"


@pytest.mark.parametrize("dangling", [True, False])
def test_a_symbolic_link_is_not_written_through(tmp_path, dangling):
    target = tmp_path / "elsewhere.yaml"
    if not dangling:
        target.write_text("memory: {}\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        set_value(home, "memory.provider", "honcho")
    assert (home / "config.yaml").is_symlink()
    assert target.exists() is not dangling
    if not dangling:
        assert target.read_text() == "memory: {}\n"


def test_a_read_only_file_stays_as_it_is(tmp_path):
    path = write(tmp_path, FILE)
    path.chmod(0o400)
    with pytest.raises(ConfigError, match="read-only"):
        set_value(tmp_path, "memory.provider", "honcho")
    assert path.read_text() == FILE


def test_a_held_lock_is_said_and_nothing_changes(tmp_path, monkeypatch):
    path = write(tmp_path, FILE)
    from hermes_memory_core.config import edit

    monkeypatch.setattr(edit, "file_lock", lambda lock: file_lock(lock, timeout_s=0.05))
    with (
        file_lock(tmp_path / "config.yaml.lock"),
        pytest.raises(StoreLockedError, match=r"config\.yaml"),
    ):
        set_value(tmp_path, "memory.provider", "honcho")
    assert path.read_text() == FILE


def _set_many(directory, prefix, ready):
    ready.wait()
    for number in range(12):
        set_value(directory, f"providers.{prefix}.k{number}", number)
        set_secret(directory, f"{prefix}_{number}", f"value {number}")


@pytest.mark.process
@pytest.mark.timeout(60)
def test_two_processes_setting_different_keys_lose_none(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    workers = [
        context.Process(target=_set_many, args=(tmp_path, name, ready)) for name in ("a", "b")
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    loaded = load_settings(tmp_path, environ={})
    for name in ("a", "b"):
        assert loaded.provider_config(name) == {f"k{number}": number for number in range(12)}
        for number in range(12):
            assert Secrets.load(tmp_path).get(f"{name}_{number}") == f"value {number}"


# ---------------------------------------------------------------- properties

NAMES = st.text("abcxyz_你好", min_size=1, max_size=6).filter(lambda name: name not in ("y", "_"))
COMMENTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_a_rendered_value_reads_back_as_itself(value):
    text = f"k: {render(value)}\n"
    assert parse_mapping(text, None)["k"] == value  # type: ignore[arg-type]
    assert len(text.splitlines()) == 1 or "\n" not in text[:-1]


@pytest.mark.timeout(60)
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    entries=st.lists(
        st.tuples(NAMES, VALUES, COMMENTS), min_size=1, max_size=5, unique_by=lambda entry: entry[0]
    ),
    pick=st.integers(0, 4),
    value=VALUES.filter(lambda value: not isinstance(value, (str, dict))),
)
def test_comments_and_other_values_survive_any_set(tmp_path, entries, pick, value):
    lines = ["# head", "providers:", "  p:"]
    for name, old, comment in entries:
        lines += [f"    # {comment}", f"    {render(name)}: {render(old)}  # {comment}"]
    text = "\n".join([*lines, "# tail", ""])
    path = write(tmp_path, text)
    name = entries[pick % len(entries)][0]
    set_value(tmp_path, f"providers.p.{name}", value)
    after = path.read_bytes().decode()
    expected = {key: old for key, old, _ in entries} | {name: value}
    assert parse_mapping(after, path) == {"providers": {"p": expected}}
    assert [comment_of(line) for line in after.split("\n")] == [
        comment_of(line) for line in text.split("\n")
    ]


def comment_of(line: str) -> str:
    head, mark, comment = line.rpartition("  # ")
    return comment if mark else head
