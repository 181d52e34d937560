"""Redactor: masks secrets and remembers the ones it saw; ``redact``, the function without memory.

One Redactor belongs to one open profile. What it remembers stays in this process: no value is
written, logged or shown.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hermes_memory_core.safety.redact.engine import redact_text
from hermes_memory_core.safety.redact.masks import MASK_PREFIX, contains_mask, mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REMEMBERED_MAX = 256
"""Values remembered at most; the one not seen for longest goes first. Known values stay."""

REMEMBERED_MIN_CHARS = 8
"""Shorter values are not remembered: they would be found in innocent words."""


class Redactor:
    """Masks secrets, also where a value seen before comes back without its context.

    Thread-safe. Holds values in memory only.

    Args:
        known: values known to be secret, for example those of a profile's ``.env``; they are
            masked wherever they stand, from the first text on. Values under 8 characters and
            placeholders are left out.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, str] = OrderedDict()
        self._known: dict[str, str] = {}
        self._forms: tuple[tuple[str, str], ...] = ()
        for value in known:
            if _is_known(value):
                self._known[value] = "secret"
        self._refresh()

    def redact(self, text: str) -> str:
        """Return the text with every secret masked; the same object when there is none."""
        text = self._mask_remembered(text)
        masked, sure = redact_text(text)
        if sure:
            self._remember(sure)
            masked = self._mask_remembered(masked)
        return masked

    def redact_value(self, value: Any) -> Any:
        """Mask the strings in a JSON-like value.

        A string under a key that names a secret is judged with that key, so
        ``{"password": "hunter2"}`` is masked. Returns a new object; what is neither dict, list,
        tuple nor string is passed on as it is.
        """
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            masked = {self._key(key): self._under(key, item) for key, item in value.items()}
            name = next((value[key] for key in ("name", "key") if key in value), None)
            if isinstance(name, str) and isinstance(value.get("value"), str):
                masked["value"] = self._under(name, value["value"])
            return masked
        if isinstance(value, list):
            return [self.redact_value(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.redact_value(item) for item in value)
        return value

    def redact_lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Mask a stream line by line, private-key blocks included.

        Line ends are kept. Between BEGIN and END of a private key every line is masked whole.
        """
        inside = False
        for line in lines:
            body = line.rstrip("\r\n")
            if inside and "-----END" in body:
                inside = False
            elif inside and body.strip():
                lead = body[: len(body) - len(body.lstrip())]
                yield lead + mask("private-key") + line[len(body) :]
                continue
            if "-----BEGIN" in body and "PRIVATE KEY" in body and "-----END" not in body:
                inside = True
            yield self.redact(body) + line[len(body) :]

    def remember(self, value: str, kind: str = "secret") -> bool:
        """Mask a value from now on wherever it stands.

        Returns:
            False when it is too short, too regular or a placeholder, and so was not taken.
        """
        if not _is_memorable(value):
            return False
        self._remember([(value, kind)])
        return True

    def forget_remembered(self) -> None:
        """Drop every value learnt from texts; the known ones stay."""
        with self._lock:
            self._seen.clear()
            self._refresh()

    def _key(self, key: Any) -> Any:
        return self.redact(key) if isinstance(key, str) else key

    def _under(self, key: Any, item: Any) -> Any:
        """Mask a value that stands under a key; the key may name a secret."""
        # Here and below imported late: the patterns take 20 ms that most processes need not spend.
        from hermes_memory_core.safety.redact.names import Secrecy, secrecy_of
        from hermes_memory_core.safety.redact.values import Form, is_secret_value

        if not isinstance(item, str) or not isinstance(key, str):
            return self.redact_value(item)
        secrecy = secrecy_of(key)
        if secrecy is Secrecy.NONE:
            return self.redact(item)
        if is_secret_value(item, secrecy, Form.FIELD, loud=key.isupper()):
            kind = "password" if secrecy is Secrecy.PASSWORD else "secret"
            self.remember(item, kind)
            return mask(kind)
        # What a header or a cookie holds is found in the pair as text: schemes, several values.
        head = f"{key}: "
        pair = self.redact(head + item)
        return pair.removeprefix(head) if pair.startswith(head) else self.redact(item)

    def _remember(self, values: list[tuple[str, str]]) -> None:
        with self._lock:
            for value, kind in values:
                if _is_memorable(value) and value not in self._known:
                    self._seen[value] = kind
                    self._seen.move_to_end(value)
            while len(self._seen) > REMEMBERED_MAX:
                self._seen.popitem(last=False)
            self._refresh()

    def _refresh(self) -> None:
        """Rebuild the forms searched for: as is, percent-encoded, escaped as in JSON; long first."""
        forms: dict[str, str] = {}
        for value, kind in (*self._known.items(), *self._seen.items()):
            for form in (
                value,
                quote(value, safe="", errors="surrogatepass"),
                json.dumps(value)[1:-1],
            ):
                forms[form] = kind
        self._forms = tuple(sorted(forms.items(), key=lambda row: -len(row[0])))

    def _mask_remembered(self, text: str) -> str:
        found = [(form, kind) for form, kind in self._forms if form in text]
        for form, kind in found:
            pieces = text.split(MASK_PREFIX)
            if any(form in piece for piece in pieces):
                text = text.replace(form, mask(kind))
                with self._lock:
                    if form in self._seen:
                        self._seen.move_to_end(form)
        return text


def _is_memorable(value: str) -> bool:
    from hermes_memory_core.safety.redact.shapes import is_placeholder, is_random

    return (
        REMEMBERED_MIN_CHARS <= len(value) <= 4096
        and is_random(value)
        and not is_placeholder(value)
        and not contains_mask(value)
    )


def _is_known(value: str) -> bool:
    from hermes_memory_core.safety.redact.shapes import is_placeholder, is_reference

    return (
        len(value) >= REMEMBERED_MIN_CHARS
        and len(set(value)) >= 4
        and not value.isdigit()
        and not is_placeholder(value)
        and not is_reference(value)
        and not contains_mask(value)
    )


def redact(text: str) -> str:
    """Mask the credentials in a text.

    A pure function: nothing is remembered between calls, so the result depends on the text only.
    Whoever wants values recognised when they come back keeps a ``Redactor``.
    """
    return redact_text(text)[0]
