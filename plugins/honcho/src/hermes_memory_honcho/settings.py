"""The settings of ``providers.honcho`` as a pydantic model. No resolution and no network here."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

Level = Literal["minimal", "low", "medium", "high", "max"]
LEVELS: tuple[Level, ...] = ("minimal", "low", "medium", "high", "max")
Section = Literal["summary", "peerRepresentation", "peerCard", "aiRepresentation", "aiCard"]
SECTIONS: tuple[Section, ...] = (
    "summary",
    "peerRepresentation",
    "peerCard",
    "aiRepresentation",
    "aiCard",
)
RecallMode = Literal["hybrid", "context", "tools"]
Strategy = Literal["per-directory", "per-repo", "per-session", "global"]
ObservationMode = Literal["directional", "unified"]
Injection = Literal["every-turn", "first-turn"]
Flag = tuple[bool, bool]
"""observe_me, observe_others of one peer."""

_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_FLAGS: dict[str, tuple[Flag, Flag]] = {
    "directional": ((True, True), (True, True)),
    "unified": ((True, False), (False, True)),
}
"""Preset → flags of the user peer and of the AI peer; effect in spec/honcho.md section 1.6."""


class Observation(BaseModel):
    """Flags of one peer that differ from the preset."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    observe_me: bool | None = Field(default=None, description="Honcho learns about this peer.")
    observe_others: bool | None = Field(
        default=None, description="This peer learns about the others."
    )


