from __future__ import annotations

import pytest
from faults.reference.local import LocalProvider

from hermes_memory_core.testing import ProviderConformance


class TestLocal(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return LocalProvider
