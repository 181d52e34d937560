"""What the package offers, and what finding a profile costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hermes_memory_core import profiles


def test_every_name_offered_is_there():
    assert profiles.__all__ == sorted(profiles.__all__)
    for name in profiles.__all__:
        assert getattr(profiles, name).__name__ == name
    with pytest.raises(AttributeError, match="nope"):
        profiles.nope  # noqa: B018


def test_finding_a_profile_imports_no_archive_code():
    code = (
        "import sys; from hermes_memory_core.profiles import resolve_profile, resolve_home;"
        "resolve_profile(resolve_home());"
        "assert not {'tarfile', 'gzip', 'pydantic', 'ruamel.yaml', 'filelock'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=4)
