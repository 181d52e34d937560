"""The short ways of the segmenter give what the long ones do: stems, known words, traits; hits made later."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
import subprocess
import sys

import pytest
import snowballstemmer
from hermes_memory_sessions import schema
from hermes_memory_sessions.search import segmenter
from hermes_memory_sessions.search.irregular import FORMS
from hermes_memory_sessions.search.segmenter import entry, segment, traits
from hermes_memory_sessions.search.stems import stem
from hermes_memory_sessions.search.vocabulary import Vocabulary

from hermes_memory_core.types import Hit

ENDINGS = (
    "", "s", "es", "ies", "ed", "eed", "ing", "ingly", "edly", "ly", "li", "ity", "iti", "ogi", "ology", "ization",
    "ational", "tional", "alism", "ism", "ic", "ical", "ate", "ative", "ful", "fulness", "ness", "ous", "ment", "ent",
    "ant", "ance", "er", "or", "ator", "able", "ible", "al", "ll", "e", "y", "ion", "ize",
)  # fmt: skip


def test_words_without_an_english_ending_are_left_alone_by_snowball_too():
    rng = random.Random(4)
    plain = snowballstemmer.stemmer("english").stemWord
    for _ in range(6000):
        word = "".join(rng.choices("etaoinsrhldcumfpgwybvkxjqz", k=rng.randrange(3, 9)))
        word += rng.choice(ENDINGS)
        if word not in FORMS:
            assert stem(word) == plain(word), word


TEXTS = [
    "I parked the car; the HTTPServer in C++ and C# said don't, l'eau",
    "See you on Monday's walk at 12:30, the 5th, or in 2019",
    "préféré naïve Straße ½ ﬁne 東京都の預算は？ 한국어를 สวัสดี 👍 iPhone",
    "Wir haben gestern die Häuser am See besichtigt und waren nicht allein",
    "key=" + "x" * 90 + " snake_case foo.bar@example.com",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_to_a_new_vocabulary_and_to_one_that_knows_it(text, monkeypatch):
    monkeypatch.setattr(segmenter, "_known", Vocabulary(segmenter._word))
    first = entry(text)
    assert entry(text) == first
    assert segment(text) == first.tokens
    assert traits(text) == first.traits
    assert first.tokens.split(" ")[0]


def test_a_full_vocabulary_is_begun_anew(monkeypatch):
    monkeypatch.setattr("hermes_memory_sessions.search.vocabulary.MOST_WORDS", 50)
    monkeypatch.setattr(segmenter, "_known", Vocabulary(segmenter._word))
    for number in range(200):
        assert segment(f"kiln{number} glazes") == f"kiln{number} glaze"
    assert len(segmenter._known) <= 60


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("we met last week", schema.TEMPORAL),
        ("today's bread", schema.TEMPORAL),
        ("it may rain", 0),
        ("at 9:05 then", schema.TEMPORAL),
        ("is it done?", schema.QUESTION),
        ("see /path?x=1", 0),
        ("去年买的", schema.TEMPORAL),
        ("昨日どこにいましたか。いますか", schema.QUESTION | schema.TEMPORAL),
    ],
)
def test_traits(text, bits):
    assert entry(text).traits == traits(text) == bits


def test_a_hit_is_a_plain_value_whenever_it_is_made(shelf):
    shelf.say("the green kiln")
    hit = shelf.result("kiln").hits[0]
    again = shelf.result("kiln").hits[0]
    as_plain = Hit(**dataclasses.asdict(hit))
    assert hit.snippet == "the green >>>kiln<<<"
    assert hit.why == "terms: kiln"
    assert hit == again == as_plain
    assert hash(hit) == hash(again)
    assert pickle.loads(pickle.dumps(again)) == as_plain
    assert copy.copy(hit) == as_plain
    assert dataclasses.replace(hit, score=1.0).snippet == hit.snippet
    assert "snippet='the green" in repr(hit)


def test_the_engine_is_not_imported_before_it_is_used():
    code = (
        "import sys, hermes_memory_sessions as s; from hermes_memory_sessions import search; "
        "names = [n for n in sys.modules if n.startswith('hermes_memory_sessions.search.')]; "
        "assert not names, names; assert search.Index and search.search"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_an_unknown_name_of_the_engine_is_said_so():
    from hermes_memory_sessions import search

    with pytest.raises(AttributeError, match="nothing_like_it"):
        search.nothing_like_it  # noqa: B018
