"""Names out of a conversation's own words: many languages, no greetings, addresses, code or secrets, never long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_core.learning.extract import (
    DENSE_CHARS,
    MAX_CHARS,
    MOST_WORDS,
    extract_title,
    is_dense,
)


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("How do I rename a branch in git?", "Rename a branch in git"),
        ("Hello! Can you please help me plan a trip to Lisbon?", "Plan a trip to Lisbon"),
        ("Hi there, what's the difference between TCP and UDP?", "The difference between TCP and UDP"),
        ("why is the sky blue", "Why is the sky blue"),
        ("Quick question. What are good names for a cat?", "Good names for a cat"),
        (
            "Please plan a trip to Lisbon in May with my sister and her two kids",
            "Plan a trip to Lisbon in May",
        ),
        (
            "I have been trying to get my raspberry pi to connect to wifi since yesterday but it fails",
            "Raspberry pi to connect to wifi",
        ),
        (
            "My laptop shows a blue screen when I plug in the second monitor, any idea?",
            "Laptop shows a blue screen",
        ),
        ("Let's talk about my grandmother's apple pie recipe", "My grandmother's apple pie recipe"),
        ("numpy.array is slower than a list", "numpy.array is slower than a list"),
        ("Docker", "Docker"),
        ("Kannst du mir bitte die Steuererklärung für 2025 erklären?", "Die Steuererklärung für 2025 erklären"),
        ("Peux-tu m'aider à corriger mon CV en français ?", "Corriger mon CV en français"),
        ("¿Puedes explicarme el motor de un coche?", "Explicarme el motor de un coche"),
        ("Olá! Preciso de ajuda com a declaração de imposto", "Ajuda com a declaração de imposto"),
        ("Привет! Помоги мне настроить роутер дома", "Настроить роутер дома"),
        ("كيف يمكنني تعلم اللغة الإنجليزية بسرعة؟", "تعلم اللغة الإنجليزية بسرعة"),
        ("你好，请帮我写一份上周项目预算会议的总结，谢谢", "写一份上周项目预算会议的总结"),
        ("请问明天北京的天气怎么样？", "明天北京的天气怎么样"),
        ("上海到苏州的高铁票怎么买", "上海到苏州的高铁票怎么买"),
        ("東京出張の予定を教えてください", "東京出張の予定"),
        ("こんにちは。非同期処理の書き方について教えてください", "非同期処理の書き方"),
        ("회의록을 정리해 주세요", "회의록을 정리"),
        ("안녕하세요, 부산 출장 일정표를 알려 주세요", "부산 출장 일정표"),
        ("สวัสดีครับ ช่วยแปลเอกสารนี้หน่อยครับ", "แปลเอกสารนี้"),
    ],
)  # fmt: skip
def test_the_matter_without_what_stands_around_it(message, title):
    assert extract_title(message) == title


@pytest.mark.parametrize(
    "message",
    [
        "", " \n ", "hi", "Hello!", "thanks a lot", "ok", "你好", "谢谢！", "おはようございます", "안녕하세요", "สวัสดีครับ", "привет",
        "👍👍", "???", "...", "[1 image]", "https://example.org/a?b=c", "kim@example.org", "```\nprint(1)\n```",
        "a" * 300, "«redacted:github-token»", "please", "帮我", "can you help me?",
    ],
)  # fmt: skip
def test_nothing_to_name_it_after(message):
    assert extract_title(message) is None


@pytest.mark.parametrize(
    ("message", "kept", "left_out"),
    [
        ("Fix the login bug in /home/kim/work/auth/session.py", "session.py", "kim"),
        (r"Open C:\Users\kim\plans\budget.xlsx and check the totals", "budget.xlsx", "Users"),
        ("Summarise https://example.org/x?token=abc for the board", "board", "example"),
        ("Write to kim@example.org about the lease", "lease", "@"),
        ("The key «redacted:github-token» fails on the server", "fails", "redacted"),
        ("Why does this crash?\n```python\nsecret_name = 1\n```", "crash", "secret_name"),
        ("Explain this\n```\nunclosed = True", "Explain", "unclosed"),
        ("# Plan\n\n- book the **hotel** in Rome", "hotel", "*"),
        ("Read [the guide](https://example.org/g) for beginners", "guide", "example"),
        ("<b>Compare</b> the two contracts", "Compare", "<"),
        ("Translate the letter 🎉🎉 into Danish", "letter", "🎉"),
    ],
)
def test_addresses_folders_code_and_markup_are_left_out(message, kept, left_out):
    title = extract_title(message)
    assert kept in title
    assert left_out not in title


@pytest.mark.parametrize(
    "message",
    [
        "我想了解一下如何用 Docker 部署 PostgreSQL 数据库集群并且做好每天的自动备份和监控报警",
        "สวัสดีครับ ช่วยวางแผนเที่ยวเชียงใหม่สามวันสองคืนให้หน่อยครับ",
        "来月の東京から大阪までの新幹線の予約と宿泊先の比較を一覧にまとめてほしいのですが",
        "다음 주에 있을 부산 출장 일정표와 예산안을 표로 만들어서 팀장님께 보낼 메일도 작성해 주세요",
    ],
)
def test_where_words_are_not_spaced_characters_are_counted_and_none_is_torn(message):
    title = extract_title(message)
    assert 4 <= len(title) <= DENSE_CHARS
    rest = message[message.index(title) + len(title) :]
    import unicodedata

    assert unicodedata.category(rest[0]) not in ("Mn", "Mc")
    assert not (
        title[-1].isascii() and title[-1].isalnum() and rest[0].isascii() and rest[0].isalnum()
    )


def test_long_sentences_become_seven_words_and_do_not_end_on_a_function_word():
    title = extract_title(
        "The quarterly report of the northern sales office for the customers of the largest region in Norway"
    )
    words = title.split()
    assert 3 <= len(words) <= MOST_WORDS
    assert words[-1] not in ("the", "of", "for")


def test_a_long_word_is_clipped_and_brackets_stay_whole():
    assert (
        extract_title("Explain " + "(" * 5 + "parsers and lexers") == "Explain parsers and lexers"
    )
    long_words = " ".join("abcdefghijklmnopqrstuvwxyz"[:26] for _ in range(5))
    assert len(extract_title(long_words)) <= MAX_CHARS


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=400)
    | st.text(alphabet="hi /\\.:@<>[](){}`~#*-_ a1你の한ส\n\u200b\ud83d", max_size=400)
)
def test_any_text_gives_a_short_clean_line_or_nothing(text):
    title = extract_title(text)
    if title is not None:
        assert 0 < len(title) <= MAX_CHARS
        assert title == " ".join(title.split())
        assert "\n" not in title
        assert any(character.isalnum() for character in title)
        if is_dense(title):
            assert len(title) <= DENSE_CHARS
        else:
            assert len(title.split()) <= MOST_WORDS


@pytest.mark.parametrize(
    "part",
    [
        "/",
        "a/",
        "a.",
        "a@",
        "a@b.",
        "[",
        "<a",
        "](",
        "```",
        "hi ",
        "你好",
        "...",
        "«redacted:",
        "~/.",
        "C:\\",
    ],
)
def test_no_text_takes_long(part):
    extract_title(part * 100_000)
