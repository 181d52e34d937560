"""The HTTP reference provider keeps every promise; with a backend no check is left out for want of one."""

from __future__ import annotations

import pytest
from faults.reference.http import KEY, HttpProvider, MadeUpService

from hermes_memory_core.testing import ProviderConformance, run


@pytest.fixture
def service():
    with MadeUpService() as server:
        yield server


class TestHttp(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return HttpProvider

    @pytest.fixture
    def provider_config(self, service):
        return {"base_url": service.url}

    @pytest.fixture
    def provider_secrets(self):
        return {"api_key": KEY}

    @pytest.fixture
    def provider_backend(self, service):
        return service


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_without_configuration_the_report_says_what_is_missing():
    report = run(HttpProvider)
    assert not report.of("fail")
    reasons = {row.message for row in report.of("skip") if row.wanting}
    assert any("`providers.remote.base_url`" in reason for reason in reasons)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_without_a_service_behind_it_nothing_is_blamed_on_the_provider(service):
    service.close()
    report = run(
        HttpProvider,
        config={"base_url": service.url},
        secrets={"api_key": KEY},
        only=lambda check: (
            check.id in ("a_turn_is_kept", "prefetch_answers_recall", "a_whole_conversation")
        ),
    )
    assert [row.outcome for row in report.rows] == ["skip"] * 3
    assert all(row.wanting for row in report.rows)
