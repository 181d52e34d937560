"""A scripted HTTP server on the loopback, for tests of providers that talk to a service.

Routes answer with prepared replies or functions; every request is kept. ``hang``, ``fail`` and ``drop`` play the
outages. Stands on ``http.server``; no third-party package.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    match: tuple[str, ...] = ()
    """What stood for the placeholders of the route, in order."""

    @property
    def json(self) -> Any:
        """The body as JSON; None when it is empty or none."""
        try:
            return json.loads(self.body) if self.body else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. ``body`` is bytes, text, or anything JSON can say."""

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False
    """Close the connection without an answer."""

    def encoded(self) -> tuple[str, bytes]:
        """Content type and bytes."""
        if isinstance(self.body, bytes):
            return "application/octet-stream", self.body
        if isinstance(self.body, str):
            return "text/plain; charset=utf-8", self.body.encode()
        return "application/json", json.dumps(self.body).encode()


Answer = Reply | Callable[[Request], Any]


class LoopbackServer:
    """A server with its own thread; use it in a ``with`` block.

    Args:
        stored: What ``stored(text)`` answers: how many things the made-up service keeps that contain the
            text. None: ``stored`` answers None.
    """

    def __init__(self, *, stored: Callable[[str], int] | None = None) -> None:
        self._stored = stored
        self._routes: list[tuple[str, re.Pattern[str], list[Answer]]] = []
        self._lock = threading.Lock()
        self._outage: Reply | None = None
        self._release = threading.Event()
        self.requests: list[Request] = []
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="loopback-server",
            daemon=True,
        )

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, without a slash at the end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def route(self, method: str, path: str, *answers: Answer) -> None:
        """Answer this path; several answers are given one after the other, the last one from then on.

        Args:
            method: ``GET``, ``POST`` …, or ``*``.
            path: ``/v1/items/{id}``: a placeholder matches one segment. Later routes stand above earlier ones.
            answers: Replies, or functions of the request that return a Reply or a body.
        """
        pattern = re.compile(re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(path)))
        with self._lock:
            self._routes.insert(0, (method, pattern, list(answers) or [Reply()]))

    def seen(self, method: str | None = None, path: str | None = None) -> list[Request]:
        """Requests so far, narrowed by method and beginning of the path."""
        with self._lock:
            return [
                request
                for request in self.requests
                if (method is None or request.method == method)
                and (path is None or request.path.startswith(path))
            ]

    # ------------------------------------------------------------ a Backend

    def stored(self, text: str) -> int | None:
        """How many things the made-up service keeps that contain the text."""
        return self._stored(text) if self._stored is not None else None

    @contextmanager
    def hang(self, seconds: float) -> Iterator[None]:
        """Answer nothing for that long, or until the block ends."""
        with self._out(Reply(503, "late", delay_s=seconds)):
            yield

    @contextmanager
    def fail(
        self, status: int, body: str = "", headers: dict[str, str] | None = None
    ) -> Iterator[None]:
        """Answer everything with this status."""
        with self._out(Reply(status, body, headers or {})):
            yield

    @contextmanager
    def drop(self) -> Iterator[None]:
        """Close every connection without an answer."""
        with self._out(Reply(drop=True)):
            yield

    # ------------------------------------------------------------ life

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; from now on connections are refused."""
        self._release.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(2)
        self._server.server_close()

    @contextmanager
    def _out(self, reply: Reply) -> Iterator[None]:
        with self._lock:
            before, self._outage = self._outage, reply
            self._release = threading.Event()
        try:
            yield
        finally:
            self._release.set()
            with self._lock:
                self._outage = before

    def answer(self, request: Request) -> Reply:
        """The reply to one request; called by the server's threads."""
        with self._lock:
            self.requests.append(request)
            outage, release = self._outage, self._release
        if outage is not None:
            if outage.delay_s:
                release.wait(outage.delay_s)
            return outage
        found = self._find(request)
        if found is None:
            return Reply(404, {"error": f"no route for {request.method} {request.path}"})
        answer, groups = found
        if not callable(answer):
            if answer.delay_s:
                release.wait(answer.delay_s)
            return answer
        request = Request(
            request.method, request.path, request.query, request.headers, request.body, groups
        )
        value = answer(request)
        return value if isinstance(value, Reply) else Reply(200, value)

    def _find(self, request: Request) -> tuple[Answer, tuple[str, ...]] | None:
        with self._lock:
            for method, pattern, answers in self._routes:
                match = pattern.fullmatch(request.path)
                if match and method in ("*", request.method):
                    answer = answers.pop(0) if len(answers) > 1 else answers[0]
                    return answer, tuple(match.groups())
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, owner: LoopbackServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what these tests are about; nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        reply = self.server.owner.answer(
            Request(
                method=self.command,
                path=parts.path,
                query=dict(parse_qsl(parts.query)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(length) if length else b"",
            )
        )
        if reply.drop:
            self.close_connection = True
            self.connection.close()
            return
        kind, body = reply.encoded()
        self.send_response(reply.status)
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of http.server
        """Tests print nothing."""
