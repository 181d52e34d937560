"""Names the server takes; sessions and peers of every kind of conversation."""

import re

import pytest
from hermes_memory_honcho import naming
from hermes_memory_honcho.legacy import resolve
from hermes_memory_honcho.settings import HonchoSettings
from hermes_memory_honcho.who import Directory
from hypothesis import given
from hypothesis import strategies as st
from rig import session

from hermes_memory_core.types import Scope

LEGAL = re.compile(r"^[a-zA-Z0-9_-]{1,100}$")


@given(st.text(max_size=300))
def test_any_text_becomes_a_legal_name(text):
    assert LEGAL.match(naming.safe_name(text))


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_two_texts_never_share_a_name(one, other):
    assert (naming.safe_name(one) == naming.safe_name(other)) is (one == other)


def test_plain_names_stay_as_hermes_agent_had_them():
    assert naming.safe_name("my-project_2") == "my-project_2"
    assert naming.safe_name("项目") != naming.safe_name("工程")
    assert len(naming.safe_name("x" * 101)) == 100


def directory(tmp_path, **settings):
    return Directory(resolve(HonchoSettings(**settings), tmp_path, "default", tmp_path))


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    return tmp_path / "shop" / "src"


@pytest.mark.parametrize(
    ("settings", "given", "name"),
    [
        ({}, {"cwd": "{repo}"}, "src"),
        ({"session_strategy": "per-repo"}, {"cwd": "{repo}"}, "shop"),
        ({"session_strategy": "per-session"}, {"cwd": "{repo}"}, "s1"),
        ({"session_strategy": "global"}, {"cwd": "{repo}"}, "hermes"),
        ({}, {}, "s1"),
        ({"title_names_session": True}, {"cwd": "{repo}", "title": "Tax"}, "Tax"),
        ({}, {"cwd": "{repo}", "title": "Tax"}, "src"),
        ({"session_peer_prefix": True}, {"cwd": "{repo}"}, "user-src"),
        ({}, {"source": "telegram", "chat_id": "123", "cwd": "{repo}"}, "telegram-123"),
        (
            {"session_strategy": "per-session"},
            {"source": "telegram", "chat_id": "123"},
            "telegram-123-s1",
        ),
    ],
)
def test_session_names(tmp_path, repo, settings, given, name):
    given = {key: value.format(repo=repo) for key, value in given.items()}
    assert directory(tmp_path, **settings).place(session(**given)).session == name


def test_a_mapped_directory_has_its_name(tmp_path, repo):
    here = directory(tmp_path, sessions={str(repo): "my shop"})
    name = here.place(session(cwd=str(repo))).session
    assert name.startswith("my-shop-")


def test_same_base_name_is_shared_unless_told_apart(tmp_path):
    a, b = session(cwd="/home/x/a/src"), session(cwd="/home/x/b/src")
    shared = directory(tmp_path)
    assert shared.place(a).session == shared.place(b).session == "src"
    apart = directory(tmp_path, path_hash=True)
    assert apart.place(a).session != apart.place(b).session


@pytest.mark.parametrize(
    ("settings", "user_id", "peer"),
    [
        ({"peer_name": "ada"}, None, "ada"),
        ({"peer_name": "ada"}, "42", "42"),
        ({"peer_name": "ada", "pin_user_peer": True}, "42", "ada"),
        ({"user_peer_aliases": {"42": "ada"}}, "42", "ada"),
        ({"runtime_peer_prefix": "tg_"}, "42", "tg_42"),
    ],
)
def test_user_peers(tmp_path, settings, user_id, peer):
    assert directory(tmp_path, **settings).place(session(user_id=user_id)).user == peer


def test_a_stranger_never_gets_the_owners_peer_by_his_id(tmp_path):
    here = directory(tmp_path, peer_name="ada")
    assert here.place(session(user_id="ada")).user != "ada"
    assert here.place(session(user_id="hermes")).user != here.ai_peer


def test_scopes_are_worlds_of_their_own(tmp_path):
    here = directory(tmp_path)
    places = [
        here.place(session(user_id="a", scope=Scope("user", "a"))),
        here.place(session(user_id="b", scope=Scope("user", "b"))),
        here.place(session(user_id="a", scope=Scope("chat", "x"))),
        here.place(session(user_id="a", scope=Scope("chat", "y"))),
        here.place(session()),
    ]
    for field in ("session", "user", "ai"):
        assert len({getattr(place, field) for place in places}) == len(places)


def test_nobody_is_made_up(tmp_path):
    here = directory(tmp_path)
    assert here.place(session(scope=Scope("user", None))) is None
    assert here.peers_of(Scope("user", None)) is None
    assert here.peers_of(Scope("user", "a")) == (
        here.place(session(scope=Scope("user", "a"))).user,
        here.place(session(scope=Scope("user", "a"))).ai,
    )


def test_a_compressed_conversation_keeps_its_session(tmp_path):
    here = directory(tmp_path, session_strategy="per-session")
    first, child = session("s1"), session("s2", lineage="s1")
    assert here.place(first).session == here.place(child).session
