"""The kit's own parts: what cannot be taken out, the report, the doubles, the loopback server, the plugin."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from faults.reference.local import LocalProvider

from hermes_memory_core import Memory, hookimpl
from hermes_memory_core.errors import PluginLoadError, ProviderUnavailableError, UsageError
from hermes_memory_core.testing import (
    Backend,
    FakeMemory,
    LoopbackServer,
    ProviderConformance,
    RecordingProvider,
    Reply,
    run,
)
from hermes_memory_core.testing.checks.registry import all_checks

from .broken import local

# ---------------------------------------------------------------- the class


def _replacement():
    def says_yes(self, harness):
        """To everything."""

    return says_yes


def test_there_are_at_least_sixty_checks_and_every_hook_has_one():
    from hermes_memory_core.hookspecs import HOOK_NAMES

    checks = all_checks()
    assert len(checks) >= 60
    covered = {hook for one in checks for hook in one.hooks}
    assert covered == HOOK_NAMES
    assert len({one.title for one in checks}) == len(checks)


def test_no_standard_test_can_be_overridden_or_deleted():
    for body in (
        {"test_constructs": lambda self, harness: None},
        {"test_constructs": None},
        {"test_constructs": pytest.mark.xfail()(_replacement())},
        {"test_constructs": pytest.mark.xfail(reason=" ")(_replacement())},
        {"test_constructs": pytest.mark.skip(reason="no")(_replacement())},
        {"test_no_standard_test_is_missing": lambda self: None},
    ):
        with pytest.raises(TypeError, match="standard test"):
            type("TestMine", (ProviderConformance,), body)


def test_nor_by_a_class_in_between_or_afterwards():
    class Mixin:
        def test_constructs(self, harness):
            """Says yes to everything."""

    with pytest.raises(TypeError, match="overridden"):
        type("TestMixed", (Mixin, ProviderConformance), {})
    kind = type("TestLater", (ProviderConformance,), {})
    kind.test_constructs = None
    with pytest.raises(pytest.fail.Exception, match="deleted"):
        kind().test_no_standard_test_is_missing()


def test_an_expected_failure_with_a_reason_is_allowed():
    @pytest.mark.xfail(reason="the service keeps no ids")
    def marked(self, harness):
        """Expected to fail."""

    type("TestMine", (ProviderConformance,), {"test_constructs": marked})


# ---------------------------------------------------------------- the report


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_the_report_of_a_broken_provider_says_how_to_mend_it():
    report = run(
        local(system_block=lambda self: 7),
        only=lambda check: "whole" not in check.function.__module__,
    )
    assert not report.ok
    failed = {row.check for row in report.of("fail")}
    assert "system_block_is_text_or_nothing" in failed
    text = report.to_text()
    assert "FAIL `system_block` answers text or None" in text
    assert "→ return a str, or None for nothing" in text
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is False and data["counts"]["fail"] == len(failed)
    assert {row["outcome"] for row in data["rows"]} == {"pass", "fail", "skip"}


def test_one_fault_that_breaks_everything_is_told_once():
    class Unborn:
        def __init__(self, context):
            raise TypeError("one reason")

        @hookimpl
        def tools(self):
            return []

        @hookimpl
        def sync_turn(self, turn):
            return None

    report = run(Unborn)
    alike = [row for row in report.of("fail") if "Constructing it raised" in row.message]
    assert len(alike) > 10
    text = report.to_text()
    assert text.count(alike[0].message) == 1
    assert f"{len(alike) - 1} more for the same reason" in text
    assert report.to_text(verbose=True).count(alike[0].message) == len(alike)


def test_a_report_reads_nobodys_home(home):
    home.mkdir()
    (home / "config.yaml").write_text("{broken", encoding="utf-8")
    report = run(LocalProvider, only=lambda check: check.id in ("constructs", "it_opens_again"))
    assert report.ok
    assert [path.name for path in home.iterdir()] == ["config.yaml"]


def test_an_unknown_name_and_a_module_that_breaks_are_told(site):
    with pytest.raises(UsageError, match="No provider `nope`"):
        run("nope")
    site.add("boom", "raise SystemExit('at import')")
    with pytest.raises(PluginLoadError, match="cannot be imported"):
        run("boom")


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_an_installed_provider_is_found_by_name(site):
    site.add(
        "noted",
        """
        from hermes_memory_core import hookimpl

        class Provider:
            def __init__(self, context):
                self.context = context

            @hookimpl
            def system_block(self):
                return "static"
        """,
    )
    report = run("noted")
    assert (report.provider, report.distribution, report.version) == (
        "noted",
        "hermes-memory-noted",
        "1.2.3",
    )
    assert report.ok, report.to_text()


def test_a_provider_that_exits_in_a_check_does_not_end_the_report():
    def prefetch(self, query):
        raise SystemExit(3)

    report = run(local(prefetch=prefetch), only=lambda check: "prefetch" in check.hooks)
    assert any("SystemExit" in row.message for row in report.of("fail"))
    assert len(report.rows) == sum("prefetch" in check.hooks for check in all_checks())


# ---------------------------------------------------------------- doubles


def test_the_fake_memory_lets_errors_through_and_keeps_the_order(tmp_path):
    with FakeMemory(LocalProvider, root=tmp_path) as memory:
        with memory.session() as session:
            turn = session.end_turn("The mast is with quokka.")
            session.deliver(turn)
            assert session.begin_turn("where is quokka now?") == "- The mast is with quokka."
            assert session.call_tool("local_search", {"text": "mast"})["found"] == [
                "The mast is with quokka."
            ]
            with pytest.raises(UsageError):
                session.call_tool("other")
        assert memory.call("health").details == {"items": 1}
    with FakeMemory(LocalProvider, root=tmp_path) as memory:
        assert memory.call("health").details == {"items": 1}

    def sync_turn(self, turn):
        raise ProviderUnavailableError("down")

    with FakeMemory(local(sync_turn=sync_turn)) as memory, memory.session() as session:
        with pytest.raises(ProviderUnavailableError):
            session.end_turn("hello")


def test_the_recording_provider_records(home):
    with Memory.open(home, providers=[RecordingProvider]) as memory:
        provider = memory._profile.roster.external.instance
        provider.answer = "The tide is high at nine."
        with memory.session() as session:
            assert "The tide is high" in session.begin_turn("when is high tide?").text
            session.end_turn("when is high tide?", "At nine.")
            assert json.loads(session.call_tool("recording_echo", {"text": "a"}))["success"]
        assert memory.flush()
        assert [turn.user for turn in provider.of("sync_turn")] == ["when is high tide?"]
        assert provider.of("end_session") == ["exit"]


# ---------------------------------------------------------------- the loopback server


def test_the_loopback_server_answers_by_script():
    with LoopbackServer() as server:
        server.route("GET", "/a/{id}", Reply(503), lambda request: {"id": request.match[0]})
        assert isinstance(server, Backend)
        with pytest.raises(urllib.error.HTTPError) as caught:
            _get(f"{server.url}/a/1?x=y")
        caught.value.close()
        assert caught.value.code == 503
        assert json.loads(_get(f"{server.url}/a/7")) == {"id": "7"}
        with pytest.raises(urllib.error.HTTPError) as caught:
            _get(f"{server.url}/other")
        caught.value.close()
        assert caught.value.code == 404
        assert [request.path for request in server.seen("GET", "/a")] == ["/a/1", "/a/7"]
        assert server.seen()[0].query == {"x": "y"}


def test_the_loopback_server_plays_outages_and_comes_back():
    with LoopbackServer() as server:
        server.route("GET", "/", {})
        server.route("GET", "/", Reply(200, {"ok": 1}))
        with server.drop(), pytest.raises(OSError):
            _get(server.url + "/")
        with server.fail(429, "{}", {"Retry-After": "9"}):
            with pytest.raises(urllib.error.HTTPError) as caught:
                _get(server.url + "/")
            caught.value.close()
            assert caught.value.headers["Retry-After"] == "9"
        began = time.monotonic()
        with server.hang(30), pytest.raises(OSError):
            _get(server.url + "/", timeout=0.1)
        assert time.monotonic() - began < 2
        assert json.loads(_get(server.url + "/")) == {"ok": 1}
        url = server.url
    with pytest.raises(OSError):
        _get(url + "/")


def _get(url, timeout=5):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read()


# ---------------------------------------------------------------- the pytest plugin

USES_FIXTURES = """
import sys

