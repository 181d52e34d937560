"""From a provider's ``Config`` model to the questions of the setup: labels, choices, checks. Asks nobody."""

from __future__ import annotations

import enum
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from hermes_memory_core.config.secrets import Secrets, secret_name
from hermes_memory_core.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Question:
    """One setting of a provider."""

    key: str
    description: str
    secret: bool
    required: bool
    default: Any
    choices: tuple[str, ...]
    current: str | None
    """What is set now, masked where it is a secret; None when nothing is."""
    adapter: Any
    """pydantic TypeAdapter of the field."""

    @property
    def label(self) -> str:
        """What the person reads before the prompt."""
        parts = [self.description or self.key]
        if self.choices:
            parts.append(f"({' | '.join(self.choices)})")
        if self.current is not None:
            parts.append(f"[{self.current}; empty keeps it]")
        elif not self.required and self.default not in (None, ""):
            parts.append(f"[{self.default}]")
        return " ".join(parts)

    def check(self, text: str) -> Any:
        """The value the field's type makes of a text.

        Raises:
            ConfigError: It is none; the text itself is not repeated.
        """
        import pydantic

        try:
            value = self.adapter.validate_python(_loose(text))
        except pydantic.ValidationError:
            try:
                value = self.adapter.validate_python(text)
            except pydantic.ValidationError as error:
                reasons = "; ".join(
                    item["msg"] for item in error.errors(include_input=False, include_url=False)
                )
                raise ConfigError(f"`{self.key}`: {reasons}.") from None
        if self.secret:
            return value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        dumped = self.adapter.dump_python(value, mode="json")
        return dumped.value if isinstance(dumped, enum.Enum) else dumped


def questions(
    name: str, kind: Any, settings: Mapping[str, Any], secrets: Secrets
) -> list[Question]:
    """The questions of a provider class, in the order its model declares them."""
    model = getattr(kind, "Config", None)
    if model is None:
        return []
    from pydantic import SecretStr, TypeAdapter

    asked = []
    for key, field in model.model_fields.items():
        secret = SecretStr in _types(field.annotation)
        if secret:
            stored = secret_name(name, key)
            current = secrets.masked(stored) if secrets.get(stored) else None
        else:
            current = str(settings[key]) if key in settings else None
        annotation: Any = (
            Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
        )
        asked.append(
            Question(
                key=key,
                description=field.description or "",
                secret=secret,
                required=field.is_required(),
                default=None
                if field.is_required()
                else field.get_default(call_default_factory=True),
                choices=_choices(field.annotation),
                current=current,
                adapter=TypeAdapter(annotation),
            )
        )
    return asked


def _types(annotation: Any) -> set[Any]:
    """The annotation and everything inside it."""
    found = {annotation} if isinstance(annotation, type) else set()
    for part in typing.get_args(annotation):
        found |= _types(part)
    return found


def _choices(annotation: Any) -> tuple[str, ...]:
    if typing.get_origin(annotation) is Literal:
        return tuple(str(one) for one in typing.get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(str(one.value) for one in annotation)
    for part in typing.get_args(annotation):
        if found := _choices(part):
            return found
    return ()


def _loose(text: str) -> Any:
    """Numbers, booleans, lists and mappings as YAML reads them; everything else stays text."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(text)
    except YAMLError:
        return text
