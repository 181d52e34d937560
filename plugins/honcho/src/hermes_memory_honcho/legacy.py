"""Reads ``honcho.json`` of Hermes Agent and settles which value counts. Never writes those files.

Order (spec/honcho.md section 1.2): the first file that exists is used alone; inside it the host block stands over
the root. What ``providers.honcho`` says explicitly stands over the file. The key of ``.env`` stands over the
file as well once ``providers.honcho`` says anything; before that, the file stands over it as in Hermes Agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_core.errors import ConfigError
from hermes_memory_core.storage.atomic import read_bytes
from hermes_memory_honcho.address import CLOUD, LOCAL, is_private
from hermes_memory_honcho.settings import HonchoSettings

NAMES: dict[str, str] = {
    "baseUrl": "base_url",
    "base_url": "base_url",
    "environment": "environment",
    "timeout": "timeout",
    "requestTimeout": "timeout",
    "enabled": "enabled",
    "workspace": "workspace",
    "peerName": "peer_name",
    "aiPeer": "ai_peer",
    "pinUserPeer": "pin_user_peer",
    "pinPeerName": "pin_user_peer",
    "userPeerAliases": "user_peer_aliases",
    "runtimePeerPrefix": "runtime_peer_prefix",
    "recallMode": "recall_mode",
    "initOnSessionStart": "init_on_session_start",
    "recallSync": "recall_sync",
    "saveMessages": "save_messages",
    "writeFrequency": "write_frequency",
    "messageMaxChars": "message_max_chars",
    "sessionStrategy": "session_strategy",
    "sessionPeerPrefix": "session_peer_prefix",
    "sessions": "sessions",
    "observationMode": "observation_mode",
    "contextTokens": "context_tokens",
    "contextCadence": "context_cadence",
    "dialecticCadence": "dialectic_cadence",
    "injectionFrequency": "injection_frequency",
    "dialecticDepth": "dialectic_depth",
    "dialecticDepthLevels": "dialectic_depth_levels",
    "dialecticReasoningLevel": "dialectic_reasoning_level",
    "dialecticDynamic": "dialectic_dynamic",
    "reasoningHeuristic": "reasoning_heuristic",
    "reasoningLevelCap": "reasoning_level_cap",
    "dialecticMaxChars": "dialectic_max_chars",
    "dialecticMaxInputChars": "dialectic_max_input_chars",
    "queryRewrite": "query_rewrite",
    "firstTurnBaseWait": "first_turn_base_wait",
    "firstTurnDialecticWait": "first_turn_dialectic_wait",
    "logging": "logging",
}
"""Key in honcho.json → our name."""
OURS = "config.yaml or .env"
ROOT_ONLY = ("baseUrl", "base_url", "sessions")
_OTHER = ("apiKey", "oauth", "hosts", "defaultHost", "observation", "injection")


@dataclass(frozen=True)
class Resolved:
    """The settings that count, and where each came from."""

    settings: HonchoSettings
    host: str
    workspace: str
    ai_peer: str
    url: str
    key: str | None = field(repr=False)
    """None: no key is sent."""
    path: Path | None
    """The honcho.json that was read."""
    origins: Mapping[str, str]
    """Setting → ``config.yaml``, ``.env``, ``honcho.json``; what is missing is the default."""
    warnings: tuple[str, ...] = ()


def candidates(profile_dir: Path, profile: str, user_home: Path) -> list[Path]:
    """Where a honcho.json may be, the first one counts."""
    root = profile_dir if profile == "default" else profile_dir.parent.parent
    found = [
        profile_dir / "honcho.json",
        root / "honcho.json",
        user_home / ".honcho" / "config.json",
    ]
    return list(dict.fromkeys(found))


def resolve(ours: HonchoSettings, profile_dir: Path, profile: str, user_home: Path) -> Resolved:
    """Settle every setting.

    Raises:
        ConfigError: The honcho.json that counts cannot be read.
    """
    path = None
    data: Mapping[str, Any] = {}
    if ours.read_honcho_json:
        for candidate in candidates(profile_dir, profile, user_home):
            raw = read_bytes(candidate)
            if raw is not None:
                path, data = candidate, _parsed(raw, candidate)
                break
    host = ours.host or _host(data, profile)
    block = _block(data, host, profile)
    values, origins, warnings = _from_file(data, block, host)
    explicit = ours.model_fields_set - {"api_key"}
    for name in explicit:
        values[name] = getattr(ours, name)
        origins[name] = OURS
    settings, more = _valid(values, ours, path)
    url = settings.base_url or (LOCAL if settings.environment == "local" else CLOUD)
    key = _key(ours, data, block, url, bool(explicit), origins)
    clean = host.replace(".", "_")
    return Resolved(
        settings=settings,
        host=host,
        workspace=settings.workspace or clean,
        ai_peer=settings.ai_peer or clean,
        url=url,
        key=key,
        path=path,
        origins=origins,
        warnings=(*warnings, *more),
    )


def _parsed(raw: bytes, path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except ValueError as error:
        raise ConfigError(
            f"`{path}` is not JSON ({error}); it was left as it is and Honcho stays off.",
            hint=f"mend `{path}`, or set providers.honcho.read_honcho_json to false",
            details={"path": str(path)},
        ) from error
    if not isinstance(data, dict):
        raise ConfigError(
            f"`{path}` holds no JSON object; it was left as it is.", hint=f"mend `{path}`"
        )
    return data


def _host(data: Mapping[str, Any], profile: str) -> str:
    if profile == "default":
        named = data.get("defaultHost")
        return named if isinstance(named, str) and named else "hermes"
    return "hermes_" + re.sub(r"[^A-Za-z0-9_-]", "_", profile)


def _block(data: Mapping[str, Any], host: str, profile: str) -> Mapping[str, Any]:
    hosts = data.get("hosts")
    if not isinstance(hosts, Mapping):
        return {}
    block = hosts.get(host)
    if block is None and profile != "default":
        block = hosts.get(f"hermes.{profile}")
    return block if isinstance(block, Mapping) else {}


def _from_file(
    data: Mapping[str, Any], block: Mapping[str, Any], host: str
) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    warnings: list[str] = []
    for place, where in ((data, "honcho.json"), (block, f"honcho.json hosts.{host}")):
        for key, value in place.items():
            name = NAMES.get(key)
            if name is None:
                if key not in _OTHER:
                    warnings.append(_unknown(key, where))
                continue
            if where != "honcho.json" and key in ROOT_ONLY:
                warnings.append(f"`{key}` in {where} is not read; it belongs to the root")
                continue
            if value is None or (value in (0, "") and not isinstance(value, bool | dict)):
                continue
            values[name], origins[name] = value, where
        _nested(place, where, values, origins)
    old = bool(block) or data.get("enabled") is True
    if old and "observation_mode" not in values:
        values["observation_mode"] = "unified"
        origins["observation_mode"] = "honcho.json (an older installation)"
    return values, origins, warnings


def _nested(
    place: Mapping[str, Any], where: str, values: dict[str, Any], origins: dict[str, str]
) -> None:
    observation = place.get("observation")
    if isinstance(observation, Mapping):
        for who, name in (("user", "observe_user"), ("ai", "observe_ai")):
            part = observation.get(who)
            if isinstance(part, Mapping):
                values[name] = {
                    "observe_me": part.get("observeMe"),
                    "observe_others": part.get("observeOthers"),
                }
                origins[name] = where
    injection = place.get("injection")
    if isinstance(injection, Mapping) and isinstance(injection.get("sessionStart"), list):
        values["session_start_sections"] = tuple(injection["sessionStart"])
        origins["session_start_sections"] = where


def _valid(
    values: dict[str, Any], ours: HonchoSettings, path: Path | None
) -> tuple[HonchoSettings, list[str]]:
    """Values the file gets wrong fall back to the default, with a warning; ours were checked before."""
    import pydantic

    warnings: list[str] = []
    values = dict(values)
    for _ in range(len(values) + 1):
        try:
            return HonchoSettings(**{**values, "api_key": ours.api_key}), warnings
        except pydantic.ValidationError as error:
            for item in error.errors(include_input=False, include_url=False):
                name = str(item["loc"][0])
                values.pop(name, None)
                warnings.append(
                    f"`{name}` in {path} cannot be used ({item['msg']}); the default counts"
                )
    raise ConfigError(f"`{path}` cannot be used.", hint=f"mend `{path}`")  # pragma: no cover


def _key(
    ours: HonchoSettings,
    data: Mapping[str, Any],
    block: Mapping[str, Any],
    url: str,
    ours_first: bool,
    origins: dict[str, str],
) -> str | None:
    """The key to send. A key at the root of a file, meant for the cloud, never goes to a private address."""
    own = ours.api_key.get_secret_value() if ours.api_key else ""
    found = [(str(block.get("apiKey") or ""), "honcho.json (host)")]
    if not is_private(url):
        found.append((str(data.get("apiKey") or ""), "honcho.json"))
    mine = (own, ".env")
    for key, origin in (
        (mine, *found) if ours_first or not any(k for k, _ in found) else (*found, mine)
    ):
        if key:
            origins["api_key"] = origin
            return key
    return None


def _unknown(key: str, where: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, [*NAMES, *_OTHER], n=1)
    return f"`{key}` in {where} is no setting" + (f"; did you mean `{near[0]}`?" if near else "")
