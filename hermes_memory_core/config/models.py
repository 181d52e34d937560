"""What each setting means and may be: the pydantic models of ``config.yaml``.

Defaults stand in ``defaults.py`` and are always filled in before validation, so fields here have none. Sections that
Hermes Agent owns too reach these models with its keys already set aside (``layers.py``). Import this late.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from hermes_memory_core.config.kinds import (
    Count,
    OptionalText,
    Positive,
    PositiveNumber,
    Seconds,
    Switch,
    Text,
    TextList,
    Word,
    word,
)

_PROVIDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Section(BaseModel):
    """A group of settings: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Deadlines(Section):
    """How long a provider may take; the core's deadline always wins."""

    prefetch_s: Seconds = Field(description="Recall before a turn, all providers together.")
    first_prefetch_s: Seconds = Field(description="The same on a session's first turn.")
    system_block_s: Seconds = Field(description="A provider's static text for the system prompt.")
    tools_s: Seconds = Field(description="Asking a provider for its tools.")
    call_tool_s: Seconds = Field(description="One tool call.")
    before_compression_s: Seconds = Field(description="Text to keep before a compression.")
    health_s: Seconds = Field(description="A health check's real round trip.")
    delivery_s: Seconds = Field(description="Each delivery from the outbox.")
    close_s: Seconds = Field(description="Closing a provider.")


class Breaker(Section):
    """When a failing provider is left alone for a while."""

    failures: Positive = Field(description="Failures in a row that open the breaker.")
    open_s: Seconds = Field(description="Seconds it stays open the first time; doubles each time.")
    max_open_s: Seconds = Field(description="The longest it stays open, in seconds.")

    @model_validator(mode="after")
    def _longest_is_longest(self) -> Breaker:
        if self.max_open_s < self.open_s:
            raise ValueError("max_open_s must not be below open_s")
        return self


class Outbox(Section):
    """What is kept for an external provider that has not taken it yet; oldest goes first."""

    max_items: Positive = Field(description="Items kept at most.")
    max_age_days: PositiveNumber = Field(description="Days an item is kept at most.")
    max_bytes: Positive = Field(description="Bytes kept at most.")


class Identity(Section):
    """Which accounts belong to one person, where isolation is `user`."""

    links: dict[str, TextList] = Field(
        description="Person to accounts, e.g. `mei: [telegram:111, discord:222]`; accounts not named "
        "stay apart."
    )

    @field_validator("links")
    @classmethod
    def _one_person_per_account(cls, links: dict[str, list[str]]) -> dict[str, list[str]]:
        owner: dict[str, str] = {}
        for person, accounts in links.items():
            for account in accounts:
                if owner.setdefault(account, person) != person:
                    raise ValueError(f"links {account} to both {owner[account]} and {person}")
        return links


def provider_name(value: Any) -> str:
    """The one active external provider's name; "" for none."""
    if value is None or value is False:  # a bare `off` is False to a YAML 1.1 reader
        return ""
    if isinstance(value, str) and "," not in value:
        name = value.strip()
        if name.lower() in ("", "off", "none"):
            return ""
        if _PROVIDER_NAME.fullmatch(name):
            return name
        raise ValueError("must be one provider's name")
    raise ValueError("must be one name: one external provider is active per profile")


class MemorySection(Section):
    """Notes, history and the external provider."""

    memory_enabled: Switch = Field(
        description="The agent's notes, MEMORY.md. Has no say over the external provider."
    )
    user_profile_enabled: Switch = Field(description="The notes about the user, USER.md.")
    history_enabled: Switch = Field(description="Keep and search past conversations.")
    history_recall: Annotated[Literal["off", "on"], Word] = Field(
        description="Look into the history before each turn without being asked."
    )
    write_approval: Switch = Field(description="Every note write waits for a person's approval.")
    memory_char_limit: Positive = Field(description="Characters MEMORY.md may hold.")
    user_char_limit: Positive = Field(description="Characters USER.md may hold.")
    provider: Annotated[str, BeforeValidator(provider_name)] = Field(
        description="The one active external provider; empty for none."
    )
    isolation: Annotated[Literal["profile", "user", "chat"], Word] = Field(
        description="Whose memory it is: shared by the profile, or apart for each user or chat."
    )
    prefetch_spill_enabled: Switch = Field(
        description="Put recall above hooks.output_spill.max_chars into a file, with a preview."
    )
    snapshot_ttl_s: Count = Field(
        description="Seconds without use after which a resumed session takes a fresh snapshot."
    )
    nudge_interval: Count = Field(description="Turns between memory reviews; 0 for never.")
    deadlines: Deadlines
    breaker: Breaker
    outbox: Outbox
    identity: Identity


