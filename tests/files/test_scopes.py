from __future__ import annotations

from dataclasses import replace

import pytest
from files.kit import SESSION, desk

from hermes_memory_core.errors import ScopeRequired
from hermes_memory_core.types import PROFILE_SCOPE, Scope


def test_a_scope_must_be_named_when_users_are_kept_apart(home):
    notes = desk(home, isolation="user")
    for attempt in (
        lambda: notes.store.list(),
        lambda: notes.store.add("memory", "x"),
        lambda: notes.store.snapshot(),
        lambda: notes.store.usage("memory"),
        lambda: notes.store.log(),
        lambda: notes.store.path("memory"),
        lambda: notes.store.undo("abcd"),
        lambda: notes.store.reset(),
    ):
        with pytest.raises(ScopeRequired):
            attempt()
    assert not (home / "memories").exists()


@pytest.mark.parametrize("kind", ["user", "chat"])
def test_scoped_notes_lie_in_their_own_folder(home, kind):
    notes = desk(home, isolation=kind)
    scope = Scope(kind, "../../etc/passwd")
    notes.store.add("memory", "mine", scope=scope)
    assert (
        notes.store.path("memory", scope=scope)
        == home / "memories" / kind / scope.digest / "MEMORY.md"
    )
    assert notes.texts(scope=Scope(kind, "other")) == []
    assert notes.store.log(scope=scope)[0].scope == scope


@pytest.mark.parametrize("scope", [Scope("user"), Scope("user", ""), Scope("chat")])
def test_the_anonymous_scope_is_always_empty_and_never_written(home, scope):
    notes = desk(home, isolation=scope.kind)
    folder = home / "memories" / scope.kind / "anonymous"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("left by somebody")
    assert notes.texts(scope=scope) == []
    assert notes.store.snapshot(scope=scope) == ""
    assert notes.store.log(scope=scope) == []
    with pytest.raises(ScopeRequired):
        notes.store.add("memory", "x", scope=scope)
    session = replace(SESSION, scope=scope)
    answer = notes.call(action="add", target="memory", content="x", session=session)
    assert answer["success"] is False
    assert "id" in answer["error"]


def test_a_session_never_reaches_the_profile_notes_when_users_are_kept_apart(home):
    desk(home).store.add("memory", "the operator's own")
    notes = desk(home, isolation="user")
    sloppy = replace(SESSION, scope=PROFILE_SCOPE, user_id="anna")
    assert "operator" not in notes.provider.system_block(sloppy)
    notes.call(action="add", target="memory", content="anna's", session=sloppy)
    assert notes.texts(scope=Scope("user", "anna")) == ["anna's"]
    assert notes.texts(scope=PROFILE_SCOPE) == ["the operator's own"]


def test_without_isolation_all_sessions_share_the_profile(home):
    notes = desk(home)
    notes.call(
        action="add", target="memory", content="shared", session=replace(SESSION, user_id="a")
    )
    assert notes.texts() == ["shared"]


def test_full_notices_are_told_per_target_and_scope(home):
    notes = desk(home, isolation="user", memory_char_limit=5, user_char_limit=5)
    for scope in (Scope("user", "a"), Scope("user", "b")):
        session = replace(SESSION, scope=scope)
        for target in ("memory", "user"):
            notes.call(action="add", target=target, content="too long", session=session)
    assert len({notice.key for notice in notes.notices}) == 4
