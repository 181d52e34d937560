"""Secrets: read from the profile's own file, written back whole, never shown."""

from __future__ import annotations

import copy
import pickle
import stat
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_core.config import Secrets, dotenv
from hermes_memory_core.config.secrets import SecretMapping, secret_name, set_secret, unset_secret
from hermes_memory_core.errors import (
    ConfigError,
    StoreError,
    StoreLockedError,
    StoreUnreadableError,
    UsageError,
)
from hermes_memory_core.storage.locks import file_lock


def env(tmp_path, text):
    path = tmp_path / ".env"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=plain", "plain"),
        ("K = spaced  ", "spaced"),
        ("  export K=x", "x"),
        ("K=x # comment", "x"),
        ("K=x#no-comment", "x#no-comment"),
        ("K='single # $x'", "single # $x"),
        ("K='it\\'s'", "it's"),
        ('K="a\\nb"', "a\nb"),
        ('K="say \\"hi\\" \\\\"', 'say "hi" \\'),
        ('K="keeps \\d"', "keeps \\d"),
        ('K="two\nlines"', "two\nlines"),
        ('K="x" # c', "x"),
        ("K=${OTHER}", "${OTHER}"),
        ("K=a=b=", "a=b="),
        ("K=密钥", "密钥"),
        ("K=old\nK=new", "new"),
        ("\ufeffK=x", "x"),
        ("# c\r\nK=x\r\nL=y\r\n", "x"),
        ("K='x'\r\n", "x"),
        ("broken line\nK=x", "x"),
        ("L='open\nK=x", "x"),
        ("=x\nK=x", "x"),
    ],
)
def test_values_as_people_and_programs_write_them(tmp_path, line, value):
    env(tmp_path, line)
    assert Secrets.load(tmp_path).get("K") == value


@pytest.mark.parametrize("text", ["", "K=", "K=''", "# K=x", "K"])
def test_no_value_is_not_set(tmp_path, text):
    env(tmp_path, text)
    secrets = Secrets.load(tmp_path)
    assert secrets.get("K") is None
    assert secrets.masked("K") == "not set"
    assert secrets.source("K") is None


def test_no_file_is_no_secrets(tmp_path):
    assert Secrets.load(tmp_path).names() == []


def test_fields_of_a_provider_have_names_in_the_file(tmp_path):
    env(tmp_path, "HONCHO_API_KEY=one\nMEM0_API_KEY=two\nOTHER_THING_TOKEN=three\n")
    secrets = Secrets.load(tmp_path)
    assert dict(secrets.for_provider("honcho", ["api_key", "base_url"])) == {"api_key": "one"}
    assert dict(secrets.for_provider("other-thing", ["token"])) == {"token": "three"}
    assert secret_name("honcho", "api_key") == "HONCHO_API_KEY"
    assert dotenv.NAME.fullmatch(secret_name("7things", "api-key"))


@pytest.mark.parametrize("provider", ["honcho", "mem0"])
def test_the_environment_is_asked_only_when_allowed(tmp_path, provider):
    env(tmp_path, "HONCHO_API_KEY=from-file\n")
    environ = {"HONCHO_API_KEY": "from-env", "MEM0_API_KEY": "from-env"}
    closed = Secrets.load(tmp_path, environ=environ)
    opened = Secrets.load(tmp_path, environ=environ, allow_environment=True)
    name = secret_name(provider, "api_key")
    if provider == "honcho":
        assert closed.get(name) == opened.get(name) == "from-file"
        assert opened.source(name) == str(tmp_path / ".env")
    else:
        assert closed.get(name) is None
        assert closed.masked(name) == "not set"
        assert opened.get(name) == "from-env"
        assert opened.source(name) == "environment"


def test_the_environment_is_copied(tmp_path):
    environ = {"X_API_KEY": "before"}
    secrets = Secrets.load(tmp_path, environ=environ, allow_environment=True)
    environ["X_API_KEY"] = "after"
    assert secrets.get("X_API_KEY") == "before"


def test_nothing_printed_holds_a_value(tmp_path, caplog):
    value = "sk-very-secret-0123456789"
    env(tmp_path, f"HONCHO_API_KEY={value}\nSHORT=tiny\njunk {value}\n")
    secrets = Secrets.load(tmp_path)
    mapping = secrets.for_provider("honcho", ["api_key"])
    shown = (
        f"{secrets!r} {secrets} {mapping!r} {mapping} {[mapping]} {secrets.warnings} {caplog.text}"
    )
    assert value not in shown
    assert "tiny" not in shown
    assert secrets.masked("HONCHO_API_KEY") == "set (…6789)"
    assert secrets.masked("SHORT") == "set"
    with pytest.raises(KeyError) as caught:
        mapping["nope"]
    assert value not in repr(caught.value)
    assert secrets.values() == (value, "tiny")
    assert "line:3" in secrets.warnings[0].key


def test_a_secret_mapping_is_a_mapping():
    mapping = SecretMapping({"a": "1"})
    assert {**mapping} == {"a": "1"}
    assert copy.copy(mapping) == mapping
    assert dict(pickle.loads(pickle.dumps(mapping))) == {"a": "1"}
    assert len(mapping) == 1


