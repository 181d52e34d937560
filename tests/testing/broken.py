"""Providers that each break one promise, and the check that has to notice."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from pathlib import Path

from faults.reference.http import HttpProvider
from faults.reference.local import LocalProvider

from hermes_memory_core import hookimpl
from hermes_memory_core.errors import ProviderUnavailableError
from hermes_memory_core.types import (
    ForgetReceipt,
    Health,
    ImportCounts,
    MemoryRecord,
    Scope,
    ToolSpec,
)

_kept = []
_threads = []


def local(**members):
    """The local provider with some members replaced; plain functions become hooks."""
    return _variant(LocalProvider, members)


def remote(**members):
    """The HTTP provider with some members replaced."""
    return _variant(HttpProvider, members)


def _variant(base, members):
    hooks = {
        name: hookimpl(value)
        if callable(value) and not name.startswith("_") and name != "Config"
        else value
        for name, value in members.items()
    }
    return type(base.__name__, (base,), hooks)


def _init(extra):
    def __init__(self, context):
        LocalProvider.__init__(self, context)
        extra(self, context)

    return __init__


def _no_key_error(self, context):
    raise KeyError("api_key")


def _sync_twice(self, session, turn):
    for number in range(2):
        self._put(f"{time.monotonic()}{number}", "turn", session.scope, turn.user, turn.at, {})


def _sync_without_scope(self, session, turn):
    self._put(turn.id, "turn", Scope(), turn.user, turn.at, {})


def _prefetch_everything(self, session, query):
    return "\n".join(row["content"] for row in self._find(Scope(), "", 50)) or None


def _sync_in_memory(self, session, turn):
    _kept.append(turn.user)


def _export_kept(self, scope):
    for number, text in enumerate(_kept):
        yield MemoryRecord(str(number), "turn", text)


def _export_without_ids(self, scope):
    for _ in range(2):
        yield MemoryRecord("same", "turn", "text", metadata={"at": object()})


def _forget_nothing(self, scope, query, dry_run):
    return [ForgetReceipt("local", 1, 1)]


def _forget_on_trial(self, scope, query, dry_run):
    return LocalProvider.forget(self, scope, query, False)


def _forget_all(self, scope, query, dry_run):
    with self.lock:
        count = 0 if dry_run else self._connection().execute("DELETE FROM items").rowcount
    return [ForgetReceipt("local", count, count)]


def _forget_everywhere(self, scope, query, dry_run):
    return LocalProvider.forget(self, None, query, dry_run) if query.strip() else []


def _write_elsewhere(self, session, turn):
    folder = self.context.home / "elsewhere"
    folder.mkdir(exist_ok=True)
    (folder / "x").write_text("x")


def _write_readable(self, session, turn):
    self.context.data_dir.mkdir(parents=True, exist_ok=True)
    (self.context.data_dir / "open.txt").write_text("x")


def _leave_thread(self, context):
    threading.Thread(target=time.sleep, args=(3,), daemon=True).start()


def _leave_file(self, context):
    self.handles = [Path("/dev/null").open() for _ in range(2)]  # noqa: SIM115
    _threads.append(self.handles)


def _change_directory(self, session, turn):
    os.chdir("/")


def _change_logging(self, session, turn):
    logging.getLogger().setLevel(logging.CRITICAL)


def _log_secret(self, session, turn):
    self.context.logger.info("key %s", self.context.secrets["api_key"])


def _store_secret(self, session, turn):
    self.context.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    (self.context.data_dir / "k").write_text(self.context.secrets["api_key"])


def _read_environment(self, context):
    os.environ.get("LOCAL_API_KEY")


def _sync_unavailable(self, session, turn):
    raise ProviderUnavailableError("down")


def _print(self, session, turn):
    sys.stdout.write("hello")


def _keep_question(self, session, query):
    self._put(f"q{time.monotonic()}", "turn", session.scope, query, 0.0, {})


def _raise(error):
    def hook(self, session):
        raise error

    return hook


def _swallow(self, session, turn):
    try:
        HttpProvider.sync_turn(self, session, turn)
    except Exception:
        return


def _mutate(self, session, name, arguments):
    arguments["seen"] = True
    return {"success": True}


def _import_badly(self, records):
    return ImportCounts(imported=1)


def _import_again(self, records):
    counts = {"imported": 0}
    for record in records:
        self._put(f"{time.monotonic_ns()}", record.kind, record.scope, record.content, 0.0, {})
        counts["imported"] += 1
    return ImportCounts(**counts)


def _tool(name="local_x", parameters=None, description="d"):
    return lambda self: [
        ToolSpec(name, description, {"type": "object"} if parameters is None else parameters)
    ]


_ticks = iter(range(10**9))

LOCAL = {
    "constructs": local(__init__=_init(_no_key_error)),
    "an_empty_config_is_answered": local(__init__=_init(_no_key_error)),
    "system_block_is_text_or_nothing": local(system_block=lambda self: 7),
    "system_block_never_changes": local(system_block=lambda self: f"tick {next(_ticks)}"),
    "system_block_recalls_nothing": local(
        system_block=lambda self, session: _prefetch_everything(self, session, "")
    ),
    "tools_are_specs": local(tools=lambda self: [{"name": "x"}]),
    "tool_names_are_legal_and_unique": local(tools=_tool("find it!")),
    "tool_names_are_not_taken": local(tools=_tool("memory")),
    "tools_are_described": local(tools=_tool(description=" ")),
    "tool_parameters_are_json_schema": local(
        tools=_tool(parameters={"type": "object", "oneOf": []})
    ),
    "tools_never_change": local(tools=lambda self: [ToolSpec(f"t{next(_ticks)}", "d")]),
    "tools_take_wrong_types": local(
        call_tool=lambda self, arguments: {"n": len(arguments.get("text", ""))}
    ),
    "tools_take_no_arguments": local(call_tool=lambda self, arguments: {"n": arguments["text"]}),
    "tools_take_unknown_arguments": local(call_tool=lambda self, arguments: "done"),
    "tools_take_broken_text": local(
        call_tool=lambda self, arguments: {"n": arguments["text"].encode("utf-8").hex()}
    ),
    "tools_take_every_script": local(
        call_tool=lambda self, arguments: {"n": arguments["text"].encode("ascii")}
    ),
    "an_unknown_tool_is_told": local(call_tool=lambda self: {"success": True}),
    "tools_leave_arguments_alone": local(call_tool=_mutate),
    "prefetch_answers_recall": local(prefetch=lambda self: ["a", "list"]),
    "prefetch_of_nothing": local(prefetch=lambda self, query: query.split()[0]),
    "prefetch_of_hard_questions": local(prefetch=lambda self, query: query.encode().decode()),
    "prefetch_has_no_fence": local(prefetch=lambda self: "<memory-context>a</memory-context>"),
    "prefetch_after_its_deadline": local(
        prefetch=lambda self, deadline: time.sleep(deadline - time.monotonic())
    ),
    "users_are_kept_apart": local(sync_turn=_sync_without_scope, prefetch=_prefetch_everything),
    "chats_are_kept_apart": local(sync_turn=_sync_without_scope, prefetch=_prefetch_everything),
    "the_anonymous_are_kept_apart": local(
        sync_turn=_sync_without_scope, prefetch=_prefetch_everything
    ),
    "profiles_are_kept_apart": local(sync_turn=_sync_in_memory, export_memories=_export_kept),
    "a_repeated_turn_is_kept_once": local(sync_turn=_sync_twice),
    "a_repeated_turn_after_a_restart_is_kept_once": local(sync_turn=_sync_twice),
    "a_session_goes_on_after_a_restart": local(
        sync_turn=lambda self, turn: self.__dict__.setdefault("ram", []).append(turn.user),
        export_memories=lambda self: [
            MemoryRecord(str(n), "turn", text)
            for n, text in enumerate(self.__dict__.get("ram", []))
        ],
    ),
    "a_turn_with_query_syntax": local(
        sync_turn=lambda self, turn: self._connection().execute(f"SELECT '{turn.user}'")
    ),
    "a_turn_without_a_user_message": local(sync_turn=lambda self, turn: turn.user[0]),
    "a_very_long_turn": local(
        sync_turn=lambda self, session, turn: (
            len(turn.user) < 9999 and LocalProvider.sync_turn(self, session, turn)
        )
    ),
    "sessions_end_for_every_reason": local(
        end_session=lambda self, reason: {"exit": 1, "new": 2}[reason]
    ),
    "sessions_start_without_previous": local(start_session=lambda self, previous: previous.id),
    "before_compression_is_text_or_nothing": local(
        before_compression=lambda self, messages: list(messages)
    ),
    "notes_without_a_session": local(notes_written=lambda self, session: session.id),
    "a_repeated_note_is_kept_once": local(
        notes_written=lambda self, write: self._put(
            str(time.monotonic_ns()), "note", write.scope, write.after[0], 0.0, {}
        )
    ),
    "delegations_are_taken_in": local(delegation_finished=lambda self, child: child.upper()),
    "exports_are_well_formed": local(export_memories=_export_without_ids),
    "export_ids_are_stable": local(
        export_memories=lambda self: [MemoryRecord(str(next(_ticks)), "turn", "x")]
    ),
    "exports_respect_the_scope": local(
        export_memories=lambda self: list(LocalProvider.export_memories(self, None))
    ),
    "an_export_can_be_imported": local(import_memories=_import_badly),
    "a_second_import_is_a_no_op": local(import_memories=_import_again),
    "a_trial_changes_nothing": local(forget=_forget_on_trial),
    "what_is_forgotten_is_gone": local(forget=_forget_nothing),
    "forgetting_is_narrow": local(forget=_forget_all),
    "a_blank_query_forgets_nothing": local(forget=_forget_all),
    "forgetting_the_unknown": local(forget=_forget_nothing),
    "forgetting_respects_the_scope": local(forget=_forget_everywhere),
    "health_is_an_answer": local(health=lambda self: Health(False, "ill")),
    "backup_paths_are_paths": local(backup_paths=lambda self: ["a"]),
    "stores_are_offered_by_name": local(stores=lambda self: {"facts": object()}),
    "close_twice": local(close=lambda self: self.__dict__.pop("lock")),
    "no_threads_are_left": local(__init__=_init(_leave_thread)),
    "no_files_are_left_open": local(__init__=_init(_leave_file)),
    "it_writes_only_in_its_directory": local(sync_turn=_write_elsewhere),
    "its_files_are_private": local(sync_turn=_write_readable),
    "it_leaves_the_process_alone": local(sync_turn=_change_directory),
    "it_prints_nothing": local(sync_turn=_print),
    "a_whole_conversation": local(system_block=_raise(ValueError("no"))),
    "unattended_sessions_leave_no_trace": local(prefetch=_keep_question),
    "secrets_do_not_come_from_the_environment": local(__init__=_init(_read_environment)),
    "secrets_are_not_logged": local(sync_turn=_log_secret),
    "secrets_are_not_stored": local(sync_turn=_store_secret),
}
"""Check id → a provider that breaks that promise."""

REMOTE = {
    "prefetch_honours_its_deadline": remote(
        prefetch=lambda self, session, query: (
            self._search(session, query, time.monotonic() + 2.0) and None
        )
    ),
    "health_notices_an_outage": remote(health=lambda self: Health(True, "fine")),
    "a_dropped_connection_is_told": remote(sync_turn=_swallow),
    "a_failing_service_is_told": remote(sync_turn=_swallow),
    "a_refused_key_is_told": remote(sync_turn=_sync_unavailable),
    "a_rate_limit_is_told": remote(sync_turn=_sync_unavailable),
    "nonsense_is_told": remote(
        health=lambda self: self._client().get("/v1/me").json() and Health(True)
    ),
    "a_failed_recall_is_not_empty": remote(prefetch=lambda self: None),
    "it_recovers": remote(sync_turn=lambda self: None),
    "every_turn_arrives": remote(sync_turn=_sync_unavailable),
    "secrets_are_not_shown": remote(
        health=lambda self: Health(True, self.context.config.api_key.get_secret_value())
    ),
    "an_unknown_setting_is_refused": remote(
        Config=type(
            "Config",
            (HttpProvider.Config,),
            {"model_config": {"extra": "ignore"}, "__module__": __name__},
        )
    ),
}
