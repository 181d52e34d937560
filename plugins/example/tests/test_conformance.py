"""Every promise of the hook spec, checked by the core's own kit. Nothing to write here."""

import pytest
from hermes_memory_core.testing import ProviderConformance

from hermes_memory_example import ExampleProvider


class TestConformance(ProviderConformance):
    """A check that cannot hold for your provider is marked with ``xfail(reason=...)``, never left out."""

    @pytest.fixture
    def provider_class(self):
        return ExampleProvider
