"""What this provider promises beyond the hook spec: what it finds, keeps once, and forgets."""

import time

import pytest
from hermes_memory_core import Memory
from hermes_memory_core.errors import ProviderTimeoutError
from hermes_memory_core.types import MemoryRecord, Scope

from hermes_memory_example import ExampleProvider
from hermes_memory_example.notebook import Notebook

FACT = "The key of the boat house hangs behind the blue door"


@pytest.fixture
def memory(tmp_path):
    with Memory.open(tmp_path / "home", providers=[ExampleProvider]) as memory:
        yield memory


def said(memory, *turns):
    """One conversation with these things said in it; delivered to the provider when this returns."""
    with memory.session() as session:
        for text in turns:
            session.begin_turn(text)
            session.end_turn(text, "I see.")
    assert memory.flush(5.0)


def recalled(memory, question):
    with memory.session() as session:
        return session.begin_turn(question).text


def test_what_was_said_is_found_in_the_next_conversation(memory):
    said(memory, FACT, "The ferry leaves at nine")
    text = recalled(memory, "Where is the key of the boat house?")
    assert FACT in text
    assert "ferry" not in text


def test_text_without_spaces_is_found_too(memory):
    said(memory, "船屋的钥匙挂在蓝色的门后面")
    assert "蓝色的门" in recalled(memory, "船屋的钥匙在哪里？")


def test_nothing_in_common_is_nothing_found(memory):
    said(memory, FACT)
    assert recalled(memory, "Which films were good this year?") == ""


def test_it_is_there_after_a_restart(tmp_path):
    for _ in range(2):  # the second time finds what the first has left
        with Memory.open(tmp_path / "home", providers=[ExampleProvider]) as memory:
            said(memory, FACT)
    with Memory.open(tmp_path / "home", providers=[ExampleProvider]) as memory:
        assert FACT in recalled(memory, "the key of the boat house")


def test_the_tools_keep_a_fact_once_and_find_it(memory):
    with memory.session() as session:
        first = session.call_tool("example_remember", {"fact": FACT})
        again = session.call_tool("example_remember", {"fact": FACT})
        found = session.call_tool("example_find", {"text": "boat house"})
        wrong = session.call_tool("example_remember", {"fact": 3})
    assert '"new": true' in first
    assert '"new": false' in again
    assert found.count("behind the blue door") == 1
    assert "must be a text" in wrong


def test_only_so_much_is_recalled(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    settings = "memory: {provider: example}\nproviders: {example: {max_results: 2}}\n"
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    with Memory.open(home, providers=[ExampleProvider]) as memory:
        said(memory, *(f"{FACT}, number {number}" for number in range(5)))
        assert recalled(memory, "the key of the boat house").count("blue door") == 2


def test_a_deadline_that_has_passed_is_kept(tmp_path):
    notebook = Notebook(tmp_path / "providers" / "x" / "notebook.db", time.time)
    notebook.add([MemoryRecord(str(number), "fact", FACT * 20) for number in range(2000)])
    with pytest.raises(ProviderTimeoutError):
        notebook.find("boat house key door", Scope(), 5, deadline=time.monotonic() - 1)


def test_the_file_is_its_owners_alone(memory, tmp_path):
    said(memory, FACT)
    (path,) = (tmp_path / "home").rglob("notebook.db")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_forgotten_text_is_gone_from_the_file(memory, tmp_path):
    said(memory, FACT)
    (path,) = (tmp_path / "home").rglob("notebook.db")
    assert b"blue door" in path.read_bytes()
    notebook = Notebook(path, time.time)
    found = notebook.containing("BLUE DOOR", None)
    assert notebook.remove([record.id for record in found]) == len(found) == 1
    assert b"blue door" not in path.read_bytes()
