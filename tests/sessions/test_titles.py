"""Titles: cleaned, unique with a way out, numbered by lineage; and what a title resolves to."""

from __future__ import annotations

import pytest
from hermes_memory_sessions import titles

from hermes_memory_core.errors import SessionError, SessionNotFoundError, TitleConflictError
from hermes_memory_core.types import Scope, SessionInfo


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  a \n b\t", "a b"),
        ("a\u200bb\u202e", "ab"),
        ("\x00\x07", None),
        ("", None),
        (None, None),
        ("预算 讨论", "预算 讨论"),
        ("x" * 100, "x" * 100),
    ],
)
def test_cleaning(raw, clean):
    assert titles.clean_title(raw) == clean


def test_too_long_says_by_how_much():
    with pytest.raises(SessionError, match="101"):
        titles.clean_title("x" * 101)


@pytest.mark.parametrize(
    ("title", "taken", "expected"),
    [
        ("Trip", [], "Trip"),
        ("Trip", ["Trip"], "Trip #2"),
        ("Trip #2", ["Trip", "Trip #2", "Trip #9"], "Trip #10"),
        ("Trip", ["Trip #2"], "Trip #3"),
        ("Trip", ["Trip #x", "Trips", "Trip # 4"], "Trip"),
        ("trip", ["Trip"], "trip #2"),
        ("#3", [], "#3"),
        ("x" * 100, ["x" * 100], "x" * 97 + " #2"),
    ],
)
def test_next_title(title, taken, expected):
    assert titles.next_title(title, taken) == expected


@pytest.fixture
def open_(history):
    def make(session_id, *, at=1.0, title=None, lineage=None, **fields):
        history.open_session(
            SessionInfo(session_id, lineage or session_id, started_at=at, **fields)
        )
        history.append(session_id, "user", f"in {session_id}", timestamp=at)
        if title:
            history.set_title(session_id, title)

    return make


def test_a_taken_title_names_the_holder_and_the_way_out(history, open_):
    open_("old", source="telegram", title="Trip")
    history.update_session("old", archived=True)
    open_("new")
    with pytest.raises(TitleConflictError) as caught:
        history.set_title("new", "trip")
    assert "archived telegram session `old`" in caught.value.message
    assert caught.value.details == {
        "title": "trip", "session_id": "old", "source": "telegram", "archived": True,
    }  # fmt: skip
    assert "hermes sessions rename old" in caught.value.hint
    assert history.session("new").title is None
    assert history.set_title("new", "Trip", dedupe=True) == "Trip #2"
    assert history.next_title("Trip") == "Trip #3"
    history.set_title("old", None)
    assert history.set_title("new", "Trip") == "Trip"


def test_a_title_moves_along_its_lineage(history, open_):
    open_("root", title="Trip")
    open_("child", at=2.0, lineage="root", parent_id="root")
    assert history.set_title("child", "Trip") == "Trip"
    assert history.session("root").title is None


def test_unknown_sessions_get_no_title(history):
    with pytest.raises(SessionNotFoundError):
        history.set_title("nobody", "x")
    assert history.transcripts.path("nobody") is None


def test_resolve_by_id_title_and_prefix_goes_to_the_newest_of_the_lineage(history, open_):
    open_("20260101_root", title="Trip")
    open_("20260102_mid", at=2.0, lineage="20260101_root", parent_id="20260101_root")
    open_("20260103_tip", at=3.0, lineage="20260101_root", parent_id="20260102_mid")
    for text in ("20260101_root", "20260102_mid", "Trip", "trip", "20260101", " Trip "):
        assert history.resolve(text).id == "20260103_tip", text


def test_a_title_means_the_most_recently_active_and_a_number_means_that_one(history, open_):
    open_("a", at=1.0, title="Trip")
    open_("b", at=2.0, title="Trip #2")
    open_("c", at=3.0, title="Trip #notes")
    history.append("a", "user", "again", timestamp=50.0)
    assert history.resolve("Trip").id == "a"
    assert history.resolve("Trip #2").id == "b"
    assert history.resolve("Trip #notes").id == "c"


def test_what_does_not_resolve(history, open_):
    open_("2026-a")
    open_("2026-b")
    with pytest.raises(SessionNotFoundError, match="2 sessions begin with"):
        history.resolve("2026")
    for text in ("nothing", "20", "", "%", "2026_"):
        with pytest.raises(SessionNotFoundError):
            history.resolve(text)


def test_resolve_stays_in_its_scope(history, open_):
    open_("mine", title="Trip", scope=Scope("user", "u1"))
    assert history.resolve("Trip", scope=Scope("user", "u1")).id == "mine"
    for text in ("Trip", "mine", "min"):
        with pytest.raises(SessionNotFoundError):
            history.resolve(text, scope=Scope("user", "u2"))
