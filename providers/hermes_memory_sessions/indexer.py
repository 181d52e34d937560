"""Keeping ``history.db`` behind the transcripts: the queue, the background thread, catching up.

Transcripts are the truth; whatever goes wrong here costs no line. Lines this process wrote wait in a bounded
queue; when one cannot be applied directly its file is marked and read from the cursor on.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from hermes_memory_core.errors import HermesMemoryError, StoreLockedError, StoreUnreadableError

from .database import Database, reserve_ids
from .ids import MessageIds
from .transcript import SUFFIX, file_names, session_of
from .writer import Transcripts, Written

BATCH: Final = 256
"""Lines per transaction: some 30 ms of indexing, the longest another process waits."""
LINGER_S: Final = 0.2
"""How long the background thread lets a batch grow."""
QUEUE: Final = 4096
"""Lines that may wait before writers do."""
STALL_S: Final = 0.1
"""The longest a writer waits for a full queue; then its lines are read from the file later."""
QUIET_S: Final = 0.02
"""Indexing begins when nothing was queued for so long: it shares the interpreter with whoever writes."""
BURST_S: Final = 1.0
"""The longest it waits for that, while less than half the queue is taken."""
LOOK_S: Final = 2.0
"""How old, at least, what is known of other processes' transcripts may get before a reader has them looked at again."""
REST_S: Final = 0.0003
"""Pause of the background thread after every few messages: a writer that comes back from the disk finds the
interpreter free more often than not."""
RETRY_S: Final = 2.0
FLUSH_S: Final = 30.0
"""How long a reader works on a backlog before it says so."""
CHECK_EVERY: Final = 3
"""Transactions between two looks at the write-ahead log."""
WAL_BYTES: Final = 4 << 20
"""Write-ahead log size at which the background thread checkpoints."""
WAL_LARGE_BYTES: Final = 64 << 20
"""Size at which it is cut back to nothing, even if readers have to wait a moment."""


class _Mark:
    __slots__ = ("session_id",)

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id


