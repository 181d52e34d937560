"""No string raises, in any place a person can type one."""

from __future__ import annotations

import sqlite3

import pytest
from hermes_memory_sessions import schema
from hermes_memory_sessions.search import Filters, Index, MessageRow, parse, search, segment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_core.errors import UsageError

from .conftest import NOW

SIGNS = st.sampled_from(
    list("\"()*-+:^{}[]<>|~&;,.!?#@$%/\\'_=「」“”《》 \t\n\x00\ud83d\u200d\ufe0f")
)
WORDS = st.sampled_from(
    [
        "oven",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "NEAR(",
        "烤箱",
        "です",
        "회의록",
        "ก๋วย",
        "café",
        "é",
        "👩\u200d💻",
        "C++",
        "v1.2",
        "a_b",
        "fooBar",
        "don't",
    ]
)
QUERIES = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(SIGNS, WORDS), max_size=40).map("".join),
    st.lists(st.one_of(SIGNS, WORDS), max_size=40).map(" ".join),
)


@pytest.fixture(scope="module")
def db():
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(db)
    db.execute("INSERT INTO sessions (key, id) VALUES (1, 's')")
    texts = [
        "the oven is hot",
        "烤箱です",
        "회의록 café C++ v1.2 a_b fooBar don't 👩‍💻 ก๋วย",
        '"*()',
    ]
    Index(db).add(MessageRow(i, 1, "user", text, NOW) for i, text in enumerate(texts, 1))
    yield db
    db.close()


@pytest.mark.slow
@pytest.mark.timeout(60)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=QUERIES, sort=st.sampled_from(["relevance", "newest"]))
def test_any_query(db, query, sort):
    result = search(db, query, Filters(sort=sort), now=NOW)
    assert all(hit.why and hit.content is not None for hit in result.hits)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_found_by_its_own_words(text):
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        schema.create(db)
        db.execute("INSERT INTO sessions (key, id) VALUES (1, 's')")
        index = Index(db)
        index.add([MessageRow(1, 1, "user", text, NOW)])
        if segment(text):
            assert [hit.message_id for hit in search(db, text, now=NOW).hits] == [1]
        assert index.check() == []
        index.remove([1])
        assert db.execute("SELECT count(*) FROM index_terms").fetchone()[0] == 0
    finally:
        db.close()


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=60), st.floats(allow_nan=False, allow_infinity=False)))
def test_any_time_is_understood_or_refused(db, value):
    try:
        search(db, "oven", Filters(since=value, until=value), now=NOW)
    except UsageError as error:
        assert error.message


LONG = [
    "(",
    ")",
    '"',
    "a ",
    "「",
    "」「",
    "NEAR(a ",
    "a AND ",
    "NOT ",
    "烤",
    "烤 OR ",
    "x.y-",
    "é",
    "((a OR b) AND ",
]


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("piece", LONG)
def test_a_hundred_thousand_characters(db, piece):
    query = (piece * 100_000)[:100_000] + " oven"
    parse(query)
    search(db, query, now=NOW)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_pasted_text_finds_what_it_was_taken_from(db):
    pasted = " ".join(f"lorem{i} ipsum" for i in range(10_000))[:99_000]
    assert search(db, "the oven is hot " + pasted, now=NOW).hits[0].message_id == 1
