"""Every error of Hermes Memory, in one tree; nothing else lives here.

    HermesMemoryError
    ├── UsageError                 the public API or a command was called wrongly
    │   └── ScopeRequired          isolation is on and no user or chat was named
    ├── ConfigError                a setting cannot be used
    │   └── ProfileError           a profile is missing, exists already, or has a bad name
    ├── NoteError                  a note cannot be written as asked
    │   ├── NoteLimitError         the target would be over its character limit
    │   ├── NoteNotFoundError      no note matches
    │   ├── NoteAmbiguousError     several notes match
    │   └── NoteBlockedError       the safety scan or a person said no
    ├── SessionError               a conversation cannot be used as asked
    │   ├── SessionNotFoundError
    │   └── TitleConflictError     the title belongs to another session
    ├── StoreError                 a file or database cannot be used
    │   ├── StoreLockedError       another process holds it (retryable)
    │   ├── StoreUnreadableError   it is there and cannot be read
    │   ├── StoreCorruptError      its structure is damaged
    │   ├── StoreVersionError      a newer Hermes Memory wrote it
    │   └── StoreFullError         no room on the disk
    ├── PluginError                a plugin cannot be installed or loaded
    │   ├── PluginLoadError        import, config, construct or validate failed
    │   ├── PluginConflictError    two plugins claim one name, or one seat
    │   ├── PluginVersionError     it was written for another hook spec
    │   └── PluginInstallError     the installer said no
    └── ProviderError              an external provider did not do its part
        ├── ProviderUnavailableError   no answer (retryable)
        ├── ProviderTimeoutError       the deadline passed (retryable)
        ├── ProviderBusyError          too many calls in flight (retryable)
        ├── ProviderRateLimitError     asked to slow down (retryable)
        ├── ProviderAuthError          the key is missing or refused
        ├── ProviderRejectedError      it will never take this input
        └── ProviderBadResponseError   the answer makes no sense

Each error says what happened and what was kept (``message``), and the next command to type (``hint``).
``retryable`` tells the outbox whether trying again can help; ``exit_code`` is what the command line ends with
(1 failed, 2 usage, 3 config, 4 provider, 5 locked or conflict).
"""

from __future__ import annotations

from typing import Any, ClassVar


class HermesMemoryError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What happened and what was kept, one or two sentences for a person.
        hint: The next command to type, or "".
        details: JSON-serialisable facts for programs (``over_by``, ``path`` …).
        retryable: Overrides the class's own answer for this one instance.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        details: dict[str, Any] | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})
        self.retryable = self.default_retryable if retryable is None else retryable

    def __reduce__(self) -> tuple[Any, ...]:
        # keyword-only arguments do not survive Exception's own pickling
        return (_rebuild, (type(self), self.message, self.hint, self.details, self.retryable))

    def to_dict(self) -> dict[str, Any]:
        """The shape used by ``--json``, tools and logs: code, message, hint, details, retryable."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
            "retryable": self.retryable,
        }


def _rebuild(
    kind: type[HermesMemoryError], message: str, hint: str, details: dict[str, Any], retryable: bool
) -> HermesMemoryError:
    return kind(message, hint=hint, details=details, retryable=retryable)


class UsageError(HermesMemoryError):
    """The public API or a command was called in a way that cannot work."""

    code = "usage"
    exit_code = 2


class ScopeRequired(UsageError):  # noqa: N818 - the name stands in design.md section 6
    """``memory.isolation`` is ``user`` or ``chat`` and no scope was given."""

    code = "scope_required"


class ConfigError(HermesMemoryError):
    """A setting cannot be used; nothing was changed."""

    code = "config"
    exit_code = 3


class ProfileError(ConfigError):
    """A profile is missing, exists already, or has a name that cannot be used."""

    code = "profile"


class NoteError(HermesMemoryError):
    """A note cannot be written as asked; the notes are as they were."""

    code = "note"


class NoteLimitError(NoteError):
    """The target would be over its limit; ``details`` has ``over_by``, ``current``, ``limit``."""

    code = "note_limit"


class NoteNotFoundError(NoteError):
    """No note matches; ``details`` has ``closest_entries``."""

    code = "note_not_found"


class NoteAmbiguousError(NoteError):
    """Several notes match; ``details`` has ``matches``."""

    code = "note_ambiguous"


class NoteBlockedError(NoteError):
    """The safety scan or a person refused the text; ``details`` has ``findings`` where known."""

    code = "note_blocked"


class SessionError(HermesMemoryError):
    """A conversation cannot be used as asked."""

    code = "session"


class SessionNotFoundError(SessionError):
    """No session has this id, prefix or title."""

    code = "session_not_found"


class TitleConflictError(SessionError):
    """The title belongs to another session, which ``details`` names."""

    code = "title_conflict"
    exit_code = 5


class StoreError(HermesMemoryError):
    """A file or database cannot be used; what was acknowledged is still there."""

    code = "store"


class StoreLockedError(StoreError):
    """Another process holds the file; trying again can help."""

    code = "store_locked"
    exit_code = 5
    default_retryable = True


class StoreUnreadableError(StoreError):
    """The file exists and cannot be read. Never the same as empty."""

    code = "store_unreadable"


class StoreCorruptError(StoreError):
    """The structure is damaged; writing is refused until it is mended."""

    code = "store_corrupt"


class StoreVersionError(StoreError):
    """A newer Hermes Memory wrote this; it is not written, and read only where that is safe."""

    code = "store_version"


class StoreFullError(StoreError):
    """There is no room on the disk; nothing was half written."""

    code = "store_full"


class PluginError(HermesMemoryError):
    """A plugin cannot be installed or loaded; the others are not affected."""

    code = "plugin"


class PluginLoadError(PluginError):
    """Import, configuration, construction or validation failed; ``details`` has ``phase``."""

    code = "plugin_load"


class PluginConflictError(PluginError):
    """Two plugins claim the same name or the one external seat; both are named."""

    code = "plugin_conflict"
    exit_code = 5


class PluginVersionError(PluginError):
    """The plugin was written for another version of the hook spec; it was not imported."""

    code = "plugin_version"


class PluginInstallError(PluginError):
    """The installer refused or failed; the environment is as it was."""

    code = "plugin_install"


class ProviderError(HermesMemoryError):
    """An external provider did not do its part. Providers raise the subclasses of this."""

    code = "provider"
    exit_code = 4


class ProviderUnavailableError(ProviderError):
    """No answer: refused, unreachable, 5xx. Trying again can help."""

    code = "provider_unavailable"
    default_retryable = True


class ProviderTimeoutError(ProviderError):
    """The deadline passed before an answer came."""

    code = "provider_timeout"
    default_retryable = True


class ProviderBusyError(ProviderError):
    """As many calls as allowed are in flight already, or the breaker is open."""

    code = "provider_busy"
    default_retryable = True


class ProviderRateLimitError(ProviderError):
    """Asked to slow down; ``details["retry_after_s"]`` says for how long where known."""

    code = "provider_rate_limit"
    default_retryable = True


class ProviderAuthError(ProviderError):
    """The key is missing, expired or refused. Items wait until it is mended."""

    code = "provider_auth"
    default_retryable = True


class ProviderRejectedError(ProviderError):
    """The service will never take this input; the item goes to the dead letters, the lane goes on."""

    code = "provider_rejected"


class ProviderBadResponseError(ProviderError):
    """The answer cannot be understood (wrong shape, 200 with an error inside)."""

    code = "provider_bad_response"
    default_retryable = True