class Indexer:
    """Applies lines to the database, on its own daemon thread and on the thread of whoever reads.

    Args:
        database: Where rows go.
        transcripts: Where lines come from.
        ids: Refilled here, in a transaction that is open anyway.
        failed: Told the error, on the background thread, once per streak.
    """

    def __init__(
        self,
        database: Database,
        transcripts: Transcripts,
        ids: MessageIds,
        failed: Callable[[HermesMemoryError], None],
        logger: logging.Logger,
    ) -> None:
        self._database = database
        self._transcripts = transcripts
        self._ids = ids
        self._failed = failed
        self._logger = logger
        self.skipped = 0
        """Unreadable lines met so far."""
        self.failure: HermesMemoryError | None = None
        """Why the last background attempt did not work; None when it did."""
        self._closed = False
        self._scanned = False
        self._complained: set[str] = set()
        self._steps = 0
        self._put_at = 0.0
        self._looked_at = self._look_took = 0.0
        self._reset()

    def _reset(self) -> None:
        self._queue: deque[Written] = deque()
        self._dirty: dict[str, _Mark] = {}
        self._state = threading.Condition(threading.Lock())
        self._work = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False

    # ------------------------------------------------------------ writers' side

    def put(self, lines: Sequence[Written]) -> None:
        """Queue lines that are on the disk. Waits while the queue is full, never because indexing failed."""
        with self._state:
            idle = not self._queue
            if self.failure is not None or len(self._queue) >= 2 * QUEUE:
                for line in lines:
                    self._mark(line.name, line.session_id)
            else:
                self._queue.extend(lines)
            self._put_at = time.monotonic()
            self._start()
            if idle or len(self._queue) >= QUEUE // 2:
                self._state.notify_all()
            deadline = time.monotonic() + STALL_S
            while len(self._queue) > QUEUE and self.failure is None and time.monotonic() < deadline:
                self._state.wait(0.02)

    def mark(self, name: str, session_id: str) -> None:
        """Have a file read from its cursor on."""
        with self._state:
            self._mark(name, session_id)
            self._start()
            self._state.notify_all()

    def _mark(self, name: str, session_id: str) -> None:
        # a new object each time: a file marked again while it is being read stays marked
        self._dirty[name] = _Mark(session_id)

    # ------------------------------------------------------------ readers' side

    def flush(self, timeout_s: float = FLUSH_S) -> None:
        """Bring in everything this process wrote, and at first use everything that stands on the disk.

        Raises:
            StoreLockedError: There is more than ``timeout_s`` seconds of work; it goes on in the background.
            StoreError: The database cannot take it; the transcripts hold it all the same.
        """
        if self._scanned and not self._queue and not self._dirty:
            self._look_again()
            return
        deadline = time.monotonic() + timeout_s
        while True:
            if not self._work.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise self._unfinished()
            try:
                self._scan_once()
                if not self._step():
                    self.failure = None
                    return
            finally:
                self._work.release()
            if time.monotonic() > deadline:
                with self._state:
                    self._start()
                raise self._unfinished()

    def _look_again(self) -> None:
        """Have the disk looked at in the background: another process may have died before it indexed its lines."""
        now = time.monotonic()
        if now - self._looked_at < max(LOOK_S, 20 * self._look_took) or self.failure is not None:
            return
        with self._state:
            self._looked_at, self._again = now, True
            self._start()
            self._state.notify_all()

    def behind(self) -> bool:
        """Whether anything waits to be brought in; at first use the disk is looked at."""
        if not self._scanned:
            with self._work:
                self._scan_once()
        return bool(self._queue or self._dirty)

    def _unfinished(self) -> StoreLockedError:
        waiting = len(self._dirty)
        return StoreLockedError(
            f"The history index is still being built ({waiting} transcripts to go); nothing is lost.",
            hint="try again in a moment, or watch it with: hermes sessions rebuild",
            details={"transcripts_waiting": waiting},
        )

    def scan(self) -> None:
        """Compare every transcript with its cursor again."""
        self._scanned = False
        self.flush()

    def start_over(self) -> None:
        """The database is another one now: drop the queue and compare every transcript again."""
        with self._state:
            for line in self._queue:
                self._mark(line.name, line.session_id)
            self._queue.clear()
            self.failure = None
            self._state.notify_all()
        self._scanned = False

    def close(self) -> None:
        """Bring in what waits and stop the thread. Never raises: the transcripts hold everything."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        try:
            if self._queue or self._dirty:
                self.flush()
        except HermesMemoryError as error:
            self._logger.warning("history: indexing is left for the next start: %s", error)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2.0)

    def after_fork(self) -> None:
        """In a child: the parent indexes its own queue."""
        self._reset()

    # ------------------------------------------------------------ work

    def _step(self, rest: Callable[[], None] = lambda: None) -> bool:
        """One transaction; False when nothing waits. The caller holds ``_work``."""
        with self._state:
            items = list(islice(self._queue, BATCH))
            name, mark = next(iter(self._dirty.items())) if self._dirty else ("", None)
        if not items and mark is None:
            return False
        from .apply import Applier  # with it comes the segmenter: not before there is work

        missed: dict[str, str] = {}
        to_end = True
        wanted = self._ids.wanted()
        with self._database.write() as db:
            applier = Applier(db, self._transcripts.folder, rest)
            for line in items:
                if line.name in missed or not applier.take(line):
                    missed[line.name] = line.session_id
            if mark is not None:
                to_end = applier.take_file(name, mark.session_id, BATCH)
            applier.finish()
            block = reserve_ids(db, wanted) if wanted else None
        if block is not None:
            self._ids.offer(block)
        for unread, why in applier.unreadable.items():
            self._complain(unread, why)
        if applier.skipped:
            self.skipped += applier.skipped
            self._logger.warning("history: %d unreadable lines in `%s`", applier.skipped, name)
        with self._state:
            for line in items:
                if self._queue and self._queue[0] is line:  # else start_over came in between
                    self._queue.popleft()
            if to_end and self._dirty.get(name) is mark:
                self._dirty.pop(name, None)
            for missed_name, session_id in missed.items():
                self._mark(missed_name, session_id)
            self._state.notify_all()
        self._steps += 1
        if self._steps % CHECK_EVERY == 0:
            self._checkpoint()
        return True

    def _rest(self) -> None:
        """Leave the interpreter to whoever is writing, as long as the queue does not grow too long."""
        if len(self._queue) < QUEUE // 2 and not self._closed:
            time.sleep(REST_S)

    def _complain(self, name: str, why: str) -> None:
        """A transcript cannot be opened: said once, and looked at again by the next start."""
        if name not in self._complained:
            self._complained.add(name)
            error = StoreUnreadableError(
                f"The transcript `{name}` is there but cannot be read ({why}); it was left untouched.",
                hint="hermes sessions check",
            )
            self._logger.warning("history: %s", error)
            self._failed(error)

    def _scan_once(self) -> None:
        if not self._scanned:
            self._scan()

    def _scan(self) -> None:
        began = time.monotonic()
        self._again = False
        for name, session_id in stale_files(self._database, self._transcripts.folder).items():
            self._transcripts.mend_tail(session_id)
            with self._state:
                if name not in self._dirty:
                    self._mark(name, session_id)
        self._scanned = True
        self._looked_at = time.monotonic()
        self._look_took = self._looked_at - began

    def _start(self) -> None:
        """Start the thread if there is none; the caller holds ``_state``."""
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(
                target=self._run, name="hermes-history-index", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        more = True
        while self._await_work(more):
            with self._work:
                try:
                    if self._again and not self._queue:
                        self._scan()
                    self._scan_once()
                    more = self._step(self._rest)
                    if not self._queue:
                        more = self._tend() or more
                except HermesMemoryError as error:
                    more = True
                    self._give_up(error)
                except Exception as error:
                    self._logger.exception("history: indexing failed")
                    more = True
                    self._give_up(HermesMemoryError(f"Indexing failed: {error!r}"))
                else:
                    self.failure = None

    def _await_work(self, more: bool) -> bool:
        """Wait until a batch is worth a transaction; False when the store was closed."""
        with self._state:
            while not (self._queue or self._dirty or more or self._again or self._closed):
                self._state.wait()
            if len(self._queue) < BATCH and not self._closed:
                self._state.wait(LINGER_S if self.failure is None else RETRY_S)
            self._await_quiet()
            return not self._closed

    def _await_quiet(self) -> None:
        """Let a burst of writing pass, within bounds; the caller holds ``_state``."""
        end = time.monotonic() + BURST_S
        while self._queue and len(self._queue) < QUEUE // 2 and not self._closed:
            left = min(self._put_at + QUIET_S, end) - time.monotonic()
            if left <= 0:
                return
            self._state.wait(left)

    def _give_up(self, error: HermesMemoryError) -> None:
        """Keep no lines in memory for a database that does not take them: the files are read later."""
        first = self.failure is None
        with self._state:
            self.failure = error
            for line in self._queue:
                self._mark(line.name, line.session_id)
            self._queue.clear()
            self._state.notify_all()
        if first:
            self._logger.warning("history: %s", error)
            self._failed(error)

    def _tend(self) -> bool:
        """A bounded piece of index merging between batches; True when there is more."""
        from .search import Index

        with self._database.write() as db:
            return Index(db).merge()

    def _checkpoint(self) -> None:
        """Keep the write-ahead log short: readers slow down with its length."""
        try:
            size = os.stat(f"{self._database.path}-wal").st_size  # noqa: PTH116 - a suffix, not a child
        except OSError:
            return
        if size > WAL_BYTES:
            mode = "TRUNCATE" if size > WAL_LARGE_BYTES else "PASSIVE"
            with self._database.maintain() as db:
                db.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()


def stale_files(database: Database, folder: Path) -> dict[str, str]:
    """Transcripts whose cursor is not at their end: file name to session id."""
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreUnreadableError(
            f"`{folder}` cannot be read ({error.strerror or error}); it was left untouched.",
            hint=f"look at `{folder}`: it has to be a directory you may read",
            details={"path": str(folder)},
        ) from error
    with database.read() as db:
        known = {
            row[0]: (row[1], row[2], row[3])
            for row in db.execute(
                "SELECT t.path, t.inode, t.size, s.id FROM transcripts t "
                "JOIN sessions s ON s.key = t.session"
            )
        }
    changed: dict[str, str] = {}
    owners = {session_id: name for name, (_, _, session_id) in known.items()}
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        inode, size, session_id = known.get(entry.name, (0, -1, ""))
        if not stat.S_ISREG(status.st_mode) or (inode == status.st_ino and size == status.st_size):
            continue
        owner = session_id or session_of(Path(entry.path))
        if not owner or entry.name not in file_names(owner):
            continue
        if (
            owners.setdefault(owner, entry.name) == entry.name
            or not (folder / owners[owner]).exists()
        ):
            changed[entry.name] = owner
    return changed
