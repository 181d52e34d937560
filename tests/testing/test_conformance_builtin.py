"""The built-ins came in by the same door, so they keep the same promises."""

from __future__ import annotations

import pytest
from hermes_memory_files import FilesProvider
from hermes_memory_sessions import SessionsProvider

from hermes_memory_core.testing import ProviderConformance


class TestFiles(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return FilesProvider

    @pytest.fixture
    def provider_name(self):
        return "files"


class TestSessions(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return SessionsProvider

    @pytest.fixture
    def provider_name(self):
        return "sessions"
