from __future__ import annotations

import json
import struct
import zipfile

import pytest
from hermes_memory_sessions.importers import chatgpt
from hermes_memory_sessions.importers.timeline import NOTE_NEIGHBOUR

T = 1770200000.0


def node(parent, children=(), role=None, text=None, at=T, **message):
    body = None
    if role:
        content = {"content_type": "text", "parts": [text]}
        body = {"author": {"role": role}, "content": content, "create_time": at, **message}
    return {"parent": parent, "children": list(children), "message": body}


def chat(nodes, current, **fields):
    return {"title": "t", "conversation_id": "c", "create_time": T, "mapping": nodes,
            "current_node": current, **fields}  # fmt: skip


def test_the_branch_the_person_sees(read, data):
    got = read(data / "chatgpt" / "conversations.json")
    soup, voice = got.conversations
    assert (soup.origin_key, soup.title, soup.model) == (
        "chatgpt:c-lantern", "Lantern festival soup", "gpt-test-5",
    )  # fmt: skip
    assert (soup.started_at, soup.ended_at, soup.archived) == (1770200000.5, 1770200600.5, True)
    assert [(message.role, message.content) for message in soup.messages] == [
        ("user", "What is in this bowl? 这碗里是什么？\n\n[1 image]"),
        ("assistant", ""),
        ("tool", "8"),
        ("assistant", "Eight tangyuan in ginger soup. 八个汤圆。"),
    ]
    assert soup.messages[1].tool_calls[0]["function"] == {
        "name": "python", "arguments": "count('汤圆')",
    }  # fmt: skip
    assert soup.messages[2].tool_call_id == soup.messages[1].tool_calls[0]["id"]
    assert soup.notes == (NOTE_NEIGHBOUR,)
    assert got.reasons == {
        "custom instructions (not part of the conversation)": 1,
        "thinking (not imported)": 1,
        "another branch (edited question or regenerated answer)": 1,
    }
    assert voice.messages[0].content == "Remind me of the kite knots.\n\n[1 audio clip]"


def test_one_conversation_by_itself(read, write):
    value = chat({"a": node(None, ["b"], "user", "hi"), "b": node("a", [], "assistant", "ho")}, "b")
    assert read(write("one.json", value, lines=False)).texts == [
        ("user", "hi"),
        ("assistant", "ho"),
    ]


@pytest.mark.parametrize("current", [None, "gone", 5, ["b"], {}])
def test_without_a_current_message_the_latest_branch(current, read, write):
    nodes = {
        "a": node(None, ["b", "c"], "user", "hi"),
        "b": node("a", [], "assistant", "late", T + 9),
        "c": node("a", [], "assistant", "early", T + 1),
    }
    got = read(write("x", [chat(nodes, current)], lines=False))
    assert [text for _, text in got.texts] == ["hi", "late"]
    assert got.reasons["no current message named: the latest branch was taken"] == 1


