"""An HTTP provider and the made-up service it talks to, on a ``LoopbackServer``."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import httpx
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from hermes_memory_core import hookimpl
from hermes_memory_core.errors import (
    ProviderAuthError,
    ProviderBadResponseError,
    ProviderRateLimitError,
    ProviderRejectedError,
    ProviderTimeoutError,
    ProviderUnavailableError,
)
from hermes_memory_core.testing import LoopbackServer, Reply
from hermes_memory_core.types import Health, MemoryRecord, Recall, Scope, ToolResult, ToolSpec

KEY = "test-key-8d1f"


class HttpProvider:
    name = "remote"

    class Config(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)
        base_url: str = Field(description="Address of the service.")
        api_key: SecretStr = Field(description="Key of your account.")

    def __init__(self, context):
        self.context = context
        self._lock = threading.Lock()
        self._http = None

    @hookimpl
    def system_block(self):
        return "A remote memory is asked before each turn."

    @hookimpl
    def tools(self):
        parameters = {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "What to look for."}},
            "required": ["query"],
        }
        return [ToolSpec("remote_search", "Search the remote memory.", parameters)]

    @hookimpl
    def call_tool(self, session, name, arguments, call):
        query = arguments.get("query")
        if name != "remote_search":
            return ToolResult({"error": f"unknown tool {name}"}, ok=False)
        if not isinstance(query, str) or not query.strip():
            return ToolResult({"error": "`query` must be a string that is not empty"}, ok=False)
        return {"success": True, "found": self._search(session, query, call.deadline)}

    @hookimpl
    def prefetch(self, session, query, deadline):
        if not query.strip():
            return None
        found = self._search(session, query, deadline)
        return Recall("\n".join(found), f"{len(found)} items") if found else None

    @hookimpl
    def sync_turn(self, session, turn):
        text = f"{turn.user}\n{turn.assistant}".strip()
        self._ask(
            "POST",
            "/v1/items",
            json={
                "id": turn.id,
                "text": text,
                "scope": session.scope.key,
                "session": session.id,
                "at": turn.at,
            },
        )

    @hookimpl
    def end_session(self, session, reason):
        self._ask("POST", "/v1/ends", json={"session": session.id, "reason": reason})

    @hookimpl
    def start_session(self, session, reason):
        self._ask("POST", "/v1/starts", json={"session": session.id, "reason": reason})

    @hookimpl
    def health(self):
        try:
            who = self._ask("GET", "/v1/me", timeout=5.0)
        except (ProviderAuthError, ProviderUnavailableError, ProviderRateLimitError) as error:
            return Health(False, error.message, error.hint)
        return Health(True, f"reached the account {who['account']}")

    @hookimpl
    def export_memories(self, scope):
        for item in self._ask("GET", "/v1/items")["items"]:
            if scope is None or item["scope"] == scope.key:
                yield MemoryRecord(item["id"], "turn", item["text"], item["at"], Scope())

    @hookimpl
    def close(self):
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None

    def _search(self, session, query, deadline):
        valid = query.encode("utf-8", "replace").decode()
        answer = self._ask(
            "POST",
            "/v1/search",
            json={"query": valid, "scope": session.scope.key},
            timeout=deadline - time.monotonic(),
        )
        found = answer.get("found")
        if not isinstance(found, list):
            raise ProviderBadResponseError("The service's answer has no list `found`.")
        return [str(one) for one in found]

    def _client(self):
        with self._lock:
            if self._http is None:
                key = self.context.config.api_key.get_secret_value()
                self._http = httpx.Client(
                    base_url=self.context.config.base_url,
                    headers={"Authorization": f"Bearer {key}"},
                    trust_env=False,
                )
            return self._http

    def _ask(self, method, path, *, json=None, timeout=20.0):
        if timeout <= 0:
            raise ProviderTimeoutError("There was no time left to ask the service.")
        with _translated():
            # httpx's timeout counts per step; the whole exchange on a loopback is one step
            response = self._client().request(method, path, json=json, timeout=timeout)
        return _answer(response)


@contextmanager
def _translated():
    try:
        yield
    except httpx.TimeoutException as error:
        raise ProviderTimeoutError("The service did not answer in time.") from error
    except httpx.HTTPError as error:
        raise ProviderUnavailableError(
            f"The service cannot be reached ({type(error).__name__}).",
            hint="hermes memory status --check",
        ) from error


def _answer(response):
    hint = "hermes memory setup remote"
    if response.status_code in (401, 403):
        raise ProviderAuthError("The service refused the key.", hint=hint)
    if response.status_code == 429:
        wait = float(response.headers.get("Retry-After", 30))
        raise ProviderRateLimitError(
            f"The service asks to wait {wait:.0f} s.", hint=hint, details={"retry_after_s": wait}
        )
    if response.status_code >= 500:
        raise ProviderUnavailableError(f"The service answered {response.status_code}.", hint=hint)
    if response.status_code >= 400:
        raise ProviderRejectedError(f"The service answered {response.status_code}.")
    try:
        data = response.json()
    except ValueError as error:
        raise ProviderBadResponseError("The service's answer is no JSON.") from error
    if not isinstance(data, dict) or "error" in data:
        raise ProviderBadResponseError("The service's answer is an error or of another shape.")
    return data


class MadeUpService(LoopbackServer):
    """Items by id, searched by word; a wrong key is refused."""

    def __init__(self):
        super().__init__(stored=self._count)
        self.items = {}
        self.order = []
        self.route("POST", "/v1/items", self._guarded(self._add))
        self.route(
            "GET", "/v1/items", self._guarded(lambda _r: {"items": list(self.items.values())})
        )
        self.route("POST", "/v1/search", self._guarded(self._search))
        self.route("POST", "/v1/ends", self._guarded(self._note))
        self.route("POST", "/v1/starts", self._guarded(self._note))
        self.route("GET", "/v1/me", self._guarded(lambda _r: {"account": "kim"}))

    def _guarded(self, work):
        def answer(request):
            if request.headers.get("authorization") != f"Bearer {KEY}":
                return Reply(401, {"error": "bad key"})
            return work(request)

        return answer

    def _count(self, text):
        return sum(text in item["text"] for item in list(self.items.values()))

    def _add(self, request):
        item = request.json
        if item["id"] not in self.items:
            self.items[item["id"]] = item
            self.order.append(("turn", item["session"], item["id"]))
        return {"ok": True}

    def _note(self, request):
        self.order.append((request.path.rpartition("/")[2], request.json["session"], None))
        return {"ok": True}

    def _search(self, request):
        query, scope = request.json["query"], request.json["scope"]
        words = [word for word in query.split() if len(word) > 3]
        found = [
            item["text"]
            for item in list(self.items.values())
            if item["scope"] == scope and any(word in item["text"] for word in words)
        ]
        return {"found": found[-3:]}
