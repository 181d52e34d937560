"""The catalog: the shipped file, a replacement by path or URL, and what a damaged or hostile one does."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hermes_memory_core.plugins import catalog
from hermes_memory_core.plugins.scaffold import core_range
from hermes_memory_core.version import VERSION

ONE = {"name": "sea", "distribution": "acme-sea", "summary": "Waves.", "versions": ">=1,<2"}


def text(*plugins, schema=catalog.SCHEMA):
    return json.dumps({"schema": schema, "plugins": list(plugins)})


@contextmanager
def served(body=b"", status=200, headers=(), pause=0.0):
    """A loopback server that answers everything with this; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            for start in range(0, len(body), 64):
                if pause:
                    time.sleep(pause)
                try:
                    self.wfile.write(body[start : start + 64])
                except OSError:
                    return

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/catalog.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_shipped_catalog_is_whole_and_fits_this_core():
    shipped = catalog.shipped()
    names = [entry.name for entry in shipped.entries]
    official = {
        "honcho",
        "mem0",
        "hindsight",
        "supermemory",
        "openviking",
        "holographic",
        "example",
    }
    assert official <= set(names)
    assert len(names) == len(set(names))
    from packaging.requirements import Requirement

    for entry in shipped.entries:
        assert entry.summary.endswith(".")
        assert Requirement(entry.requirement).name == entry.distribution
        if entry.tier == "official":
            assert entry.distribution == f"hermes-memory-{entry.name}"
            assert entry.versions == core_range(VERSION)


def test_a_name_is_found_however_it_is_written():
    found = catalog.parse(text({**ONE, "name": "deep-sea"}))[0]
    one = catalog.Catalog(found)
    assert one.find("Deep_Sea") == one.find("deep.sea") == one.find(" deep-sea ") == found[0]
    assert one.find("deepsea") is None


@pytest.mark.parametrize("typed", ["hnocho", "honch", "hermes-memory-honco", "Honcho2"])
def test_a_near_miss_says_what_was_meant(typed):
    assert catalog.shipped().near(typed)[0] == "honcho"


def test_search_wants_every_word():
    found = catalog.shipped().search("SQLite local")
    assert {entry.name for entry in found} == {"holographic", "example"}
    assert len(catalog.shipped().search("")) == len(catalog.shipped().entries)
    assert catalog.shipped().search("no such word anywhere") == []


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        "null",
        '{"plugins": []}',
        text(schema="hermes-memory/catalog/99"),
        '{"schema": "hermes-memory/catalog/1"}',
        "[" * 100_000,
    ],
)
def test_a_catalog_that_is_none_falls_back_and_says_so(tmp_path, broken):
    path = tmp_path / "catalog.json"
    path.write_text(broken)
    found = catalog.load(str(path))
    assert found.find("honcho") is not None
    assert str(path) in found.warning
    assert "shipped" in found.warning


@pytest.mark.parametrize("how", ["missing", "directory", "not text", "huge"])
def test_an_unreadable_catalog_falls_back_and_says_so(tmp_path, how):
    path = tmp_path / "catalog.json"
    if how == "directory":
        path.mkdir()
    elif how == "not text":
        path.write_bytes(b"\xff\xfe\xff")
    elif how == "huge":
        path.write_text(text(ONE) + " " * catalog.MAX_BYTES)
    found = catalog.load(str(path))
    assert found.source == "shipped"
    assert found.warning


@pytest.mark.parametrize(
    "entry",
    [
        3,
        {},
        {**ONE, "name": "--upgrade"},
        {**ONE, "distribution": "acme sea"},
        {**ONE, "distribution": "acme @ https://example.org/x.whl"},
        {**ONE, "versions": ">=1; python_version>'3'"},
        {**ONE, "versions": "1 --index-url https://example.org"},
        {**ONE, "extras": ["a]"]},
        {**ONE, "extras": "abc"},
        {**ONE, "tier": "mine"},
        {**ONE, "local": "../../etc"},
        {**ONE, "summary": "x" * 501},
        {**ONE, "name": "good"},
    ],
)
def test_a_bad_entry_is_left_out_and_named_and_the_others_are_used(tmp_path, entry):
    path = tmp_path / "catalog.json"
    path.write_text(text({**ONE, "name": "good"}, entry))
    found = catalog.load(str(path))
    assert [one.name for one in found.entries] == ["good"]
    assert "entry 2" in found.warning


def test_somebody_elses_catalog_cannot_call_itself_official_or_point_into_this_checkout(tmp_path):
    path = tmp_path / "catalog.json"
    honcho = {
        "name": "honcho",
        "distribution": "evil-honcho",
        "tier": "official",
        "local": "honcho",
    }
    path.write_text(text({**ONE, "tier": "official", "local": "example"}, honcho))
    for entry in catalog.load(str(path)).entries:
        assert (entry.tier, entry.local) == ("community", "")


def test_a_catalog_from_a_url():
    with served(text(ONE).encode()) as url:
        found = catalog.load(url)
    assert found.warning == ""
    assert found.source == url
    assert found.find("sea").requirement == "acme-sea>=1,<2"


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 404},
        {"status": 302, "headers": [("Location", "http://127.0.0.1:1/elsewhere")]},
        {"body": b"<html>"},
        {"body": b" " * (catalog.MAX_BYTES + 70)},
    ],
)
def test_a_url_that_gives_no_catalog_falls_back_and_says_so(answer):
    with served(**answer) as url:
        found = catalog.load(url)
    assert found.source == "shipped"
    assert url in found.warning


def test_a_slow_download_is_given_up(monkeypatch):
    monkeypatch.setattr(catalog, "FETCH_TIMEOUT_S", 0.2)
    with served(text(ONE).encode() + b" " * 6400, pause=0.05) as url:
        started = time.monotonic()
        assert catalog.load(url).warning
    assert time.monotonic() - started < 3


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/c.json",
        "ftp://127.0.0.1/c",
        "file:///etc/passwd",
        "http://127.0.0.1:1/c",
    ],
)
def test_addresses_that_are_not_read(url):
    assert catalog.load(url).warning


def test_credentials_in_the_address_are_not_shown():
    found = catalog.load("http://me:hunter2@127.0.0.1:1/catalog.json")
    assert "hunter2" not in found.warning
    assert "***@" in found.warning
