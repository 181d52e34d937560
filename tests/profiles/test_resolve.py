"""Which home and which profile is meant: what is named and missing is an error, never the default."""

from __future__ import annotations

import pytest

from hermes_memory_core.errors import ProfileError, StoreUnreadableError
from hermes_memory_core.profiles import (
    active_profile,
    create_profile,
    list_profiles,
    resolve_home,
    resolve_profile,
    use_profile,
)


def test_the_home_is_the_argument_else_the_variable_else_in_the_users_home(tmp_path):
    environ = {"HERMES_HOME": str(tmp_path / "env"), "HOME": str(tmp_path / "user")}
    assert resolve_home(tmp_path / "arg", environ) == tmp_path / "arg"
    assert resolve_home(str(tmp_path / "arg"), environ) == tmp_path / "arg"
    assert resolve_home(None, environ) == tmp_path / "env"
    assert resolve_home(None, {"HOME": str(tmp_path / "user")}) == tmp_path / "user" / ".hermes"
    assert resolve_home(None, {"HERMES_HOME": " ", "HOME": "/u"}).name == ".hermes"
    assert not (tmp_path / "arg").exists()


def test_a_relative_home_becomes_absolute_and_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert resolve_home("h", {}) == tmp_path / "h"
    (tmp_path / "file").write_text("x")
    with pytest.raises(ProfileError, match="is a file"):
        resolve_home("file", {})


def test_an_empty_home_is_the_default_profile(tmp_path):
    profile = resolve_profile(tmp_path / "fresh")
    assert profile.is_default
    assert profile.path == profile.root == tmp_path / "fresh"
    assert [p.name for p in list_profiles(tmp_path / "fresh")] == ["default"]


@pytest.mark.parametrize("how", ["named", "named-upper", "active", "home"])
def test_a_profile_is_found_by_name_marker_and_home(tmp_path, how):
    work = create_profile(tmp_path, "work")
    if how == "active":
        use_profile(tmp_path, "work")
    home = work.path if how == "home" else tmp_path
    name = {"named": "work", "named-upper": " Work "}.get(how)
    assert resolve_profile(home, name) == work
    assert work.root == tmp_path


@pytest.mark.parametrize("how", ["named", "active", "home"])
def test_a_missing_profile_is_an_error_that_lists_what_there_is(tmp_path, how):
    create_profile(tmp_path, "other")
    if how == "active":
        (tmp_path / "active_profile").write_text("gone\n")
    home = tmp_path / "profiles" / "gone" if how == "home" else tmp_path
    with pytest.raises(ProfileError, match="no profile `gone`") as caught:
        resolve_profile(home, "gone" if how == "named" else None)
    assert "default, other" in caught.value.message
    assert "profile create gone" in caught.value.hint
    assert not (tmp_path / "memories").exists()
    assert not (tmp_path / "profiles" / "gone").exists()


def test_a_name_wins_over_home_and_marker(tmp_path):
    one, two = create_profile(tmp_path, "one"), create_profile(tmp_path, "two")
    use_profile(tmp_path, "one")
    assert resolve_profile(tmp_path, "two") == two
    assert resolve_profile(two.path) == two
    assert resolve_profile(two.path, "one") == one
    assert resolve_profile(two.path, "default").path == tmp_path


@pytest.mark.parametrize("data", [b"../x\n", b"a b", b"\xff\xfe", b"x" * 300, b"-a"])
def test_a_marker_that_is_no_name_is_never_the_default(tmp_path, data):
    (tmp_path / "active_profile").write_bytes(data)
    with pytest.raises(ProfileError, match="active_profile"):
        resolve_profile(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n", b"default\n", b"\xef\xbb\xbfdefault"])
def test_an_empty_marker_is_the_default(tmp_path, data):
    (tmp_path / "active_profile").write_bytes(data)
    assert active_profile(tmp_path) == "default"


def test_a_marker_that_cannot_be_read_is_never_the_default(tmp_path):
    (tmp_path / "active_profile").mkdir()
    with pytest.raises(StoreUnreadableError):
        resolve_profile(tmp_path)


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "../up", "-x", "_x", "a b", "é", "x" * 65, "a\n", "."]
)
def test_names_that_are_none(tmp_path, name):
    if name == "a\n":  # blanks around a name are a slip of the hand
        name = "a\nb"
    with pytest.raises(ProfileError, match="profile's name"):
        resolve_profile(tmp_path, name)
