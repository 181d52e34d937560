"""Settings and secrets of one profile: reading, checking, changing, explaining. Knows no provider.

Nothing imported here needs pydantic or ruamel; both come in on first use.
"""

from hermes_memory_core.config.load import LoadedConfig, load_settings
from hermes_memory_core.config.secrets import Secrets

__all__ = ["LoadedConfig", "Secrets", "load_settings"]
