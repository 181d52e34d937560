"""The same promises against a real server at ``HONCHO_URL``; a workspace of its own each run."""

import os
import time
import uuid

import pytest
from rig import Rig, call, recall, session

from hermes_memory_core.types import MemoryRecord

URL = os.environ.get("HONCHO_URL")
pytestmark = [
    pytest.mark.live,
    pytest.mark.enable_socket,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not URL, reason="HONCHO_URL names no server"),
]


class Place:
    url = URL


@pytest.fixture
def live(tmp_path):
    rig = Rig(Place(), tmp_path)
    rig.clock.now = time.time()
    key = os.environ.get("HONCHO_KEY")
    one = rig.provider(
        workspace=f"hm-test-{uuid.uuid4().hex[:12]}", **({"api_key": key} if key else {})
    )
    yield rig, one
    rig.close()


def stored(one, name="s1"):
    return [message.content for message in one.parts.server.messages(name)]


def test_health(live):
    assert live[1].health().ok


def test_a_turn_arrives_once(live):
    rig, one = live
    turn = rig.turn(session(), "I like green tea.")
    for _ in range(2):
        one.sync_turn(session(), turn)
    assert stored(one) == ["I like green tea.", "Noted."]


def test_search_finds_an_earlier_batch_and_another_session(live):
    rig, one = live
    for info in (session(), session("s2")):
        for text in ("My boat is called Marie.", "The office moved to Lyon."):
            one.sync_turn(info, rig.turn(info, text))
    assert "Marie" in call(one, session(), "honcho_search", query="boat Marie")["result"]


def test_flags_really_change(live):
    rig, one = live
    one.sync_turn(session(), rig.turn(session(), "hi"))
    other = rig.provider(workspace=one.settings.workspace, observation_mode="unified")
    other.sync_turn(session(), rig.turn(session(), "hi"))
    handle = other.parts.server.sdk.session("s1")
    found = handle.get_peer_configuration("user")
    assert (found.observe_me, found.observe_others) == (True, False)


def test_conclusions_and_cards(live):
    _, one = live
    (ident,) = call(one, session(), "honcho_conclude", conclusion="Allergic to nuts")["ids"]
    assert call(one, session(), "honcho_profile", card=["Name: Ada"])["card"] == ["Name: Ada"]
    assert call(one, session(), "honcho_profile")["result"] == ["Name: Ada"]
    assert call(one, session(), "honcho_conclude", delete_id=ident)["ok"]


def test_an_import_twice_is_one(live):
    _, one = live
    records = [MemoryRecord(f"r{n}", "turn", f"fact {n}", time.time()) for n in range(120)]
    assert one.import_memories(iter(records)).imported == 120
    assert one.import_memories(iter(records)).duplicates == 120


def test_a_new_user_is_no_error(live):
    text = recall(live[1], session("fresh"))
    assert "reasoning" not in text, "an abstention was taken for knowledge"
