"""What the commands share: the parts of the chosen profile, without opening its memory or asking a server."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_memory_core.errors import ConfigError
from hermes_memory_honcho.parts import Parts
from hermes_memory_honcho.settings import HonchoSettings

if TYPE_CHECKING:
    from hermes_memory_core.cli.state import State

NAME = "honcho"


@contextmanager
def parts_of(state: State) -> Iterator[Parts]:
    """Parts of the chosen profile, closed afterwards."""
    from hermes_memory_core.profiles import resolve_profile

    state.set_up_logging()
    profile = resolve_profile(state.root(), state.profile)
    parts = make(profile.path, profile.name)
    try:
        yield parts
    finally:
        parts.close()


def make(folder: Path, profile: str) -> Parts:
    """Parts of one profile.

    Raises:
        ConfigError: A setting of ``providers.honcho`` cannot be used; it is named.
    """
    from hermes_memory_core.config import load_settings
    from hermes_memory_core.config.secrets import Secrets, secret_name
    from hermes_memory_core.safety import redact

    raw: dict[str, Any] = dict(load_settings(folder).provider_config(NAME))
    secrets = Secrets.load(folder)
    for field in HonchoSettings.model_fields:
        value = secrets.get(secret_name(NAME, field))
        if value and field not in raw:
            raw[field] = value
    return Parts(
        given=checked(raw),
        home=folder,
        data_dir=folder / "providers" / NAME,
        profile=profile,
        clock=time.time,
        redact=redact,
        logger=logging.getLogger("hermes_memory.providers.honcho"),
    )


def checked(raw: dict[str, Any]) -> HonchoSettings:
    """The settings, or which of them is wrong."""
    import pydantic

    try:
        return HonchoSettings(**raw)
    except pydantic.ValidationError as error:
        item = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(str(one) for one in item["loc"])
        raise ConfigError(
            f"`providers.honcho.{key}`: {item['msg']}. Nothing was changed.",
            hint=f"hermes config set providers.honcho.{key} VALUE",
        ) from None


def keep(state: State, key: str, value: Any) -> None:
    """Write one setting of this profile, checked by the model first."""
    from hermes_memory_core.config.edit import set_value, unset_value

    folder = state.profile_dir()
    if value is None:
        unset_value(folder, f"providers.{NAME}.{key}")
        return
    checked({key: value})
    set_value(folder, f"providers.{NAME}.{key}", value)


def masked(key: str | None) -> str:
    """A key as it may be shown."""
    if not key:
        return "not set"
    return f"…{key[-4:]}" if len(key) >= 16 else "set"
