"""Profiles: isolated memories below one home. Which one is meant, making and moving them, carrying them elsewhere.

Whose directory a store uses is always an explicit ``Profile``, never looked up again later. No store is opened here.
"""

from hermes_memory_core.profiles.archive import (
    ExportReport,
    ImportReport,
    export_profile,
    import_profile,
)
from hermes_memory_core.profiles.manage import (
    Contents,
    create_profile,
    delete_profile,
    profile_contents,
    rename_profile,
    use_profile,
)
from hermes_memory_core.profiles.resolve import (
    Profile,
    active_profile,
    list_profiles,
    resolve_home,
    resolve_profile,
)

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
