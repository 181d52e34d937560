# ruff: noqa: D103 - a check's sentence stands in its decorator
"""Checks of good manners: a provider shares its process and its machine with others."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from pathlib import Path

from hermes_memory_core.testing import inputs
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, check
from hermes_memory_core.testing.checks.turns import deliver, ended
from hermes_memory_core.testing.harness import Harness
from hermes_memory_core.testing.watch import files_written, outside, process_state


@check("it writes nothing outside its data directory")
def it_writes_only_in_its_directory(h: Harness) -> str | None:
    h.start("warm-up").close()  # what an SDK writes on its first import is the SDK's
    with files_written() as paths:
        use(h)
    wrong = outside(paths, h.data_dir())
    if wrong:
        raise CheckFailed(
            f"It wrote outside `context.data_dir`: {', '.join(wrong[:3])}.",
            "keep every file below `context.data_dir`; turn off the SDK's own cache directory",
        )
    return None


@check("its files are the owner's only")
def its_files_are_private(h: Harness) -> str | None:
    if os.name == "nt":
        raise Skip("permissions are checked on POSIX systems")
    before = os.umask(0o022)
    try:
        use(h)
    finally:
        os.umask(before)
    directory = h.data_dir()
    open_to_others = [
        f"{path.relative_to(directory.parent)} ({stat.S_IMODE(path.stat().st_mode):04o})"
        for path in (directory, *directory.rglob("*"))
        if path.exists() and not path.is_symlink() and path.stat().st_mode & 0o077
    ]
    if open_to_others:
        raise CheckFailed(
            f"Others on the machine may read {', '.join(open_to_others[:3])}.",
            "make directories with `storage.atomic.make_private_dir` and files with `open_private`",
        )
    return None


@check("it leaves the process as it found it")
def it_leaves_the_process_alone(h: Harness) -> str | None:
    h.start("warm-up").close()
    before = process_state()
    try:
        use(h)
        after = process_state()
    finally:
        _put_back(str(before["working directory"]))
    changed = [name for name in before if before[name] != after[name]]
    if changed:
        raise CheckFailed(
            f"It changed: {', '.join(changed)}. All providers and the host share these.",
            "pass settings to the client you use instead of setting them for the process",
        )
    return None


@check("it prints nothing")
def it_prints_nothing(h: Harness) -> str | None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        use(h)
    said = out.getvalue() + err.getvalue()
    if said.strip():
        raise CheckFailed(
            f"It printed {said.strip()[:80]!r}; the terminal, and the MCP channel, are the host's.",
            "use `context.logger`, and `context.notify` for what a person must know",
        )
    return None


@check("it says nothing at the level of an error while all is well")
def it_logs_no_errors(h: Harness) -> str | None:
    use(h)
    loud = [
        line
        for line in h.witness.records
        if line.lstrip().startswith("Traceback") or "\nTraceback" in line
    ]
    if loud:
        raise CheckFailed(
            f"It logged a traceback in ordinary use: {loud[0].splitlines()[-1][:120]}",
            "handle it, or raise it as a `ProviderError`",
        )
    return f"{len(h.witness.records)} log lines"


def use(h: Harness) -> None:
    """An ordinary conversation, from the first hook to the last."""
    subject, session = h.start(), inputs.session_info()
    if "start_session" in subject.hooks:
        subject.call("start_session", session=session, reason="new")
    for hook, more in (
        ("system_block", {}),
        ("tools", {}),
        ("prefetch", {"query": "what about the mast?"}),
        ("queue_prefetch", {"query": "what about the mast?"}),
        ("before_compression", {"messages": inputs.tool_messages()}),
        ("health", {}),
    ):
        if hook in subject.hooks:
            subject.call(hook, session=session, **more)
    if "sync_turn" in subject.hooks:
        deliver(subject, session, "The mast is new, the sail is old.")
    if "notes_written" in subject.hooks:
        write = inputs.note_write("add", (), ("Sails on Sundays",), session=session)
        subject.call("notes_written", session=session, write=write)
    ended(subject, session)
    subject.close()


def _put_back(directory: str) -> None:
    with contextlib.suppress(OSError):
        if str(Path.cwd()) != directory:
            os.chdir(directory)