def test_set_keeps_comments_and_unknown_lines(tmp_path):
    path = env(tmp_path, "# keys\nA=1 # one\nwhat is this\n\nexport B='2'\n")
    set_secret(tmp_path, "B", "new value")
    set_secret(tmp_path, "C", "三")
    assert path.read_text() == "# keys\nA=1 # one\nwhat is this\n\nB='new value'\nC='三'\n"
    assert unset_secret(tmp_path, "A")
    assert not unset_secret(tmp_path, "A")
    assert path.read_text() == "# keys\nwhat is this\n\nB='new value'\nC='三'\n"


def test_a_set_leaves_no_older_value_behind(tmp_path):
    path = env(tmp_path, "A=old1\nB=x\nA=old2")
    set_secret(tmp_path, "A", "new")
    assert path.read_text() == "B=x\nA=new\n"


def test_crlf_files_stay_crlf(tmp_path):
    path = env(tmp_path, b"A=1\r\nB=2\r\n")
    set_secret(tmp_path, "A", "x")
    set_secret(tmp_path, "C", "y")
    assert path.read_bytes() == b"A=x\r\nB=2\r\nC=y\r\n"


def test_the_file_is_private_from_its_first_moment(tmp_path):
    set_secret(tmp_path / "new", "A", "x")
    path = tmp_path / "new" / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_others_may_read_is_told_and_closed_by_a_set(tmp_path):
    path = env(tmp_path, "A=1\n")
    path.chmod(0o644)
    (warning,) = Secrets.load(tmp_path).warnings
    assert "chmod 600" in warning.hint
    set_secret(tmp_path, "B", "2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Secrets.load(tmp_path).warnings == ()


@pytest.mark.parametrize("name", ["", "1A", "A B", "A=B", "A\nB", "é", "A-B"])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        set_secret(tmp_path, name, "x")
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("value", ["", "nul\0secret", "half\ud800secret"])
def test_a_value_that_cannot_be_stored_is_refused_unseen(tmp_path, value):
    with pytest.raises(UsageError) as caught:
        set_secret(tmp_path, "A", value)
    assert "secret" not in caught.value.message.lower().replace("unset-secret", "")
    assert caught.value.__cause__ is None
    assert not (tmp_path / ".env").exists()


def test_bytes_that_are_no_text_are_not_no_secrets_and_not_shown(tmp_path):
    path = env(tmp_path, b"A=1\nB=hunter2\xff\n")
    with pytest.raises(ConfigError, match="line 2") as caught:
        Secrets.load(tmp_path)
    assert caught.value.__cause__ is None
    assert "hunter2" not in str(caught.value.to_dict())
    with pytest.raises(ConfigError):
        set_secret(tmp_path, "A", "x")
    assert path.read_bytes() == b"A=1\nB=hunter2\xff\n"


def test_a_directory_in_its_place_is_an_error(tmp_path):
    (tmp_path / ".env").mkdir()
    with pytest.raises(StoreUnreadableError):
        Secrets.load(tmp_path)


def test_a_link_is_not_written_through(tmp_path):
    target = tmp_path / "target"
    target.write_text("A=1\n")
    (tmp_path / ".env").symlink_to(target)
    with pytest.raises(StoreError, match="symbolic link"):
        set_secret(tmp_path, "A", "2")
    assert target.read_text() == "A=1\n"


def test_a_held_lock_is_said(tmp_path, monkeypatch):
    from hermes_memory_core.config import secrets

    monkeypatch.setattr(secrets, "file_lock", lambda path: file_lock(path, timeout_s=0.05))
    with file_lock(tmp_path / ".env.lock"), pytest.raises(StoreLockedError):
        set_secret(tmp_path, "A", "x")
    assert not (tmp_path / ".env").exists()


@pytest.mark.timeout(60)
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    pairs=st.dictionaries(
        st.text(string.ascii_uppercase + "_", min_size=1, max_size=4),
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
        max_size=4,
    ),
    before=st.sampled_from(["", "# c\n", "junk 'x\n", "Z9=keep # c", 'Z9="two\nlines"\n']),
)
def test_any_value_comes_back_as_it_was(tmp_path, pairs, before):
    path = env(tmp_path, before)
    kept = dotenv.parse(before)[0]
    for name, value in pairs.items():
        set_secret(tmp_path, name, value)
    secrets = Secrets.load(tmp_path)
    for name, value in pairs.items():
        assert secrets.get(name) == value
    for assignment in kept:
        assert secrets.get(assignment.name) == assignment.value
    assert path.read_bytes().decode().startswith(before.rstrip("\n"))


@given(st.text(max_size=60))
def test_any_text_can_be_parsed_and_changed_without_losing_the_rest(text):
    found, _ = dotenv.parse(text)
    others = [(a.name, a.value) for a in found if a.name != "NEW"]
    changed, _ = dotenv.parse(dotenv.with_value(text, "NEW", "value"))
    assert [(a.name, a.value) for a in changed if a.name != "NEW"] == others
    assert [a.value for a in changed if a.name == "NEW"] == ["value"]
