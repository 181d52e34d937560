"""The five tools as the model sees them. Running them stands in ``tool_calls``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_memory_core.types import ToolSpec
from hermes_memory_honcho.settings import LEVELS

PROFILE, SEARCH, CONTEXT = "honcho_profile", "honcho_search", "honcho_context"
REASONING, CONCLUDE = "honcho_reasoning", "honcho_conclude"

_PEER = {
    "type": "string",
    "description": "Whom it is about: `user` (default), `ai` for yourself, or the name of another peer.",
}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _object(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


SPECS: tuple[ToolSpec, ...] = (
    ToolSpec(
        PROFILE,
        "Read the short card of facts Honcho keeps about someone, or replace it. Reading costs no model call. "
        "Give `card` only to replace the whole card: facts left out are gone.",
        _object(
            {
                "peer": _PEER,
                "card": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "All facts of the new card, one short sentence each.",
                },
            }
        ),
    ),
    ToolSpec(
        SEARCH,
        "Find what was said in earlier conversations, and conclusions drawn from it, by meaning and by words. Answers "
        "excerpts, not a summary. For a judgement that needs thinking use honcho_reasoning.",
        _object(
            {
                "query": _text("What to look for."),
                "max_tokens": {
                    "type": "integer",
                    "description": "Length of the answer: 800 unless told, at most 2000.",
                },
                "peer": _PEER,
            },
            "query",
        ),
    ),
    ToolSpec(
        CONTEXT,
        "Show what Honcho holds about this session: summary, what is known of someone, their card, the last messages. "
        "One quick call without a model.",
        _object({"peer": _PEER, "query": _text("Picks what is shown of a long record.")}),
    ),
    ToolSpec(
        REASONING,
        "Ask Honcho a question about someone and get an answer reasoned from everything it knows. Takes seconds and "
        "costs a model call; use it when excerpts are not enough.",
        _object(
            {
                "query": _text("The question, in plain words."),
                "reasoning_level": {
                    "type": "string",
                    "enum": list(LEVELS),
                    "description": "How hard to think; left out, it follows the settings.",
                },
                "peer": _PEER,
            },
            "query",
        ),
    ),
    ToolSpec(
        CONCLUDE,
        "Write down a lasting fact about someone, list what was concluded, or delete a conclusion. Give exactly one of "
        "`conclusion`, `delete_id`, `list`. Delete only what must not be kept, such as private data.",
        _object(
            {
                "conclusion": _text("The fact, as one sentence that stands on its own."),
                "delete_id": _text("Id of a conclusion to delete, from a list."),
                "list": {"type": "boolean", "description": "true lists the newest 20."},
                "query": _text("With `list`: the 20 nearest to this instead."),
                "peer": _PEER,
            }
        ),
    ),
)

GUIDE: Mapping[str, str] = {
    "hybrid": (
        "Honcho keeps a model of the user across conversations. What matters is put beside the user's message by itself; "
        "ask for more with honcho_search (what was said), honcho_context (this session), honcho_profile (the card), "
        "honcho_reasoning (a judgement), and write lasting facts with honcho_conclude."
    ),
    "context": (
        "Honcho keeps a model of the user across conversations. What matters is put beside the user's message by itself."
    ),
    "tools": (
        "Honcho keeps a model of the user across conversations. Nothing of it is shown by itself: ask with honcho_search "
        "(what was said), honcho_context (this session), honcho_profile (the card), honcho_reasoning (a judgement), and "
        "write lasting facts with honcho_conclude."
    ),
}
"""The static text of the system prompt by mode: it never changes, so the prompt's cache survives."""
