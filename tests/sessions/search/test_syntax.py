"""AND, OR, NOT, phrases, prefixes and groups mean the same in every script."""

from __future__ import annotations

import pytest
from hermes_memory_sessions.search import parse


@pytest.fixture
def kitchen(shelf):
    shelf.ids = {
        "oven": shelf.say("the oven is broken"),
        "door": shelf.say("the door is painted"),
        "both": shelf.say("the oven door squeaks"),
        "apart": shelf.say("a door far from any oven"),
        "chinese": shelf.say("烤箱的集群部署"),
        "mixed": shelf.say("docker 部署在烤箱旁边"),
    }
    return shelf


CASES = [
    ("oven", {"oven", "both", "apart"}),
    ("oven door", {"oven", "door", "both", "apart"}),
    ("oven AND door", {"both", "apart"}),
    ("oven OR painted", {"oven", "both", "apart", "door"}),
    ("oven NOT door", {"oven"}),
    ("oven AND NOT door", {"oven"}),
    ('"oven door"', {"both"}),
    ('"door oven"', set()),
    ('"oven door" OR painted', {"both", "door"}),
    ("(oven OR painted) AND door", {"both", "apart", "door"}),
    ("oven AND (squeaks OR broken)", {"oven", "both"}),
    ("pain*", {"door"}),
    ("pain* AND door", {"door"}),
    ("door NOT pain*", {"both", "apart"}),
    ("oven NOT (door OR broken)", set()),
    ("the AND squeaks", {"both"}),
    ("集群部署", {"chinese"}),
    ("集群部署 OR docker", {"chinese", "mixed"}),
    ("部署 AND docker", {"mixed"}),
    ("部署 NOT docker", {"chinese"}),
    ("部署 NOT 集群", {"mixed"}),
    ("“集群部署” OR docker", {"chinese", "mixed"}),
    ("烤箱 AND (docker OR 集群)", {"chinese", "mixed"}),
    ("oven OR 集群", {"oven", "both", "apart", "chinese"}),
    ("烤*", {"chinese", "mixed"}),
]


@pytest.mark.parametrize(("query", "names"), CASES, ids=[query for query, _ in CASES])
def test_operator(kitchen, query, names):
    assert set(kitchen.find(query)) == {kitchen.ids[name] for name in names}


@pytest.mark.parametrize(("query", "names"), CASES, ids=[query for query, _ in CASES])
def test_operator_means_the_same_where_postings_are_many(kitchen, query, names, monkeypatch):
    # the second way to the evidence (best candidates, then their text) is taken from the first posting on
    monkeypatch.setattr("hermes_memory_sessions.search.candidates.ALL_POSTINGS", 0)
    assert set(kitchen.find(query)) == {kitchen.ids[name] for name in names}


def test_more_of_the_words_come_first(kitchen):
    assert kitchen.find("oven door")[0] == kitchen.ids["both"]


def test_function_words_count_when_there_is_nothing_else(kitchen):
    assert kitchen.find("the")
    assert set(kitchen.find("the oven")) == set(kitchen.find("oven"))


def test_word_of_several_parts_prefers_them_in_a_row(shelf):
    row = shelf.say("restart the cache-buster")
    apart = shelf.say("the buster of every cache")
    shelf.say("cache only")
    assert shelf.find("cache-buster")[:2] == [row, apart]
    assert shelf.find("restart AND cache-buster") == [row]
    assert shelf.find("every AND cache-buster") == []
    assert set(shelf.find("buster NOT cache-buster")) == {apart}


def test_phrase_is_not_found_across_a_gap_of_camel_case_parts(shelf):
    shelf.say("zebra YouTube")
    assert shelf.find('"zebra you"') == []
    assert shelf.find('"zebra youtube"') == [1]


@pytest.mark.parametrize(
    "query", ["((((a))))", "a AND (b", "()", ") (", "(a OR b) AND (c NOT (d OR e))", "AND OR NOT"]
)
def test_parenthesis_never_raises(kitchen, query):
    kitchen.result(query)


def test_depth_is_bounded():
    deep = "(a OR " * 200 + "b" + ")" * 200
    query = parse(deep)
    assert query.node is not None
    assert query.warnings
