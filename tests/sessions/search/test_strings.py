"""Every kind of string finds the message that holds it (cases B01 to B07), whatever stands around it."""

from __future__ import annotations

import pytest

NOISE = [
    "Lunch was fine and the tram came on time.",
    "今天的天气很好，我们去散步。",
    "The heater hums at night.",
    "昼ごはんを食べました。",
    "점심을 먹었습니다.",
]

FINDS = [
    ("cache-buster", "I fixed the cache-buster bug this morning"),
    ("-cache", "I fixed the cache-buster bug this morning"),
    ("cache -buster", "I fixed the cache-buster bug this morning"),
    ("grocery-list OR typo", "the grocery-list still lacks lentils"),
    ("TODO: call", "TODO: call the vendor about hinges"),
    ("todo:", "TODO: call the vendor about hinges"),
    ("error:timeout", "the log says error:timeout again"),
    ("http://example.org", "see http://example.org for the form"),
    ("10:30", "the dentist is at 10:30"),
    ("src/app.py", "open src/app.py and scroll down"),
    ('scripts/"deploy.sh"', "run scripts/deploy.sh first"),
    ("tools/run.sh", "run tools/run.sh after that"),
    ("kim@example.org", "write to kim@example.org about it"),
    ('user@"example.org"', "write to user@example.org about it"),
    ("don't", "please don't repaint the door"),
    ("dont", "please don't repaint the door"),
    ("75%", "the tank is at 75% now"),
    ("61.2%", "coverage fell to 61.2%"),
    ("#42", "ticket #42 is still open"),
    ("$9", "the ticket costs $9"),
    ("a,b", "split a,b into columns"),
    ("ready?", "is the oven ready? not yet"),
    ("C++", "the parser is written in C++"),
    ("c#", "the plugin is C# code"),
    ("[tag]", "mark it with [tag] please"),
    ("v2.1.3-beta", "we shipped v2.1.3-beta yesterday"),
    ('"half quoted', "it was only half quoted there"),
    ("AND", "AND is an operator"),
    ("NOT x", "NOT x is how they write it"),
    ("NEAR(", "NEAR( was typed by mistake"),
    ("NEAR(oven door, 5)", "the door of the oven is stuck"),
    ("*", "bullet points start with * here"),
    ("nimb*", "a nimble fox"),
    ("nimble*", "nimbler than before"),
    ("runni*", "she is running late"),
    ("-", "a lone - between words"),
    ("a_b", "rename a_b to width"),
    ("100%", "it is 100% wool"),
    ("预算", "上周讨论了项目预算的问题"),
    ("项目预算", "上周讨论了项目预算的问题"),
    ("预算*", "上周讨论了项目预算的问题"),
    ("上海 OR 苏州 OR 高铁", "苏州的园林值得一看"),
    ("出張", "東京出張の予定を立てた"),
    ("회의록", "회의록을 정리했다"),
    ("회의록을", "회의록이 없어졌다"),
    ("kumo", "修改kumo服务端的端口"),
    ("修改kumo服务端", "修改kumo服务端的端口"),
    ("ab", "오류코드ab확인"),
    ("ก๋วยเตี๋ยว", "เมื่อวานกินก๋วยเตี๋ยวร้านใหม่"),
    ("🎉", "release day 🎉🎉"),
    ("👩‍💻", "she is a 👩‍💻 by trade"),
    ("café", "the cafe\u0301 by the canal"),
    ("cafe\u0301", "the café by the canal"),
    ("CAFE", "the café by the canal"),
    ("ＡＰＩ　ｋｅｙ", "the API key expired"),
    ("API", "ＡＰＩが落ちた"),
    ("ﾊﾞｯｸｱｯﾌﾟ", "バックアップは毎晩です"),
    ("資料庫遷移", "数据库和资料库迁移，资料库遷移脚本"),
    ("软件", "這個軟件很好用"),
    ("軟件", "这个软件很好用"),
    ("getUserName", "call getUserName() in the hook"),
    ("getusername", "call getUserName() in the hook"),
    ("user_name", "set user_name before login"),
    ("get_user_name", "call getUserName() in the hook"),
    ("Straße", "die STRASSE ist gesperrt"),
    ("ёлка", "мы купили елку"),
    ("हिन्दी", "हिन्दी की किताब"),
    ("Caroline's", "Caroline painted the fence"),
    ("children", "my child is ill"),
    ("went", "we go to the lake"),
]


@pytest.mark.parametrize(("query", "text"), FINDS, ids=[query for query, _ in FINDS])
def test_string_finds_its_message_first(shelf, query, text):
    for line in NOISE:
        shelf.say(line)
    wanted = shelf.say(text)
    assert shelf.find(query)[:1] == [wanted]


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "\x00", "zzzunknown", "預言者XQZ"])
def test_nothing_to_find_is_an_honest_nothing(shelf, query):
    shelf.say("Lunch was fine.")
    assert shelf.result(query).hits == []


def test_query_of_signs_alone_says_that_it_looked_for_signs(shelf):
    wanted = shelf.say("arrow => here")
    result = shelf.result("=>")
    assert [hit.message_id for hit in result.hits] == [wanted]
    assert result.hits[0].snippet == "arrow >>>=><<< here"
    assert any("signs" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ('"open oven', "quotation mark"),
        ("oven AND", "AND"),
        ("OR oven", "OR"),
        ("(oven OR (door", "parentheses"),
        ("NEAR(oven door)", "NEAR"),
        ("oven " * 30_000, "100,000"),
        (" ".join(f"w{i}" for i in range(900)) + " oven", "400 terms"),
    ],
)
def test_ignored_syntax_is_reported(shelf, query, word):
    shelf.say("the oven door and w1")
    result = shelf.result(query)
    assert result.hits
    assert any(word in warning for warning in result.warnings), result.warnings


def test_no_warning_for_plain_words(shelf):
    shelf.say("the oven door")
    assert shelf.result("where is the oven door?").warnings == []


def test_words_of_a_tool_call_can_be_found(shelf):
    calls = '[{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"\\u9884\\u7b97.txt\\"}"}}]'
    wanted = shelf.say("", role="assistant", tool_calls=calls)
    other = shelf.say("done", role="tool", tool_name="spreadsheet_opener")
    assert shelf.find("预算") == [wanted]
    assert shelf.find("spreadsheet_opener") == [other]


def test_lone_surrogate_is_stored_and_searched(shelf):
    wanted = shelf.say("bad \ud83d tail")
    assert shelf.find("tail \ud83d") == [wanted]