class HonchoSettings(BaseModel):
    """``providers.honcho`` in config.yaml; ``api_key`` lives in .env as HONCHO_API_KEY."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: SecretStr | None = Field(
        None, description="Key of the Honcho cloud; empty for a server of your own without keys."
    )
    base_url: str | None = Field(
        None,
        description="Address of your own server, for example http://localhost:8000; empty: the cloud.",
    )
    environment: Literal["production", "local"] = Field(
        "production", description="Which server when no address is given."
    )
    enabled: bool = Field(True, description="Off: nothing is read or written.")
    workspace: str | None = Field(
        None, description="The world that profiles share; empty: the host's name."
    )
    host: str | None = Field(
        None, description="Block of honcho.json to read; empty: from the profile's name."
    )
    read_honcho_json: bool = Field(
        True, description="Also read honcho.json files of Hermes Agent (never written)."
    )
    peer_name: str = Field(
        "user", min_length=1, max_length=512, description="Your peer, when no user id is known."
    )
    ai_peer: str | None = Field(None, description="The assistant's peer; empty: the host's name.")
    pin_user_peer: bool = Field(False, description="Every user of a chat is the one `peer_name`.")
    user_peer_aliases: dict[str, str] = Field(
        default_factory=dict, description="User id of a platform → peer."
    )
    runtime_peer_prefix: str = Field("", description="Put before user ids without an alias.")
    timeout: float = Field(30.0, gt=0, le=600, description="Seconds for one request.")
    recall_mode: RecallMode = Field(
        "hybrid", description="What the model gets: recall and tools, recall only, tools only."
    )
    init_on_session_start: bool = Field(
        False, description="Tools mode: connect when a session starts."
    )
    recall_sync: bool = Field(
        False, description="Wait for recall on every turn, at most 5 s (default: first turn only)."
    )
    save_messages: bool = Field(
        True, description="Off: nothing is written by itself; tools still write when called."
    )
    write_frequency: Literal["async", "turn", "session"] | int = Field(
        "async", description="When turns are sent: each, at the session's end, or every N turns."
    )
    message_max_chars: int = Field(
        25_000, ge=200, le=25_000, description="Longer messages are cut at sentence ends."
    )
    session_strategy: Strategy = Field(
        "per-directory", description="What one Honcho session stands for."
    )
    title_names_session: bool = Field(
        False, description="A session's title replaces the strategy's name."
    )
    path_hash: bool = Field(
        False, description="Tell directories of the same name apart by their path."
    )
    session_peer_prefix: bool = Field(False, description="Put the peer before session names.")
    sessions: dict[str, str] = Field(default_factory=dict, description="Directory → session name.")
    observation_mode: ObservationMode = Field(
        "directional", description="Who learns about whom: each about each, or one shared view."
    )
    observe_user: Observation = Field(
        default_factory=lambda: Observation(),
        description="Flags of your peer that differ from the mode.",
    )
    observe_ai: Observation = Field(
        default_factory=lambda: Observation(),
        description="Flags of the assistant's peer that differ from the mode.",
    )
    context_tokens: int | None = Field(
        None, ge=1, le=100_000, description="Most that is put before a turn; empty: no limit."
    )
    context_cadence: int = Field(1, ge=1, description="Turns between refreshes of the base layer.")
    dialectic_cadence: int = Field(2, ge=1, description="Turns between questions to Honcho.")
    injection_frequency: Injection = Field(
        "every-turn", description="Show the base layer on every turn, or on the first only."
    )
    session_start_sections: tuple[Section, ...] = Field(
        SECTIONS, description="Parts of the base layer that are shown."
    )
    dialectic_depth: int = Field(
        1, ge=1, le=3, description="Passes: assess, self-audit, reconcile."
    )
    dialectic_depth_levels: tuple[Level, ...] | None = Field(
        None, description="Reasoning level of each pass; empty: worked out."
    )
    dialectic_reasoning_level: Level = Field("low", description="Base level of a question.")
    dialectic_dynamic: bool = Field(
        True, description="Off: every question uses the base level, whatever is asked for."
    )
    reasoning_heuristic: bool = Field(True, description="Longer messages raise the level.")
    reasoning_level_cap: Level = Field("high", description="The level they raise it to at most.")
    dialectic_max_chars: int = Field(
        600, ge=50, description="Most of an answer that is put before a turn."
    )
    dialectic_max_input_chars: int = Field(
        10_000, ge=100, le=10_000, description="Longer questions are cut."
    )
    query_rewrite: bool = Field(
        False,
        description="Let the host's auxiliary model turn your message into a search question.",
    )
    first_turn_base_wait: float = Field(
        3.0, ge=0, description="Seconds the first turn waits for the base layer."
    )
    first_turn_dialectic_wait: float = Field(
        2.0, ge=0, description="Seconds the first turn then waits for an answer."
    )
    upload_notes: bool = Field(
        True, description="Upload MEMORY.md, USER.md and SOUL.md once, so that Honcho knows them."
    )
    logging: bool = Field(
        False, description="Write down what was put before each turn, and why (owner only)."
    )

    @field_validator("base_url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        from hermes_memory_honcho.address import checked_url

        return checked_url(value) if value else None

    @field_validator("write_frequency", mode="before")
    @classmethod
    def _frequency(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, bool) or (isinstance(value, int) and value < 1):
            raise ValueError("async, turn, session, or a number of turns from 1")
        return value

    @field_validator("recall_mode", mode="before")
    @classmethod
    def _mode(cls, value: Any) -> Any:
        return "hybrid" if value == "auto" else value

    @field_validator("observation_mode", mode="before")
    @classmethod
    def _observation(cls, value: Any) -> Any:
        aliases = {"shared": "unified", "separate": "directional", "cross": "directional"}
        return aliases.get(value, value)

    @field_validator("*", mode="before")
    @classmethod
    def _real_booleans(cls, value: Any, info: Any) -> Any:
        # a text that is not empty is true to Python, also "false": here it means what it says, or is refused
        field = cls.model_fields.get(info.field_name or "")
        if field is None or field.annotation is not bool or isinstance(value, bool):
            return value
        said = _BOOLEANS.get(value.strip().casefold()) if isinstance(value, str) else None
        if said is None:
            raise ValueError("true or false")
        return said

    @property
    def flags(self) -> tuple[Flag, Flag]:
        """Flags of the user peer and of the AI peer: the preset, then what overrides it."""
        user, ai = _FLAGS[self.observation_mode]
        return _overridden(user, self.observe_user), _overridden(ai, self.observe_ai)

    @property
    def hold_turns(self) -> int | None:
        """Turns to collect before sending; 1 sends each, None waits for the session's end."""
        if isinstance(self.write_frequency, int):
            return self.write_frequency
        return None if self.write_frequency == "session" else 1


def _overridden(flag: Flag, by: Observation) -> Flag:
    me = flag[0] if by.observe_me is None else by.observe_me
    others = flag[1] if by.observe_others is None else by.observe_others
    return me, others
