"""Profiles: isolated memories below one home. Which one is meant, making and moving them, carrying them elsewhere.

Whose directory a store uses is always an explicit ``Profile``, never looked up again later. No store is opened here.
Only finding a profile is imported at once; every host does that, and few make or pack one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hermes_memory_core.profiles.resolve import (
    Profile,
    active_profile,
    list_profiles,
    resolve_home,
    resolve_profile,
)

if TYPE_CHECKING:
    from hermes_memory_core.profiles.manage import (
        Contents,
        create_profile,
        delete_profile,
        profile_contents,
        rename_profile,
        use_profile,
    )
    from hermes_memory_core.profiles.pack import ExportReport, export_profile
    from hermes_memory_core.profiles.unpack import ImportReport, import_profile

__all__ = [
    "Contents",
    "ExportReport",
    "ImportReport",
    "Profile",
    "active_profile",
    "create_profile",
    "delete_profile",
    "export_profile",
    "import_profile",
    "list_profiles",
    "profile_contents",
    "rename_profile",
    "resolve_home",
    "resolve_profile",
    "use_profile",
]

_LATE = {
    "manage": (
        *("Contents", "create_profile", "delete_profile", "profile_contents"),
        *("rename_profile", "use_profile"),
    ),
    "pack": ("ExportReport", "export_profile"),
    "unpack": ("ImportReport", "import_profile"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATE.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
