"""Every promise of the hook spec, checked by the core's own kit against the stub."""

import pytest
from hermes_memory_honcho import HonchoProvider

from hermes_memory_core.testing import ProviderConformance


class TestConformance(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return HonchoProvider

    @pytest.fixture
    def provider_backend(self, stub):
        return stub

    @pytest.fixture
    def provider_config(self, stub):
        return {"base_url": stub.url}

    @pytest.fixture
    def provider_secrets(self, stub):
        stub.state.keys = {"hch-conformance-key": "*"}
        return {"api_key": "hch-conformance-key"}
