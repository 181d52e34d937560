"""Turns a message into one search question with the host's auxiliary model. Never fails: then the message is used."""

from __future__ import annotations

from hermes_memory_core.types import ProviderContext

MAX_IN, MAX_OUT = 4000, 320
PROMPT = (
    "Rewrite the message as one short question for looking up what is known about its author. Keep names, numbers and "
    "the language of the message. Answer with the question only."
)


def rewritten(context: ProviderContext, message: str) -> str:
    """The question, or the message itself when there is no model or no usable answer."""
    text = message.strip()
    if context.llm is None or not text:
        return message
    try:
        answer = context.llm.complete(
            [{"role": "system", "content": PROMPT}, {"role": "user", "content": text[:MAX_IN]}],
            task="memory_query_rewrite",
            max_tokens=120,
        )
    except Exception as error:  # noqa: BLE001 - a host's model may raise anything; recall goes on without it
        context.logger.warning("Honcho: the message could not be rewritten: %s", error)
        return message
    question = answer.strip() if isinstance(answer, str) else ""
    usable = 0 < len(question) <= MAX_OUT and "\n" not in question
    return question if usable else message