@pytest.mark.parametrize(
    "nodes",
    [
        {"a": node("b", ["b"], "user", "hi"), "b": node("a", ["a"], "assistant", "ho")},
        {"a": node("a", ["a"], "user", "hi"), "b": node("a", [], "assistant", "ho")},
    ],
)
def test_a_tree_that_bites_its_tail_ends(nodes, read, write):
    got = read(write("x", [chat(nodes, "b")], lines=False))
    assert [text for _, text in got.texts] == ["hi", "ho"]
    assert got.reasons == {"cyclic message tree, cut where it repeats": 1}


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_very_long_branch(read, write):
    nodes = {str(n): node(str(n - 1) if n else None, [], "user", f"m{n}") for n in range(20_000)}
    got = read(write("x", [chat(nodes, "19999")], lines=False))
    assert len(got.one.messages) == 20_000


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "code", "language": "unknown", "text": "x = 1"}, "x = 1"),
        ({"content_type": "execution_output", "text": "8"}, "8"),
        ({"content_type": "tether_quote", "title": "Tea", "text": "green", "url": "u"}, "Tea\ngreen\nu"),
        ({"content_type": "tether_browsing_display", "result": "found"}, "found"),
        ({"content_type": "system_error", "name": "E", "text": "broke"}, "broke"),
        ({"content_type": "multimodal_text", "parts": ["a", {"content_type": "image_asset_pointer"}, None]}, "a\n\n[1 image]"),
        ({"content_type": "new_kind", "data": {"茶": 1}}, '{"data": {"茶": 1}}'),
        ("bare text", "bare text"),
    ],
)  # fmt: skip
def test_kinds_of_content(content, text, read, write):
    nodes = {"a": node(None, [], "assistant", None, content=content)}
    assert read(write("x", [chat(nodes, "a")], lines=False)).texts == [("assistant", text)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"author": None}, "unknown role null"),
        ({"author": {"role": "ghost"}}, "unknown role 'ghost'"),
        (
            {"content": {"content_type": "reasoning_recap", "content": "x"}},
            "thinking (not imported)",
        ),
        ({"channel": "analysis"}, "thinking (not imported)"),
        ({"metadata": {"is_visually_hidden_from_conversation": True}}, "hidden by the program"),
        ({"content": {"content_type": "image_thing"}}, "no text in content of type 'image_thing'"),
    ],
)
def test_messages_that_are_left_out(message, reason, read, write):
    nodes = {"a": node(None, ["b"], "user", "hi"), "b": node("a", [], "assistant", "x", **message)}
    got = read(write("x", [chat(nodes, "b")], lines=False))
    assert [text for _, text in got.texts] == ["hi"]
    assert got.reasons == {reason: 1}


@pytest.mark.parametrize("tree", [None, [], "tree", 5])
def test_a_tree_that_is_none_is_named(tree, read, write):
    good = chat({"a": node(None, [], "user", "hi")}, "a")
    got = read(write("x", [good, {**good, "mapping": tree}, None, "x"], lines=False))
    assert got.texts == [("user", "hi")]
    assert sum(got.reasons.values()) == 3


def test_nodes_that_are_none(read, write):
    nodes = {
        "a": None,
        "b": node("a", [], "user", "hi"),
        "c": 5,
        "d": {"message": 7, "parent": "b"},
    }
    got = read(write("x", [chat(nodes, "d")], lines=False))
    assert [text for _, text in got.texts] == ["hi"]


def test_the_zip_as_it_comes(read, data, tmp_path):
    path = tmp_path / "export.zip"
    text = (data / "chatgpt/conversations.json").read_text("utf-8")
    first, second = json.loads(text)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr("user.json", "{}")
        archive.writestr("conversations-000.json", json.dumps([first]))
        archive.writestr("conversations-001.json", json.dumps([second]))
    got = read(path)
    assert [one.origin_key for one in got.conversations] == ["chatgpt:c-lantern", "chatgpt:c-voice"]


def test_a_zip_bomb_is_refused_before_it_is_unpacked(read, tmp_path, monkeypatch):
    monkeypatch.setattr(chatgpt, "SMALL_MEMBER_BYTES", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + " " * (8 << 20) + "]")
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was unpacked"))
    assert read(path).reasons == {"zip would unpack to an absurd size": 1}


def test_a_zip_that_lies_about_its_size_gives_no_more_than_it_said(read, tmp_path):
    path = tmp_path / "liar.zip"
    value = [chat({"a": node(None, [], "user", "hi")}, "a")]
    text = json.dumps(value) + " " * (4 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", text)
    raw = path.read_bytes()
    size, lie = struct.pack("<L", len(text)), struct.pack("<L", 64)
    path.write_bytes(raw.replace(size, lie))
    got = read(path)
    assert not got.conversations
    assert got.skipped


def test_damaged_and_encrypted_zips(read, data, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(data / "chatgpt/conversations.json", "conversations.json")
    raw = bytearray(path.read_bytes())
    middle = bytearray(raw)
    middle[200:260] = b"\xff" * 60
    path.write_bytes(middle)
    assert any("damaged zip" in reason for reason in read(path).reasons)
    central = raw.rindex(b"PK\x01\x02")
    raw[6] |= 1
    raw[central + 8] |= 1
    path.write_bytes(raw)
    assert read(path).reasons == {"zip is encrypted": 1}
