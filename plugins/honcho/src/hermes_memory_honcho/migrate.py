"""Uploads what was known before Honcho, once: MEMORY.md, USER.md, SOUL.md, and files of other agents.

Everything goes into one session of its own, whose name follows from where it came from: a lost ledger finds it
there again, and taking a migration back is deleting that session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import HermesMemoryError, ProviderAuthError, ProviderRejectedError
from hermes_memory_core.storage.atomic import read_bytes
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_honcho import texts
from hermes_memory_honcho.ledger import Ledger
from hermes_memory_honcho.naming import digest
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.who import Directory, Place

MAX_BYTES = 5 * 1024 * 1024
"""The server takes no larger file."""
OF_THE_USER = ("MEMORY.md", "USER.md")
OF_THE_ASSISTANT = ("SOUL.md",)
OF_OTHER_AGENTS = ("IDENTITY.md", "AGENTS.md", "TOOLS.md", "BOOTSTRAP.md")
NOTE = {
    "user": "[Notes about the user, kept in {name} before Honcho was used.]",
    "ai": "[How the assistant was described in {name} before Honcho was used.]",
}


@dataclass(frozen=True, slots=True)
class Source:
    """One file to upload."""

    path: Path
    target: str
    """``user`` or ``ai``."""


class Migrator:
    """Migrations of one profile.

    Args:
        server: Where to.
        ledger: What was uploaded.
        directory: Whose peers.
        lock: A lock file: two processes may start at once.
        clock: Epoch seconds.
        redact: Masks credentials before anything leaves.
    """

    def __init__(
        self,
        server: Server,
        ledger: Ledger,
        directory: Directory,
        lock: Path,
        clock: Callable[[], float],
        redact: Callable[[str], str],
    ) -> None:
        self._server = server
        self._ledger = ledger
        self._directory = directory
        self._lock = lock
        self._clock = clock
        self._redact = redact

    def of_profile(self, home: Path) -> list[Source]:
        """Files of this profile that have something in them."""
        memories = home / "memories"
        wanted = [Source(memories / name, "user") for name in OF_THE_USER]
        wanted += [
            Source(place / name, "ai") for name in OF_THE_ASSISTANT for place in (home, memories)
        ]
        return [one for one in wanted if _content(one.path)]

    def of_directory(self, place: Path) -> list[Source]:
        """Files another agent left in a directory."""
        wanted = [Source(place / name, "user") for name in OF_THE_USER]
        wanted += [Source(place / name, "ai") for name in (*OF_THE_ASSISTANT, *OF_OTHER_AGENTS)]
        return [one for one in wanted if _content(one.path)]

    def run(self, sources: Sequence[Source], *, dry_run: bool = False) -> list[dict[str, Any]]:
        """Upload what was not uploaded before; one report a file.

        Raises:
            ProviderError: The server failed; files before it are done and stay done.
        """
        if not sources:
            return []
        if dry_run or all(self._ledger.migration(self._key(one)) for one in sources):
            return [self._ledger.migration(self._key(one)) or self._planned(one) for one in sources]
        with file_lock(self._lock):
            return [self._upload(one) for one in sources]

    def undo(self) -> list[dict[str, Any]]:
        """Delete the sessions of all migrations; their reports, taken back."""
        reports = self._ledger.migrations()
        for name in dict.fromkeys(str(one["session"]) for one in reports if one.get("session")):
            try:
                self._server.delete_session(name)
            except ProviderRejectedError:  # somebody deleted it already
                continue
        for one in reports:
            self._ledger.set_migration(str(one["key"]), None)
        return reports

    # ------------------------------------------------------------ inside

    def _key(self, source: Source) -> str:
        resolved = self._directory.resolved
        parts = (
            resolved.url,
            resolved.workspace,
            self._directory.owner_peer,
            self._directory.ai_peer,
            str(source.path.parent),
            source.path.name,
        )
        return digest("\n".join(parts), 32)

    def _place(self, source: Source) -> Place:
        flags = self._directory.resolved.settings.flags
        user, ai = self._directory.owner_peer, self._directory.ai_peer
        name = f"migration-{digest(f'{user}/{ai}/{source.path.parent}', 16)}"
        return Place(name, user, ai, *flags, scope_key="profile", owner=True)

    def _planned(self, source: Source) -> dict[str, Any]:
        return {
            "key": self._key(source),
            "file": source.path.name,
            "path": str(source.path),
            "target": source.target,
            "session": self._place(source).session,
            "status": "would be uploaded",
            "messages": 0,
        }

    def _upload(self, source: Source) -> dict[str, Any]:
        key = self._key(source)
        known = self._ledger.migration(key)
        if known:
            return {**known, "status": "uploaded before"}
        report = self._planned(source)
        data = self._redact(_content(source.path))
        note = NOTE[source.target].format(name=source.path.name)
        body = f"{note}\n\n{texts.clean(data)}".encode()
        if len(body) > MAX_BYTES:
            return {**report, "status": "left out: larger than 5 MiB"}
        place = self._place(source)
        marker = {"migration_id": key}
        found = self._server.messages(place.session, marker, limit=100)
        if found:
            report.update(status="found on the server", messages=len(found))
        else:
            peer = place.user if source.target == "user" else place.ai
            self._server.ensure(place)
            facts = {**marker, "source": "migration", "original_file": source.path.name}
            count = self._server.upload(
                place, source.path.name, body, peer, {**facts, "target_peer": peer}
            )
            report.update(status="uploaded", messages=count)
        self._ledger.set_migration(key, {**report, "at": self._clock()})
        return report


def quietly(migrator: Migrator, home: Path, warn: Callable[[str], None]) -> None:
    """At a session's start: a failure is told and tried again next time; it never stops the session.

    Raises:
        ProviderAuthError: The key is refused; whoever starts the session must know.
    """
    try:
        migrator.run(migrator.of_profile(home))
    except ProviderAuthError:
        raise
    except HermesMemoryError as error:
        warn(f"Honcho: the notes were not uploaded yet: {error.message}")


def _content(path: Path) -> str:
    """Text of the file; "" when there is none or it is blank."""
    data = read_bytes(path)
    text = data.decode("utf-8", "replace") if data else ""
    return text if text.strip() else ""
