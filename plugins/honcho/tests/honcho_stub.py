"""A Honcho server on a loopback port, with a knob for every fault. It counts what it is asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from honcho_state import State


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]
    size: int

    @property
    def route(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"


@dataclass
class Fault:
    """What happens to a request instead of, before, or after its answer."""

    kind: str  # hang, fail, drop, drop_after, hang_after, slow
    seconds: float = 0.0
    status: int = 0
    body: str = ""
    headers: dict[str, str] | None = None
    only: Callable[[str], bool] | None = None  # route → does it apply
    times: int | None = None


class HonchoStub:
    """``with HonchoStub() as stub: ... stub.url``; it is a ``Backend`` of the conformance checks as well."""

    def __init__(self, port: int = 0, state: State | None = None) -> None:
        self.state = state or State()
        self.asked: list[Asked] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._release = threading.Event()
        self._server = _Server(("127.0.0.1", port), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._release.set()
        self._server.shutdown()
        self._server.close_all()
        self._server.server_close()

    def restart(self) -> HonchoStub:
        """The process dies with all its connections and comes back on the same port with its data."""
        port = self.port
        self.stop()
        fresh = HonchoStub(port, self.state)
        fresh.asked = self.asked
        fresh._thread.start()
        return fresh

    # ------------------------------------------------------------ looking in

    def stored(self, text: str) -> int:
        """Messages and conclusions that contain it (derived ones too)."""
        everything = [*self.state.all_messages(), *self.state.all_conclusions()]
        return sum(text in one["content"] for one in everything)

    def messages(self, text: str = "") -> list[dict[str, Any]]:
        return [one for one in self.state.all_messages() if text in one["content"]]

    def calls(self, end: str = "") -> list[Asked]:
        return [one for one in self.asked if one.route.endswith(end)]

    @contextmanager
    def counting(self) -> Iterator[list[Asked]]:
        """Requests made inside."""
        before = len(self.asked)
        found: list[Asked] = []
        yield found
        found += self.asked[before:]

    # ------------------------------------------------------------ faults

    @contextmanager
    def fault(self, fault: Fault) -> Iterator[Fault]:
        with self._lock:
            self._faults.append(fault)
            self._release.clear()
        try:
            yield fault
        finally:
            with self._lock:
                self._faults.remove(fault)
                self._release.set()

    def hang(self, seconds: float, only: Any = None) -> Any:
        return self.fault(Fault("hang", seconds=seconds, only=only))

    def fail(
        self,
        status: int,
        body: str = "",
        headers: dict[str, str] | None = None,
        only: Any = None,
        times: int | None = None,
    ) -> Any:
        return self.fault(
            Fault("fail", status=status, body=body, headers=headers, only=only, times=times)
        )

    def drop(self, only: Any = None, times: int | None = None) -> Any:
        return self.fault(Fault("drop", only=only, times=times))

    def pick(self, route: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if fault.only is not None and not fault.only(route):
                    continue
                if fault.times is not None:
                    if fault.times <= 0:
                        continue
                    fault.times -= 1
                return fault
        return None

    def wait(self, seconds: float) -> None:
        self._release.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def close_all(self) -> None:
        for one in list(self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *_: Any) -> None:  # a client that went away is part of the tests
        return


def _handler(stub: HonchoStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = None
            with contextlib.suppress(ValueError):
                body = json.loads(raw) if raw else None
            asked = Asked(self.command, self.path, body, dict(self.headers), len(raw))
            stub.asked.append(asked)
            fault = stub.pick(asked.route)
            if fault is not None and not self._before(fault):
                return
            status, answer = stub.state.handle(self.command, self.path, self.headers, raw)
            if fault is not None and fault.kind == "drop_after":
                self._drop()
                return
            if fault is not None and fault.kind == "hang_after":
                stub.wait(fault.seconds)
            self._send(status, b"" if answer is None else json.dumps(answer).encode(), {})

        def _before(self, fault: Fault) -> bool:
            """False when the request is over with it."""
            if fault.kind == "drop":
                self._drop()
                return False
            if fault.kind == "fail":
                body = fault.body or json.dumps({"detail": f"status {fault.status}"})
                self._send(fault.status, body.encode(), fault.headers or {})
                return False
            if fault.kind == "hang":
                stub.wait(fault.seconds)
            if fault.kind == "slow":
                time.sleep(fault.seconds)
            return True

        def _drop(self) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

        def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response_only(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for key, value in headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, *_: Any) -> None:
            return

    return Handler
