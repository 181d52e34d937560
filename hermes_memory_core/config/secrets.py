"""The secrets of one profile: its ``.env`` and nothing else, unless the settings allow the environment.

Values leave this module only through ``for_provider`` and ``values``; never through repr, logs or errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hermes_memory_core.config import dotenv
from hermes_memory_core.errors import ConfigError, UsageError
from hermes_memory_core.storage.atomic import read_bytes, refuse_symlink, write_atomic
from hermes_memory_core.storage.locks import file_lock
from hermes_memory_core.types import Notice

FILE_NAME = ".env"
MAX_BYTES = 1024 * 1024
_TAIL_FROM = 16
"""A secret at least this long may show its last four characters."""


class SecretMapping(Mapping[str, str]):
    """Field name to secret. Shows names only when printed."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> str:
        try:
            return self._values[key]
        except KeyError:
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._values) or 'empty'})"


class Secrets:
    """What a profile's ``.env`` holds, and where a provider's keys come from."""

    def __init__(
        self,
        path: Path,
        values: Mapping[str, str],
        *,
        environ: Mapping[str, str] | None = None,
        warnings: Iterable[Notice] = (),
    ) -> None:
        self.path = path
        self.warnings = tuple(warnings)
        self._values = dict(values)
        self._environ = dict(environ or {})

    @classmethod
    def load(
        cls,
        profile_dir: Path,
        *,
        allow_environment: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> Secrets:
        """Read the profile's ``.env``.

        Args:
            profile_dir: The profile's directory.
            allow_environment: ``security.allow_environment_secrets``: a key the file lacks may come from the
                process environment. Off, another profile's key can never be used by accident.
            environ: None for the process environment; copied, so later changes have no effect.

        Raises:
            StoreUnreadableError: The file is there and cannot be read.
            ConfigError: It is too large or not UTF-8.
        """
        path = profile_dir / FILE_NAME
        text = _read(path)
        found, strange = dotenv.parse(text)
        warnings = [_strange_line(path, number) for number in strange]
        if text and os.name != "nt" and path.stat().st_mode & 0o077:
            warnings.append(
                Notice(
                    "secrets_readable",
                    f"Others on this machine may read `{path}`.",
                    f"chmod 600 {path}",
                )
            )
        allowed = (os.environ if environ is None else environ) if allow_environment else {}
        values = {assignment.name: assignment.value for assignment in found}
        return cls(path, values, environ=allowed, warnings=warnings)

    def for_provider(self, provider: str, fields: Iterable[str]) -> SecretMapping:
        """The secrets of one provider by field name; a field without a secret is absent.

        ``api_key`` of ``honcho`` is ``HONCHO_API_KEY``.
        """
        found = {field: self.get(secret_name(provider, field)) for field in fields}
        return SecretMapping({field: value for field, value in found.items() if value})

    def get(self, name: str) -> str | None:
        """One secret by its full name; an empty one counts as none."""
        return self._values.get(name) or self._environ.get(name) or None

    def source(self, name: str) -> str | None:
        """Where a secret comes from: the file's path, ``environment``, or None when it is not set."""
        if self._values.get(name):
            return str(self.path)
        return "environment" if self._environ.get(name) else None

    def masked(self, name: str) -> str:
        """``not set``, ``set``, or ``set (…abcd)`` for a long one."""
        value = self.get(name)
        if not value:
            return "not set"
        return f"set (…{value[-4:]})" if len(value) >= _TAIL_FROM else "set"

    def names(self) -> list[str]:
        """The names ``.env`` sets, in order."""
        return [name for name, value in self._values.items() if value]

    def values(self) -> tuple[str, ...]:
        """All secrets of the file, for a redactor to know."""
        return tuple(value for value in self._values.values() if value)

    def __repr__(self) -> str:
        return f"Secrets({self.path}, {len(self.names())} set)"


def secret_name(provider: str, field: str) -> str:
    """The name in ``.env`` of a provider's field: ``api_key`` of ``honcho`` is ``HONCHO_API_KEY``."""
    name = re.sub(r"[^A-Z0-9]+", "_", f"{provider}_{field}".upper()).strip("_")
    return name if not name[:1].isdigit() else f"_{name}"


def set_secret(profile_dir: Path, name: str, value: str) -> Path:
    """Set one secret in the profile's ``.env``; comments and other lines stay as they are.

    Returns:
        The file, created 0600 where there was none.

    Raises:
        UsageError: The name is no variable name, or the value is empty or cannot be stored.
        StoreError: The file is a symbolic link, locked or cannot be written; it is as it was.
    """
    if not value:
        raise UsageError(
            f"The value for `{name}` is empty; `.env` was not changed.",
            hint=f"to take it out: `hermes config unset-secret {name}`",
        )
    return _change(profile_dir, name, value)


def unset_secret(profile_dir: Path, name: str) -> bool:
    """Take one secret out of the profile's ``.env``; False when it was not set there."""
    path = profile_dir / FILE_NAME
    if name not in {assignment.name for assignment in dotenv.parse(_read(path))[0]}:
        return False
    _change(profile_dir, name, None)
    return True


def _change(profile_dir: Path, name: str, value: str | None) -> Path:
    if not dotenv.NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` is no name for a secret: letters, digits and underscores are.",
            hint="for example HONCHO_API_KEY",
        )
    try:
        if value is not None and ("\0" in value or value.encode("utf-8") is None):
            raise ValueError
    except ValueError:  # UnicodeEncodeError too; its text would show the secret
        raise UsageError(
            f"The value for `{name}` holds characters that cannot be stored; `.env` was not changed."
        ) from None
    path = profile_dir / FILE_NAME
    refuse_symlink(path)
    with file_lock(path.with_name(f"{FILE_NAME}.lock")):
        changed = dotenv.with_value(_read(path), name, value)
        write_atomic(path, changed.encode("utf-8"))
    return path


def _read(path: Path) -> str:
    data = read_bytes(path) or b""
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"`{path}` has {len(data):,} bytes, too many for a list of secrets; it was left as it is.",
            hint=f"look into `{path}`",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # the decoder's own message and its cause would carry the file's bytes
        raise ConfigError(
            f"`{path}` is not UTF-8 text (line {line}); it was left as it is, and no secret was read.",
            hint=f"save `{path}` as UTF-8",
        ) from None


def _strange_line(path: Path, number: int) -> Notice:
    return Notice(
        "secrets_line",
        f"Line {number} of `{path}` is no NAME=value; it is kept and not used.",
        "a value with quotes, # or blanks goes into single quotes",
        key=f"secrets_line:{number}",
    )
