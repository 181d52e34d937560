"""The index follows the messages, and its check notices when it does not."""

from __future__ import annotations

import sqlite3

import pytest
from hermes_memory_sessions import schema
from hermes_memory_sessions.search import Index, segment

from hermes_memory_core.errors import StoreError

TEXTS = ["the oven is hot", "烤箱很热", "getUserName in YouTube C++", "", "👍", "don't 75% a_b"]


def test_removed_messages_leave_nothing_behind(shelf):
    ids = [shelf.say(text) for text in TEXTS]
    assert shelf.index.remove(ids) == len(ids)
    assert shelf.db.execute("SELECT count(*) FROM index_terms").fetchone()[0] == 0
    assert shelf.db.execute("SELECT count(*) FROM message_index_docsize").fetchone()[0] == 0
    assert shelf.index.check() == []
    assert shelf.index.remove(ids) == 0


def test_healthy_index_has_no_problems(shelf):
    for text in TEXTS:
        shelf.say(text)
    assert shelf.index.check() == []


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM message_index_docsize WHERE id = 1",
        "UPDATE message_index_data SET block = zeroblob(length(block)) WHERE id > 10",
        "DELETE FROM message_index_data WHERE id > 10",
        "INSERT INTO message_index(message_index) VALUES ('delete-all')",
        "DROP TABLE message_index",
        "DROP TABLE index_postings",
        "UPDATE meta SET value = '0/other' WHERE key = 'tokeniser_version'",
        "DELETE FROM messages WHERE id = 2",
    ],
)
def test_check_notices(shelf, damage):
    for text in TEXTS:
        shelf.say(text)
    assert shelf.index.check() == []
    shelf.db.execute(damage)
    assert shelf.index.check() != []


def test_reindex_gives_the_same_index_and_resumes(shelf):
    for text in TEXTS * 3:
        shelf.say(text)
    shelf.index.set_state([2], schema.UNDONE)
    before = shelf.db.execute("SELECT term, doc, offset FROM index_postings").fetchall()
    fresh = Index(shelf.db)
    fresh.reset()
    assert shelf.find("oven") == []
    after: int | None = 0
    rounds = 0
    while after is not None:
        done, after = after, fresh.reindex(after, limit=4)
        rounds += 1
        assert after is None or after > done
    assert rounds > 4
    assert shelf.db.execute("SELECT term, doc, offset FROM index_postings").fetchall() == before
    assert fresh.check() == []


def test_index_of_another_tokeniser_is_not_written_to(shelf):
    shelf.say("the oven")
    shelf.db.execute("UPDATE meta SET value = '0/other' WHERE key = 'tokeniser_version'")
    other = Index(shelf.db)
    assert not other.is_current()
    for call in (lambda: other.remove([1]), lambda: other.set_state([1], 1), lambda: other.add([])):
        with pytest.raises(StoreError) as caught:
            call()
        assert caught.value.hint
    other.clear()
    assert other.is_current()
    assert shelf.db.execute("SELECT count(*) FROM messages").fetchone()[0] == 0


def test_merge_goes_on_until_nothing_is_left(shelf):
    for i in range(300):
        shelf.say(f"word{i} oven door {i % 7}")
    rounds = 0
    while shelf.index.merge(8):
        rounds += 1
        assert rounds < 500
    assert len(shelf.find("oven", limit=1000)) == 300
    assert shelf.find("word7") == [8]
    assert shelf.index.check() == []


def test_taken_id_is_refused(shelf):
    shelf.say("one")
    shelf.last = 0
    with pytest.raises(sqlite3.IntegrityError):
        shelf.say("two")


def test_text_stands_in_the_database_once(shelf, tmp_path):
    target = sqlite3.connect(tmp_path / "copy.db")
    marker = "quetzalcoatlus"
    shelf.say(f"{marker.upper()} {marker.upper()}")
    shelf.db.backup(target)
    target.close()
    data = (tmp_path / "copy.db").read_bytes()
    assert data.count(marker.upper().encode()) == 2
    assert segment(marker) != marker.upper()


def test_tokens_of_a_segment_are_parted_by_single_blanks():
    for text in TEXTS:
        tokens = segment(text)
        assert tokens == " ".join(tokens.split())
