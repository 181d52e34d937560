"""What a Honcho server holds and how it answers: a stand-in that behaves as recorded from a real one (3.0.12).

Knows routes, status codes, shapes and limits; nothing of sockets (``honcho_stub``). Facts are "derived" at once, one
a message, unless ``derive`` is off.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,512}$")
PATTERN = "^[a-zA-Z0-9_-]+$"
UPLOAD_LIMIT = 5_242_880
ABSTENTION = "I don't have any information about this person yet."


class Answer(Exception):
    """An answer that ends the request."""

    def __init__(self, status: int, body: Any = None) -> None:
        self.status, self.body = status, body


@dataclass
class Session:
    id: str
    peers: dict[str, dict[str, bool | None]] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    created_at: str = ""
    summary: str = ""
    last_batch: int = 0


@dataclass
class Workspace:
    id: str
    created_at: str = ""
    peers: dict[str, dict[str, Any]] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    conclusions: list[dict[str, Any]] = field(default_factory=list)
    cards: dict[tuple[str, str], list[str]] = field(default_factory=dict)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_id() -> str:
    return secrets.token_urlsafe(16)[:21]


def detail(kind: str, where: list[Any], text: str) -> Answer:
    return Answer(422, {"detail": [{"type": kind, "loc": where, "msg": text, "input": None}]})


class State:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.workspaces: dict[str, Workspace] = {}
        self.keys: dict[str, str] | None = None  # key → workspace it is for, "*" for all
        self.derive = True
        self.autocreate_sessions = True
        self.chat_answer: Any = None  # callable(query, observer, target) or text
        self.summary_every = 20

    # ------------------------------------------------------------ looking in

    def all_messages(self) -> list[dict[str, Any]]:
        with self.lock:
            return [
                message
                for workspace in self.workspaces.values()
                for session in workspace.sessions.values()
                for message in session.messages
            ]

    def all_conclusions(self) -> list[dict[str, Any]]:
        with self.lock:
            return [one for space in self.workspaces.values() for one in space.conclusions]

    # ------------------------------------------------------------ routes

    def handle(self, method: str, target: str, headers: Any, raw: bytes) -> tuple[int, Any]:
        parts = urlsplit(target)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        path = [unquote(one) for one in parts.path.split("/") if one]
        try:
            if not path or path[0] != "v3":
                raise Answer(404, {"detail": "Not Found"})
            kind = headers.get("Content-Type", "")
            body: Any = raw if kind.startswith("multipart/") else json.loads(raw) if raw else None
            with self.lock:
                self._authorise(headers, path, body)
                return self._route(method, path[1:], query, body, kind)
        except Answer as answer:
            return answer.status, answer.body

    def _authorise(self, headers: Any, path: list[str], body: Any) -> None:
        if self.keys is None:
            return
        given = headers.get("Authorization", "")
        if not given:
            raise Answer(401, {"detail": "No access token provided"})
        space = self.keys.get(given.removeprefix("Bearer "))
        if space is None:
            raise Answer(401, {"detail": "Invalid JWT"})
        if space == "*":
            return
        named = path[2] if len(path) > 2 else (body or {}).get("id")
        if named != space:
            raise Answer(401, {"detail": "Unauthorized access to resource"})

    def _route(
        self, method: str, path: list[str], query: dict[str, str], body: Any, kind: str
    ) -> tuple[int, Any]:
        if path == ["workspaces"] and method == "POST":
            return self._workspace(body)
        if path == ["workspaces", "list"] and method == "POST":
            items = [self._show_workspace(one) for one in self.workspaces.values()]
            return 200, self._page(items, query)
        if len(path) < 2 or path[0] != "workspaces":
            raise Answer(404, {"detail": "Not Found"})
        space = self.workspaces.get(path[1])
        if space is None:
            raise Answer(404, {"detail": f"Workspace {path[1]} not found"})
        rest = path[2:]
        handler = getattr(self, f"_{rest[0].replace('/', '_')}" if rest else "_update", None)
        if handler is None:
            raise Answer(404, {"detail": "Not Found"})
        return handler(space, method, rest[1:], query, body, kind)

    # ------------------------------------------------------------ workspaces, peers

    def _workspace(self, body: Any) -> tuple[int, Any]:
        name = self._name(body)
        new = name not in self.workspaces
        space = self.workspaces.setdefault(name, Workspace(name, now()))
        return (201 if new else 200), self._show_workspace(space)

    @staticmethod
    def _show_workspace(space: Workspace) -> dict[str, Any]:
        return {"id": space.id, "metadata": {}, "configuration": {}, "created_at": space.created_at}

    def _update(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        return 200, self._show_workspace(space)

    def _name(self, body: Any) -> str:
        name = (body or {}).get("id", "")
        if len(name) > 512:
            raise detail(
                "string_too_long", ["body", "id"], "String should have at most 512 characters"
            )
        if not NAME.match(name):
            raise detail(
                "string_pattern_mismatch",
                ["body", "id"],
                f"String should match pattern '{PATTERN}'",
            )
        return name

    def _peer(self, space: Workspace, name: str) -> dict[str, Any]:
        if name not in space.peers:
            space.peers[name] = {
                "id": name,
                "workspace_id": space.id,
                "created_at": now(),
                "metadata": {},
                "configuration": {},
            }
        return space.peers[name]

    def _known_peer(self, space: Workspace, name: str) -> None:
        if name not in space.peers:
            raise Answer(404, {"detail": f"Peer {name} not found in workspace {space.id}"})

    def _peers(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        if not rest:
            name = self._name(body)
            new = name not in space.peers
            return (201 if new else 200), self._peer(space, name)
        if rest == ["list"]:
            return 200, self._page(list(space.peers.values()), query)
        name, action = rest[0], rest[1] if len(rest) > 1 else ""
        if action == "chat":
            return 200, {"content": self._asked(space, name, body)}
        if action == "representation":
            target = (body or {}).get("target") or name
            return 200, {"representation": self._representation(space, name, target)}
        if action == "context":
            target = query.get("target") or name
            self._known_peer(space, name)
            return 200, {
                "peer_id": name,
                "target_id": target,
                "representation": self._representation(space, name, target),
                "peer_card": space.cards.get((name, target)),
            }
        if action == "card":
            return self._card(space, method, name, query.get("target") or name, body)
        if action == "search":
            found = [one for one in self._said(space) if one["peer_id"] == name]
            return 200, self._matching(found, body, space)
        if action == "sessions":
            items = [
                self._show_session(space, one)
                for one in space.sessions.values()
                if name in one.peers
            ]
            return 200, self._page(items, query)
        return 200, self._peer(space, name)

    def _card(self, space, method, name, target, body) -> tuple[int, Any]:
        self._known_peer(space, name)
        self._known_peer(space, target)
        if method == "PUT":
            space.cards[name, target] = list(body["peer_card"])
        return 200, {"peer_card": space.cards.get((name, target))}

    def _asked(self, space: Workspace, name: str, body: dict[str, Any]) -> str:
        if len(body["query"]) > 10_000:
            raise detail(
                "string_too_long", ["body", "query"], "String should have at most 10000 characters"
            )
        target = body.get("target") or name
        self._known_peer(space, name)
        self._known_peer(space, target)
        if callable(self.chat_answer):
            return self.chat_answer(body["query"], name, target)
        if self.chat_answer is not None:
            return self.chat_answer
        facts = [one["content"] for one in self._facts(space, name, target)]
        return "Based on memory: " + "; ".join(facts[-20:]) if facts else ABSTENTION

    # ------------------------------------------------------------ sessions

    def _show_session(self, space: Workspace, session: Session) -> dict[str, Any]:
        return {
            "id": session.id,
            "is_active": True,
            "workspace_id": space.id,
            "metadata": session.metadata,
            "configuration": {},
            "created_at": session.created_at,
        }

    def _session(self, space: Workspace, name: str) -> Session:
        session = space.sessions.get(name)
        if session is None:
            if not self.autocreate_sessions:
                raise Answer(404, {"detail": f"Session {name} not found in workspace {space.id}"})
            session = space.sessions[name] = Session(name, created_at=now())
        return session

    def _sessions(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        if not rest:
            name = self._name(body)
            new = name not in space.sessions
            session = space.sessions.setdefault(name, Session(name, created_at=now()))
            if body.get("metadata"):
                session.metadata = body["metadata"]
            self._join(space, session, body.get("peers") or {})
            return (201 if new else 200), self._show_session(space, session)
        if rest == ["list"]:
            items = [self._show_session(space, one) for one in space.sessions.values()]
            return 200, self._page(items, query)
        name, action, more = rest[0], rest[1] if len(rest) > 1 else "", rest[2:]
        if not action and method == "DELETE":
            if space.sessions.pop(name, None) is None:
                raise Answer(404, {"detail": f"Session {name} not found"})
            space.conclusions = [one for one in space.conclusions if one["session_id"] != name]
            return 202, None
        if action == "messages":
            return self._messages(space, method, name, more, query, body, kind)
        if action == "peers":
            return self._session_peers(space, method, self._session(space, name), more, body)
        if action == "summaries":
            return 200, self._summaries(space, name)
        if action == "context":
            return 200, self._context(space, name, query)
        if action == "search":
            found = space.sessions[name].messages if name in space.sessions else []
            return 200, self._matching(found, body, space)
        return 200, self._show_session(space, self._session(space, name))

    def _join(self, space: Workspace, session: Session, peers: dict[str, Any]) -> None:
        observers = sum(
            bool(flags.get("observe_others")) for flags in {**peers, **session.peers}.values()
        )
        if observers > 10:
            raise Answer(400, {"detail": "Cannot have more than 10 observers in a session"})
        for name, flags in peers.items():
            self._peer(space, name)
            if name not in session.peers:  # flags are taken from those who join, only
                session.peers[name] = {
                    "observe_me": flags.get("observe_me"),
                    "observe_others": flags.get("observe_others"),
                }

    def _session_peers(self, space, method, session, more, body) -> tuple[int, Any]:
        if len(more) == 2 and more[1] == "config":
            if method == "PUT":
                session.peers[more[0]] = {
                    "observe_me": body.get("observe_me"),
                    "observe_others": body.get("observe_others"),
                }
                return 204, None
            flags = session.peers.get(more[0])
            if flags is None:
                raise Answer(404, {"detail": f"Peer {more[0]} not found in session {session.id}"})
            return 200, flags
        if method == "GET":
            items = [self._peer(space, name) for name in session.peers]
            return 200, self._page(items, {})
        if method == "DELETE":
            for name in body:
                session.peers.pop(name, None)
        else:
            if method == "PUT":
                session.peers.clear()
            self._join(space, session, body)
        return 200, self._show_session(space, session)

    # ------------------------------------------------------------ messages

    def _messages(self, space, method, name, more, query, body, kind) -> tuple[int, Any]:
        if more == ["list"]:
            session = space.sessions.get(name)
            if session is None:
                return 200, self._page([], query)
            found = [one for one in session.messages if _passes(one, (body or {}).get("filters"))]
            if query.get("reverse") == "true":
                found.reverse()
            return 200, self._page(found, query)
        session = self._session(space, name)
        if more == ["upload"]:
            return 201, self._upload(space, session, body, kind)
        if more:
            for one in session.messages:
                if one["id"] == more[0]:
                    if method == "PUT":
                        one["metadata"] = body.get("metadata", one["metadata"])
                    return 200, one
            raise Answer(404, {"detail": f"Message {more[0]} not found"})
        given = body["messages"]
        if not given or len(given) > 100:
            raise detail(
                "too_long",
                ["body", "messages"],
                f"List should have at most 100 items after validation, not {len(given)}",
            )
        for at, one in enumerate(given):
            if len(one["content"]) > 25_000:
                raise detail(
                    "string_too_long",
                    ["body", "messages", at, "content"],
                    "String should have at most 25000 characters",
                )
        return 201, self._store(space, session, given)

    def _store(self, space: Workspace, session: Session, given: list[Any]) -> list[Any]:
        at, stored = now(), []
        session.last_batch = len(session.messages)
        for one in given:
            self._peer(space, one["peer_id"])
            session.peers.setdefault(one["peer_id"], {"observe_me": None, "observe_others": None})
            message = {
                "id": new_id(),
                "content": one["content"],
                "peer_id": one["peer_id"],
                "session_id": session.id,
                "metadata": one.get("metadata") or {},
                "created_at": one.get("created_at") or at,
                "workspace_id": space.id,
                "token_count": len(one["content"]) // 4,
            }
            session.messages.append(message)
            stored.append(message)
            if self.derive:
                self._derive(space, session, message)
        if len(session.messages) // self.summary_every > session.last_batch // self.summary_every:
            session.summary = f"The participants exchanged {len(session.messages)} messages."
        return stored

    def _derive(self, space: Workspace, session: Session, message: dict[str, Any]) -> None:
        speaker = message["peer_id"]
        if session.peers[speaker]["observe_me"] is False or not message["content"].strip():
            return
        others = [
            name
            for name, flags in session.peers.items()
            if name != speaker and flags["observe_others"]
        ]
        for observer in (speaker, *others):
            fact = f"{speaker} said: {message['content'][:300]}"
            space.conclusions.append(self._conclusion(observer, speaker, fact, session.id))

    def _upload(self, space, session, body: bytes, kind: str) -> list[Any]:
        fields = _multipart(body, kind)
        content, ctype = fields["file"]
        if len(content) > UPLOAD_LIMIT:
            raise Answer(413, {"detail": f"File size ({len(content)} bytes) exceeds maximum"})
        if not ctype.startswith("text/") and ctype not in ("application/json", "application/pdf"):
            raise Answer(415, {"detail": f"Unsupported file type: {ctype}"})
        text = content.decode()
        metadata = json.loads(fields.get("metadata", (b"{}", ""))[0])
        peer = fields["peer_id"][0].decode()
        pieces = [text[at : at + 24_996] for at in range(0, len(text), 24_996)] or [""]
        items = [{"content": one, "peer_id": peer, "metadata": metadata} for one in pieces]
        return self._store(space, session, items)

    # ------------------------------------------------------------ recall

    def _facts(self, space: Workspace, observer: str, target: str) -> list[dict[str, Any]]:
        return [
            one
            for one in space.conclusions
            if one["observer_id"] == observer and one["observed_id"] == target
        ]

    def _representation(self, space: Workspace, observer: str, target: str) -> str:
        facts = self._facts(space, observer, target)
        if not facts:
            return ""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        lines = "\n".join(f"[{stamp}] {one['content']}" for one in facts[-30:])
        return f"## Explicit Observations\n\n{lines}\n"

    def _summaries(self, space: Workspace, name: str) -> dict[str, Any]:
        session = space.sessions.get(name)
        short = None
        if session is not None and session.summary:
            last = session.messages[-1]["id"] if session.messages else new_id()
            short = {
                "content": session.summary,
                "message_id": last,
                "summary_type": "honcho_chat_summary_short",
                "created_at": now(),
                "token_count": len(session.summary) // 4,
            }
        return {"id": name, "short_summary": short, "long_summary": None}

    def _context(self, space: Workspace, name: str, query: dict[str, str]) -> dict[str, Any]:
        tokens = int(query.get("tokens", 0) or 0)
        if tokens > 100_000:
            raise detail(
                "less_than_equal",
                ["query", "tokens"],
                "Input should be less than or equal to 100000",
            )
        session = space.sessions.get(name) or Session(name)
        target, observer = query.get("peer_target"), query.get("peer_perspective")
        view = (observer or target, target)
        return {
            "id": name,
            "messages": session.messages[-20:],
            "summary": self._summaries(space, name)["short_summary"],
            "peer_representation": self._representation(space, *view) if target else None,
            "peer_card": space.cards.get(view) if target else None,  # type: ignore[call-overload]
        }

    def _said(self, space: Workspace) -> list[dict[str, Any]]:
        return [one for session in space.sessions.values() for one in session.messages]

    def _search(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        return 200, self._matching(self._said(space), body, space)

    def _matching(self, found: list[Any], body: Any, space: Workspace) -> list[Any]:
        filters = dict(body.get("filters") or {})
        unknown = set(filters) - {
            *("session_id", "peer_id", "metadata", "created_at", "token_count", "peer_perspective")
        }
        if unknown:
            raise Answer(422, {"detail": f"Unknown filter {min(unknown)}"})
        if filters.pop(
            "peer_perspective", None
        ):  # the fault of 3.0.12: only the newest batch is seen
            found = [
                one
                for one in found
                if one
                in space.sessions[one["session_id"]].messages[
                    space.sessions[one["session_id"]].last_batch :
                ]
            ]
        words = set(re.findall(r"\w+", body["query"].casefold()))
        hits = [
            (len(words & set(re.findall(r"\w+", one["content"].casefold()))), one)
            for one in found
            if _passes(one, filters)
        ]
        ranked = sorted((hit for hit in hits if hit[0]), key=lambda hit: -hit[0])
        return [one for _, one in ranked][: body.get("limit", 10)]

    # ------------------------------------------------------------ conclusions, queue

    def _conclusion(self, observer, observed, content, session) -> dict[str, Any]:
        return {
            "id": new_id(),
            "content": content,
            "observer_id": observer,
            "observed_id": observed,
            "session_id": session,
            "level": "explicit",
            "created_at": now(),
        }

    def _conclusions(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        if not rest:
            made = []
            for at, one in enumerate(body["conclusions"]):
                if not one["content"]:
                    raise detail(
                        "string_too_short",
                        ["body", "conclusions", at, "content"],
                        "String should have at least 1 character",
                    )
                self._known_peer(space, one["observer_id"])
                self._known_peer(space, one["observed_id"])
                session = one.get("session_id")
                if session and session not in space.sessions:
                    raise Answer(404, {"detail": f"Session {session} not found"})
                made.append(
                    self._conclusion(
                        one["observer_id"], one["observed_id"], one["content"], session
                    )
                )
            space.conclusions += made
            return 201, made
        if rest[0] in ("list", "query"):
            filters = (body or {}).get("filters") or {}
            found = [one for one in space.conclusions if _passes(one, filters)]
            if rest[0] == "list":
                return 200, self._page(found[::-1], query)
            return 200, self._nearest(found, body)
        if method == "DELETE":
            before = len(space.conclusions)
            space.conclusions = [one for one in space.conclusions if one["id"] != rest[0]]
            if len(space.conclusions) == before:
                text = f"Document {rest[0]} not found or does not belong to workspace {space.id}"
                raise Answer(404, {"detail": text})
            return 204, None
        raise Answer(405, {"detail": "Method Not Allowed"})

    @staticmethod
    def _nearest(found: list[Any], body: Any) -> list[Any]:
        words = set(re.findall(r"\w+", body["query"].casefold()))
        ranked = sorted(
            found,
            key=lambda one: -len(words & set(re.findall(r"\w+", one["content"].casefold()))),
        )
        return ranked[: body.get("top_k", 10)]

    def _queue(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        total = sum(len(session.messages) for session in space.sessions.values())
        done = total if self.derive else 0
        return 200, {
            "total_work_units": total,
            "completed_work_units": done,
            "in_progress_work_units": 0,
            "pending_work_units": total - done,
            "sessions": None,
        }

    def _schedule_dream(self, space, method, rest, query, body, kind) -> tuple[int, Any]:
        return 204, None

    @staticmethod
    def _page(items: list[Any], query: dict[str, str]) -> dict[str, Any]:
        page, size = int(query.get("page", 1)), int(query.get("size", 50))
        return {
            "items": items[(page - 1) * size : page * size],
            "total": len(items),
            "page": page,
            "size": size,
            "pages": max(1, -(-len(items) // size)),
        }


def _passes(one: dict[str, Any], filters: Any) -> bool:
    for key, wanted in (filters or {}).items():
        found = one.get(key)
        if key == "metadata":
            if any(found.get(name) != value for name, value in wanted.items()):
                return False
        elif isinstance(wanted, dict) and "in" in wanted:
            if found not in wanted["in"]:
                return False
        elif found != wanted:
            return False
    return True


def _multipart(body: bytes, kind: str) -> dict[str, tuple[bytes, str]]:
    from email.parser import BytesParser
    from email.policy import default

    message = BytesParser(policy=default).parsebytes(
        b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body
    )
    found = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        found[str(name)] = (part.get_payload(decode=True), part.get_content_type())
    return found
