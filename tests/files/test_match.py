from __future__ import annotations

import unicodedata

import pytest
from hermes_memory_files.document import note_id
from hermes_memory_files.match import closest, find, fold, key_of, similarity, too_short
from hypothesis import given
from hypothesis import strategies as st

ENTRIES = (
    "User prefers dark mode in all editors",
    "User prefers tea",
    "Dark mode hurts on the train",
    "部署脚本在 deploy 目录",
)


def test_a_whole_entry_beats_longer_ones_that_contain_it():
    (match,) = find(("tea", "green tea", "tea with milk"), " tea ")
    assert (match.index, match.how) == (0, "entry")


def test_an_id_names_its_entry():
    (match,) = find(ENTRIES, note_id(ENTRIES[2]))
    assert (match.index, match.how) == (2, "id")


def test_a_fragment_finds_all_entries_that_hold_it():
    assert [match.index for match in find(ENTRIES, "User prefers")] == [0, 1]
    assert [match.index for match in find(ENTRIES, "deploy 目录")] == [3]


def test_exact_case_is_tried_before_folded_case():
    assert [match.index for match in find(ENTRIES, "dark mode")] == [0]
    assert [match.index for match in find(ENTRIES, "DARK MODE")] == [0, 2]


@pytest.mark.parametrize(
    "needle",
    [
        "prefers dark mode",
        "PREFERS DARK MODE",
        "prefers\ndark  mode",
        "prefers dark\u200b mo\u200dde",
        "\ufeffPrefers dark mode\u2060",
    ],
)
def test_second_chance_ignores_spaces_case_and_invisible_characters(needle):
    entry = "She  Prefers  dark\u200b mode."
    (match,) = find((entry, "other"), needle)
    assert match.how == "loose"
    start, end = match.spans[0]
    assert key_of(entry[start:end]) == "prefers dark mode"


@pytest.mark.parametrize("word", ["café", "Ångström", "한국어", "naïve Zoë"])
def test_composed_and_decomposed_text_meet(word):
    for stored, asked in [("NFC", "NFD"), ("NFD", "NFC")]:
        entry = "likes " + unicodedata.normalize(stored, word) + " a lot"
        (match,) = find((entry,), unicodedata.normalize(asked, word).upper().lower())
        start, end = match.spans[0]
        assert key_of(entry[start:end]) == key_of(word)


def test_every_occurrence_counts_even_overlapping_ones():
    (match,) = find(("aaa",), "aa")
    assert len(match.spans) == 2


@given(st.text(max_size=40))
def test_folding_keeps_the_way_back(text):
    folded = fold(text)
    assert len(folded.text) == len(folded.spans)
    assert all(0 <= start < end <= len(text) for start, end in folded.spans)
    assert [start for start, _ in folded.spans] == sorted(start for start, _ in folded.spans)


@given(st.text(min_size=1, max_size=40))
def test_an_entry_is_always_found_by_its_own_text(text):
    entry = text.strip()
    if entry:
        assert find((entry,), entry)[0].index == 0


@pytest.mark.parametrize(
    ("needle", "entry", "short"),
    [
        ("a", "beta two", True),
        ("to", "beta two four", True),
        ("two", "beta two", False),
        ("go", "go 1.22", True),
        ("猫", "家里有两只猫和一条狗", True),
        ("两只", "家里有两只猫和一条狗", False),
        ("k", "k9", False),
        ("...", "a long entry...", True),
    ],
)
def test_what_is_too_short_to_choose_an_entry(needle, entry, short):
    assert too_short(needle, entry) is short


def test_closest_entries_are_the_similar_ones_best_first():
    assert closest(ENTRIES, "prefers light mode in editors")[0] == ENTRIES[0]
    assert closest(ENTRIES, "部署 脚本")[0] == ENTRIES[3]
    assert closest(ENTRIES, "qqq zzz xxx") == []
    assert len(closest([f"user likes number {n}" for n in range(30)], "user likes numbers")) == 5


@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_stays_within_its_bounds(one, other):
    assert 0.0 <= similarity(key_of(one), key_of(other)) <= 1.0