class OutputSpill(Section):
    """Recall and hook output too large for the prompt."""

    enabled: Switch = Field(description="False turns every spill off.")
    max_chars: Positive = Field(description="Characters above which text is spilled.")
    preview_head: Count = Field(description="Characters of the beginning kept in the prompt.")
    preview_tail: Count = Field(description="Characters of the end kept in the prompt.")
    directory: OptionalText = Field(description="Where spills go; empty for hook_outputs/.")


class HooksSection(Section):
    """Shared with Hermes Agent; only the spill is ours."""

    output_spill: OutputSpill


class SessionsSection(Section):
    """Care of old conversations."""

    auto_prune: Switch = Field(description="Delete ended sessions older than retention_days.")
    retention_days: Positive = Field(description="Days an ended session is kept.")
    vacuum_after_prune: Switch = Field(description="Give the freed space back to the disk.")
    min_interval_hours: Count = Field(description="Hours between two prunes at least.")


class SkillsSection(Section):
    """What the agent taught itself."""

    write_approval: Switch = Field(description="Every skill write waits for a person's approval.")


class SecuritySection(Section):
    """Credentials: masking them, and where they may come from."""

    redact_secrets: Switch = Field(description="Mask credentials in what is shown and logged.")
    redact_storage: Switch = Field(description="Mask credentials before a turn is stored.")
    redact_patterns: TextList = Field(
        description="Further regular expressions whose matches are masked."
    )
    allow_environment_secrets: Switch = Field(
        description="Let a provider's key come from the process environment when .env has none."
    )

    @field_validator("redact_patterns")
    @classmethod
    def _patterns_compile(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(
                    f"holds {pattern!r}, no regular expression: {error.msg}"
                ) from error
        return patterns


Notifications = Annotated[Literal["off", "on", "verbose"], Word]


class DisplaySection(Section):
    """What a person is told."""

    memory_notifications: Notifications = Field(
        description="Say so when a review changed memory: off, on, verbose."
    )
    platforms: dict[str, Any] = Field(
        description="Per platform, e.g. `telegram: {memory_notifications: off}`."
    )

    @field_validator("platforms")
    @classmethod
    def _platform_notifications(cls, platforms: dict[str, Any]) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        for platform, values in platforms.items():
            checked[platform] = values
            if isinstance(values, dict) and values.get("memory_notifications") is not None:
                chosen = word(values["memory_notifications"])
                if chosen not in ("off", "on", "verbose"):
                    raise ValueError(f"{platform}.memory_notifications must be off, on or verbose")
                checked[platform] = {**values, "memory_notifications": chosen}
        return checked


class TitleGeneration(Section):
    """Names for conversations that have none; ours below ``auxiliary.title_generation``."""

    enabled: Switch = Field(description="Name a new conversation after its first exchange.")
    timeout: Seconds = Field(
        description="Seconds the auxiliary model may take; then the name comes from the first message."
    )
    language: Text = Field(description="Language of the names; empty for the conversation's own.")


TASKS: Mapping[str, type[Section]] = {"title_generation": TitleGeneration}
"""The models of ``defaults.KNOWN_TASKS``."""


class PluginsSection(Section):
    """Installed plugins."""

    disabled: TextList = Field(description="Plugins that are never imported.")
    catalog: Text = Field(description="Path or URL of a plugin catalog; empty for the one shipped.")


class Settings(Section):
    """All settings of one profile."""

    memory: MemorySection
    hooks: HooksSection
    sessions: SessionsSection
    skills: SkillsSection
    security: SecuritySection
    display: DisplaySection
    auxiliary: dict[str, Any] = Field(description="Auxiliary models, kept as written.")
    plugins: PluginsSection
    providers: dict[str, Any] = Field(
        description="Each provider's own settings by name; checked by the provider."
    )

    @field_validator("auxiliary")
    @classmethod
    def _known_tasks(cls, auxiliary: dict[str, Any]) -> dict[str, Any]:
        checked = dict(auxiliary)
        for task, model in TASKS.items():
            given = auxiliary.get(task)
            if not isinstance(given, Mapping):
                raise ValueError(f"{task} must be a mapping")
            ours = {key: given[key] for key in model.model_fields}
            try:
                checked[task] = {**given, **model.model_validate(ours).model_dump()}
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                cause = (first.get("ctx") or {}).get("error") or first["msg"].replace(
                    "Input should be", "must be"
                )
                raise ValueError(f"{task}.{first['loc'][0]} {cause}") from error
        return checked
