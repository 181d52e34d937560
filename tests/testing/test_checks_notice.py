"""A check that cannot fail proves nothing: each is shown a provider that breaks its promise."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from faults.reference.http import KEY, MadeUpService

from hermes_memory_core.testing import Harness
from hermes_memory_core.testing.checks.registry import CheckFailed, Skip, all_checks

from .broken import LOCAL, REMOTE

CHECKS = {one.id: one for one in all_checks()}


@pytest.fixture(autouse=True)
def stay_here():
    before = Path.cwd()
    yield
    os.chdir(before)


@pytest.mark.parametrize("name", LOCAL)
def test_a_broken_local_provider_is_noticed(name, tmp_path):
    secrets = {"api_key": "a-secret-of-some-length"} if "secret" in name else {}
    with (
        pytest.raises(CheckFailed) as caught,
        Harness(LOCAL[name], tmp_path, secrets=secrets) as harness,
    ):
        CHECKS[name].run(harness)
    assert caught.value.message.strip()


@pytest.mark.parametrize("name", REMOTE)
def test_a_broken_remote_provider_is_noticed(name, tmp_path):
    with MadeUpService() as service:
        config, secrets = {"base_url": service.url}, {"api_key": KEY}
        with pytest.raises(CheckFailed):
            with Harness(
                REMOTE[name], tmp_path, config=config, secrets=secrets, backend=service
            ) as harness:
                CHECKS[name].run(harness)


def test_a_hook_that_hangs_is_left_behind(tmp_path):
    class Hanging:
        def __init__(self, context):
            pass

    from hermes_memory_core import hookimpl

    Hanging.prefetch = hookimpl(lambda self, query: time.sleep(30))
    with Harness(Hanging, tmp_path) as harness:
        subject = harness.start()
        began = time.monotonic()
        with pytest.raises(CheckFailed, match="did not come back"):
            subject.call("prefetch", timeout_s=0.1)
        assert time.monotonic() - began < 2


def test_a_missing_hook_is_a_skip_not_a_pass(tmp_path):
    class Empty:
        def __init__(self, context):
            pass

    outcomes = {}
    for one in all_checks():
        root = tmp_path / one.id
        root.mkdir()
        if not one.hooks:
            continue
        with Harness(Empty, root) as harness:
            try:
                one.run(harness)
            except Skip:
                outcomes[one.id] = "skip"
    assert set(outcomes) == {one.id for one in all_checks() if one.hooks}
