"""What comes first, and why it says it was found."""

from __future__ import annotations

import pytest
from hermes_memory_sessions import schema
from hermes_memory_sessions.search import candidates, chosen


@pytest.fixture
def chat(shelf):
    lines = [
        ("Ana", "Hello there, long time no see"),
        ("Ben", "What did you plant in the garden this spring?"),
        ("Ana", "Mostly beans, and one fig tree"),
        ("Ben", "Nice. My brother fixes bicycles"),
        ("Ana", "The garden was flooded in winter though"),
        ("Ben", "Oh no, sorry to hear that"),
    ]
    for i, (name, text) in enumerate(lines):
        shelf.say(text, "chat", role="user" if i % 2 else "assistant", name=name)
    for i in range(30):
        shelf.say(f"unrelated remark {i} on the weather", f"other{i}")
    return shelf


def test_answer_after_a_question_is_found_without_any_of_its_words(chat):
    hits = chat.result("What did they plant in the garden?").hits
    answer = next(hit for hit in hits if "beans" in hit.content)
    assert answer.why.startswith("answers: ")
    assert hits.index(answer) < 3


def test_keywords_give_only_messages_that_have_them(chat):
    assert all("garden" in hit.content for hit in chat.result("garden").hits)
    assert all("garden" in hit.content for hit in chat.result("garden AND NOT zebra").hits)


def test_speaker_named_in_the_question_comes_first(chat):
    hits = chat.result("What did Ana say about the garden?").hits
    assert hits[0].name == "Ana"
    assert "speaker: Ana" in hits[0].why


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("what did I say about glaze?", "user"),
        ("what did you suggest about glaze?", "assistant"),
        ("我说过的 glaze", "user"),
    ],
)
def test_speaker_is_the_role_where_nobody_has_a_name(shelf, query, role):
    shelf.say("glaze is too thin", "s1", role="assistant")
    shelf.say("glaze is too thin", "s1", role="user")
    assert shelf.result(query).hits[0].role == role


def test_rarer_word_counts_more(shelf):
    for i in range(40):
        shelf.say(f"kiln note {i}", f"s{i}")
    rare = shelf.say("celadon note", "x")
    assert shelf.find("kiln celadon")[0] == rare


def test_newest_of_equals_comes_first(shelf):
    ids = [shelf.say("kiln note", f"s{i}") for i in range(5)]
    assert shelf.find("kiln") == ids[::-1]


def test_free_standing_word_before_letters_of_a_longer_one(shelf):
    embedded = shelf.say("南京市长江大桥的照片")
    free = shelf.say("市长的秘书打来电话")
    assert shelf.find("市长") == [free, embedded]


def test_phrase_before_scattered_pairs(shelf):
    scattered = shelf.say("关系数据存放在仓库里，大家都据库存填表")
    phrase = shelf.say("数据库昨晚迁移了")
    assert shelf.find("数据库") == [phrase, scattered]


def test_question_in_chinese_is_answered_by_its_content_words(shelf):
    for text in ("我们什么时候去？", "为什么呢", "这是什么"):
        shelf.say(text)
    wanted = shelf.say("网关超时是因为连接池太小")
    assert shelf.find("网关为什么超时？") == [wanted]


def test_snippet_marks_terms_and_is_bounded(shelf):
    shelf.say("filler word " * 400 + "the celadon glaze cracked " + "filler word " * 400)
    hit = shelf.result("why did the celadon crack?").hits[0]
    assert ">>>celadon<<<" in hit.snippet
    assert ">>>cracked<<<" in hit.snippet
    assert len(hit.snippet) < 360
    assert hit.content.startswith("filler")


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("预算", "项目预算的问题", "项目>>>预算<<<的问题"),
        ("軟件", "这个软件很好", "这个>>>软件<<<很好"),
        ("cafe", "the café opens", "the >>>café<<< opens"),
        ("run", "we were running", "we were >>>running<<<"),
        ("C++", "only C++ here", "only >>>C++<<< here"),
        ("nimb*", "a nimble fox", "a >>>nimble<<< fox"),
        ("kumo", "修改kumo服务端", "修改>>>kumo<<<服务端"),
    ],
)
def test_marks(shelf, query, text, marked):
    shelf.say(text)
    assert shelf.result(query).hits[0].snippet == marked


def test_why_is_short(shelf):
    shelf.say(" ".join(f"word{i}" for i in range(200)))
    hit = shelf.result(" ".join(f"word{i}" for i in range(200))).hits[0]
    assert len(hit.why) <= 200


QUESTIONS = [
    "where is the kiln door?",
    "kiln door",
    "why did the celadon glaze crack",
    "釉料 为什么开裂",
]


@pytest.mark.parametrize("query", QUESTIONS)
def test_both_ways_to_the_evidence_agree(shelf, query, monkeypatch):
    for i in range(60):
        shelf.say(f"the kiln {'door' if i % 3 else 'lid'} number {i} glaze", f"s{i // 6}")
        shelf.say(
            f"celadon cracked {i} 釉料开裂" if i % 7 == 0 else f"fine {i}",
            f"s{i // 6}",
            "assistant",
        )
    whole = shelf.find(query)
    monkeypatch.setattr(candidates, "ALL_POSTINGS", 0)
    assert shelf.find(query)[:5] == whole[:5]


def test_frequent_terms_bring_in_no_candidates_in_a_large_store(shelf, monkeypatch):
    monkeypatch.setattr(candidates, "ALL_POSTINGS", 0)
    monkeypatch.setattr(candidates, "PRUNE_FROM", 10)
    monkeypatch.setattr(chosen, "PRUNE_FROM", 10)
    monkeypatch.setattr(chosen, "PRUNED_POSTINGS", 5)
    for i in range(40):
        shelf.say(f"kiln {i}", f"s{i}")
    rare = shelf.say("kiln celadon", "rare")
    assert shelf.find("kiln celadon")[0] == rare
    # alone, the frequent term still finds its newest messages, and a filter those further down
    assert len(shelf.find("kiln")) == 5
    assert shelf.find("kiln", session_id="s0") == [1]


@pytest.mark.parametrize("query", ["glaze", "kiln", "釉料", "开裂", "nowhere", "lids"])
def test_one_word_finds_the_same_on_the_short_way(shelf, query, monkeypatch):
    for i in range(40):
        shelf.say(
            f"the {'kiln' if i % 3 else 'glaze glaze'} number {i} {'lid' * (i % 2)} {'釉料开裂' * (i % 2)}",
            f"s{i // 5}",
            "user" if i % 2 else "assistant",
        )
    shelf.index.set_state([3, 4], schema.UNDONE)
    short = shelf.find(query)
    monkeypatch.setattr(candidates, "one_word", lambda *_: None)
    assert shelf.find(query) == short
    assert bool(short) == (query != "nowhere")
