"""Running the five tools. A wrong argument is answered; a failing server is raised, so it is never "nothing found"."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from hermes_memory_core.errors import ProviderRejectedError
from hermes_memory_core.types import CallInfo, ToolResult
from hermes_memory_honcho import dialectic, texts, tools
from hermes_memory_honcho.answers import Stored, check_name
from hermes_memory_honcho.base_layer import CHARS_PER_TOKEN
from hermes_memory_honcho.server import Server
from hermes_memory_honcho.settings import LEVELS, HonchoSettings, Level
from hermes_memory_honcho.who import Place

SEARCH_TOKENS, SEARCH_TOKENS_MAX = 800, 2000
QUERY_CHARS = 4000
EXCERPT_CHARS = 1200
LISTED = 20
CONCLUSION_CHARS = 4000
"""Well below the server's 8192 tokens, in any script."""
CARD_LINES, CARD_CHARS = 40, 200


class WrongArgumentError(Exception):
    """The model sent something that cannot be run; the text goes back to it."""


class ToolCalls:
    """Runs tools.

    Args:
        server: Whom to ask.
        settings: Levels and limits.
    """

    def __init__(self, server: Server, settings: HonchoSettings) -> None:
        self._server = server
        self._settings = settings

    def run(
        self, place: Place, name: str, arguments: Mapping[str, Any], call: CallInfo
    ) -> ToolResult:
        """Run one.

        Raises:
            ProviderError: The server failed or refused.
        """
        runners = {
            tools.PROFILE: self._profile,
            tools.SEARCH: self._search,
            tools.CONTEXT: self._context,
            tools.REASONING: self._reasoning,
            tools.CONCLUDE: self._conclude,
        }
        runner = runners.get(name)
        if runner is None:
            return _error(f"There is no tool `{name[:60]}`.", ", ".join(runners))
        try:
            return ToolResult(runner(place, arguments, call))
        except WrongArgumentError as wrong:
            return _error(str(wrong), "")
        except ProviderRejectedError as refused:
            return _error(refused.message, refused.hint)

    # ------------------------------------------------------------ whom

    def _target(self, place: Place, arguments: Mapping[str, Any]) -> tuple[str, str]:
        """Observer and target of the ``peer`` argument. Only the owner may ask about anybody else."""
        peer = _text(arguments, "peer", required=False) or "user"
        if peer in ("user", place.user):
            return place.observer, place.user
        if peer in ("ai", place.ai):
            if not place.owner:
                raise WrongArgumentError(
                    "What the assistant knows of itself comes from other people too and is not shown here."
                )
            return place.ai, place.ai
        if not place.owner:
            raise WrongArgumentError("Other people's memory is not shown in this conversation.")
        check_name(peer, "peer")
        return (place.ai if place.ai_flags[1] else peer), peer

    # ------------------------------------------------------------ the five

    def _profile(
        self, place: Place, arguments: Mapping[str, Any], _call: CallInfo
    ) -> dict[str, Any]:
        observer, target = self._target(place, arguments)
        if arguments.get("card") is not None:
            lines = _lines(arguments["card"])
            self._server.ensure(place)
            card = self._server.set_card(observer, target, lines)
            return {"result": f"The card of {target} now holds {len(card)} facts.", "card": card}
        card = self._server.card(observer, target)
        if not card and observer != target:
            card = self._server.card(target, target)
        if card:
            return {"result": card}
        learns = place.user_flags[0] if target == place.user else place.ai_flags[0]
        hint = (
            "Honcho makes a card after some turns; its conclusions are found with honcho_search."
            if learns
            else "Honcho is set not to learn about this peer (observation)."
        )
        return {"result": f"There is no card of {target} yet.", "hint": hint}

    def _search(
        self, place: Place, arguments: Mapping[str, Any], _call: CallInfo
    ) -> dict[str, Any]:
        query = texts.cut_query(_text(arguments, "query"), QUERY_CHARS)
        observer, target = self._target(place, arguments)
        tokens = min(_number(arguments, "max_tokens", SEARCH_TOKENS), SEARCH_TOKENS_MAX)
        budget = max(200, tokens * CHARS_PER_TOKEN)
        limit = max(3, min(20, budget // 300))
        author = target if arguments.get("peer") not in (None, "", "user", place.user) else None
        messages = self._server.search(place, query, limit, author)
        conclusions = self._server.find_conclusions(observer, target, query, limit)
        lines = [f"[conclusion] {texts.one_line(one.content, 400)}" for one in conclusions[:5]]
        lines += [_excerpt(one) for one in messages]
        lines += [f"[conclusion] {texts.one_line(one.content, 400)}" for one in conclusions[5:]]
        kept: list[str] = []
        for line in lines:
            left = budget - sum(len(one) + 1 for one in kept)
            if left < 80:
                break
            kept.append(texts.trimmed(line, left))
        if not kept:
            return {"result": "Nothing was found.", "found": 0}
        return {"result": "\n".join(kept), "found": len(kept)}

    def _context(
        self, place: Place, arguments: Mapping[str, Any], _call: CallInfo
    ) -> dict[str, Any]:
        _observer, target = self._target(place, arguments)
        query = texts.cut_query(_text(arguments, "query", required=False), 1000)
        tokens = min(self._settings.context_tokens or 4000, 100_000)
        summary, view, messages = self._server.session_context(place, target, query, tokens)
        recent = [
            f"{one.peer}: {texts.one_line(one.content, 200)}"
            for one in messages[-5:]
            if one.content
        ]
        found = {
            "summary": texts.usable_summary(summary),
            "representation": view.representation.strip(),
            "card": list(view.card),
            "recent_messages": recent,
        }
        found = {key: value for key, value in found.items() if value}
        return {"result": found or "Honcho holds nothing about this session yet."}

    def _reasoning(
        self, place: Place, arguments: Mapping[str, Any], call: CallInfo
    ) -> dict[str, Any]:
        query = texts.cut_query(_text(arguments, "query"), self._settings.dialectic_max_input_chars)
        observer, target = self._target(place, arguments)
        left = call.deadline - time.monotonic() - 0.5
        answer = self._server.chat(
            observer,
            target,
            query,
            level=self._level(arguments.get("reasoning_level"), query),
            session=None,
            seconds=max(0.1, min(left, self._settings.timeout)),
        )
        return {
            "result": answer.strip() or f"Honcho knows nothing about {target} that answers this."
        }

    def _level(self, wanted: Any, query: str) -> Level:
        if not self._settings.dialectic_dynamic:
            return self._settings.dialectic_reasoning_level
        for level in LEVELS:
            if wanted == level:
                return level
        if wanted not in (None, ""):
            raise WrongArgumentError(f"`reasoning_level` is one of {', '.join(LEVELS)}.")
        return dialectic.level_for(self._settings, query)

    def _conclude(
        self, place: Place, arguments: Mapping[str, Any], _call: CallInfo
    ) -> dict[str, Any]:
        text = _text(arguments, "conclusion", required=False)
        delete_id = _text(arguments, "delete_id", required=False)
        listing = arguments.get("list") is True
        if sum(map(bool, (text, delete_id, listing))) != 1:
            raise WrongArgumentError("Give exactly one of `conclusion`, `delete_id`, `list`.")
        query = _text(arguments, "query", required=False)
        if query and not listing:
            raise WrongArgumentError("`query` goes with `list` only.")
        observer, target = self._target(place, arguments)
        if text:
            self._server.ensure(place)
            pieces = texts.parts(text, CONCLUSION_CHARS)
            made = self._server.conclude(observer, target, pieces, place.session)
            ids = [one.id for one in made]
            return {"result": f"Written down about {target}.", "ids": ids}
        if delete_id:
            return self._delete(place, observer, target, delete_id)
        if query:
            found = self._server.find_conclusions(
                observer, target, texts.cut_query(query, QUERY_CHARS), LISTED
            )
        else:
            found = self._server.conclusions(observer, target, LISTED)
        return {"conclusions": [{"id": one.id, "content": one.content} for one in found]}

    def _delete(self, place: Place, observer: str, target: str, wanted: str) -> dict[str, Any]:
        check_name(wanted, "conclusion")
        if not place.owner:
            own = {one.id for one in self._server.conclusions(observer, target, 1000)}
            if wanted not in own:
                raise WrongArgumentError(f"There is no conclusion `{wanted}` about this person.")
        if not self._server.delete_conclusion(observer, target, wanted):
            raise WrongArgumentError(f"There is no conclusion `{wanted}`; nothing was deleted.")
        return {"result": f"Conclusion {wanted} is deleted."}


def _error(message: str, hint: str) -> ToolResult:
    data = {"success": False, "error": message}
    return ToolResult({**data, "hint": hint} if hint else data, ok=False)


def _text(arguments: Mapping[str, Any], name: str, *, required: bool = True) -> str:
    value = arguments.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise WrongArgumentError(f"`{name}` must be a text.")
    text = texts.clean(value).strip()
    if required and not text:
        raise WrongArgumentError(f"`{name}` is missing.")
    return text


def _number(arguments: Mapping[str, Any], name: str, default: int) -> int:
    value = arguments.get(name)
    if value is None or value == "":
        return default
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise WrongArgumentError(f"`{name}` must be a number.")
    try:
        return max(1, int(float(value)))
    except (ValueError, OverflowError):
        raise WrongArgumentError(f"`{name}` must be a number.") from None


def _lines(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongArgumentError("`card` must be a list of texts.")
    lines = [texts.one_line(texts.clean(one), CARD_CHARS) for one in value]
    lines = [one for one in lines if one]
    if len(lines) > CARD_LINES:
        raise WrongArgumentError(
            f"`card` holds at most {CARD_LINES} facts; these are {len(lines)}."
        )
    return lines


def _excerpt(one: Stored) -> str:
    return f"[{one.peer} · {one.session or ''}] {texts.one_line(one.content, EXCERPT_CHARS)}"