def test_fixtures(memory, provider_context, fake_clock, hermes_home):
    provider = memory._profile.roster.external.instance
    with memory.session() as session:
        session.end_turn("hello", "hi")
    assert memory.flush()
    assert len(provider.of("sync_turn")) == 1
    fake_clock.forward(5)
    assert provider_context.clock() == fake_clock.now
    assert provider_context.data_dir.is_relative_to(hermes_home)
"""
CHEAP = """
import sys
loaded = sorted(name for name in sys.modules if name.startswith("hermes_memory_core"))

def test_nothing_was_imported():
    assert set(loaded) <= {
        "hermes_memory_core", "hermes_memory_core.testing", "hermes_memory_core.testing.pytest_plugin"
    }, loaded
    assert "pydantic" not in sys.modules
"""
CONFORMANCE = """
import pytest
from hermes_memory_core import hookimpl
from hermes_memory_core.testing import ProviderConformance

class Small:
    def __init__(self, context):
        pass

    @hookimpl
    def system_block(self):
        return 7

class TestSmall(ProviderConformance):
    @pytest.fixture
    def provider_class(self):
        return Small
"""


def _pytest(tmp_path, code):
    (tmp_path / "test_inner.py").write_text(code, encoding="utf-8")
    plugins = ["no:cacheprovider", "no:hermes_memory", "hermes_memory_core.testing.pytest_plugin"]
    options = [part for name in plugins for part in ("-p", name)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(60)
def test_the_plugin_gives_fixtures_and_costs_nothing(tmp_path):
    for name, code in (("uses", USES_FIXTURES), ("cheap", CHEAP)):
        folder = tmp_path / name
        folder.mkdir()
        done = _pytest(folder, code)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_failing_check_shows_one_sentence_and_no_traceback(tmp_path):
    done = _pytest(tmp_path, CONFORMANCE)
    assert done.returncode == 1
    assert "`system_block` returned a int." in done.stdout
    assert "→ return a str, or None for nothing" in done.stdout
    assert "During handling" not in done.stdout and "registry.py" not in done.stdout
