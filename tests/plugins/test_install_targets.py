"""What a person typed, understood: and what is refused before anything is resolved."""

from __future__ import annotations

import pytest

from hermes_memory_core.errors import UsageError
from hermes_memory_core.plugins.answers import explain, parse_pip, parse_uv
from hermes_memory_core.plugins.catalog import Catalog, CatalogEntry, shipped
from hermes_memory_core.plugins.installer import clean_environment
from hermes_memory_core.plugins.targets import source_checkout, understand

SEA = Catalog((CatalogEntry("sea", "acme-sea", "Waves.", versions=">=1,<2", extras=("salt",)),))


@pytest.mark.parametrize("typed", ["sea", "SEA", " sea "])
def test_a_catalog_name_becomes_its_requirement_with_range_and_extras(typed):
    target = understand(typed, SEA)
    assert target.kind == "catalog"
    assert target.arguments == ("acme-sea[salt]>=1,<2",)


def test_an_official_name_installs_from_the_source_checkout():
    target = understand("example", shipped())
    assert target.kind == "checkout"
    assert target.arguments == (str(source_checkout() / "plugins" / "example"),)
    assert understand("example", shipped(), editable=True).arguments[0] == "--editable"


@pytest.mark.parametrize(
    ("typed", "kind", "argument"),
    [
        ("acme-land>=2", "requirement", "acme-land>=2"),
        ("acme-land", "requirement", "acme-land"),
        ("acme-land[x]==1.0", "requirement", "acme-land[x]==1.0"),
        ("acme @ https://example.org/acme.whl", "url", "acme @ https://example.org/acme.whl"),
        (
            "https://example.org/a-1-py3-none-any.whl",
            "url",
            "https://example.org/a-1-py3-none-any.whl",
        ),
        ("git+https://example.org/a/b@v1", "git", "git+https://example.org/a/b@v1"),
        ("https://github.com/a/b", "git", "git+https://github.com/a/b"),
        ("https://example.org/a/b.git@v1", "git", "git+https://example.org/a/b.git@v1"),
        ("ssh://git@example.org/a/b", "git", "git+ssh://git@example.org/a/b"),
    ],
)
def test_requirements_and_addresses(typed, kind, argument):
    target = understand(typed, SEA)
    assert (target.kind, target.arguments[-1]) == (kind, argument)


def test_directories_and_archives(tmp_path, monkeypatch):
    project = tmp_path / "mine"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "acme-mine"\n')
    wheel = tmp_path / "a-1-py3-none-any.whl"
    wheel.write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert understand("./mine", SEA).distribution == "acme-mine"
    assert understand("./mine", SEA).arguments == (str(project),)
    assert understand("a-1-py3-none-any.whl", SEA).kind == "file"
    (tmp_path / "sea").mkdir()
    assert understand("sea", SEA).kind == "catalog", (
        "a directory of that name shadows no catalog name"
    )


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "names no plugin"),
        ("--upgrade", "names no plugin"),
        ("-r/etc/passwd", "names no plugin"),
        ("files", "built in"),
        ("Sessions", "built in"),
        ("hnocho", "Did you mean `honcho`?"),
        ("hermes-memory-honco", "Did you mean `honcho`?"),
        ("two words", "neither a plugin"),
        ("a;b", "neither a plugin"),
        ("./nowhere", "There is no"),
        ("missing.whl", "There is no"),
        ("ftp://example.org/x.whl", "no address"),
        ("https://example.org/page", "neither an archive"),
        ("file:///etc/passwd", "neither an archive"),
    ],
)
def test_what_names_nothing_is_refused_with_the_next_command(typed, said):
    with pytest.raises(UsageError, match=r"nothing was|is built in|no address|neither") as caught:
        understand(typed, shipped())
    assert said in caught.value.message
    assert caught.value.hint.startswith("hermes ")


def test_a_near_miss_can_be_insisted_on():
    assert understand("hnocho>=0", shipped()).kind == "requirement"


def test_only_directories_are_editable():
    with pytest.raises(UsageError, match="directory"):
        understand("acme-land", SEA, editable=True)


def test_credentials_are_installed_with_and_never_shown():
    target = understand("git+https://me:hunter2@example.org/a/b", SEA)
    assert "hunter2" in target.arguments[-1]
    assert "hunter2" not in target.shown + target.said


def test_the_installers_environment_keeps_index_settings_and_loses_surprises_and_secrets():
    kept = {"PIP_INDEX_URL": "x", "UV_INDEX_TEAM_PASSWORD": "x", "UV_FIND_LINKS": "x", "PATH": "x"}
    lost = {
        "PIP_TARGET": "x",
        "PIP_USER": "1",
        "UV_SYSTEM_PYTHON": "1",
        "HONCHO_API_KEY": "x",
        "PIP_PREFIX": "/",
    }
    cleaned = clean_environment({**kept, **lost})
    assert kept.items() <= cleaned.items()
    assert not set(lost) & set(cleaned)


def test_pips_report():
    report = (
        """noise {"not": this}""".replace("{", "(").replace("}", ")")
        + """
    {"install": [
      {"metadata": {"name": "Acme_Sea", "version": "1.0", "requires_dist": ["x>=1"]}, "requested": true,
       "download_info": {"url": "https://i/a.whl", "archive_info": {"hashes": {"sha256": "ab"}}}},
      {"metadata": {"name": "b", "version": "2"}, "is_direct": true,
       "download_info": {"url": "https://i/b.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}, "subdirectory": "s"}},
      {"metadata": {"name": "c", "version": "3"}, "is_direct": true,
       "download_info": {"url": "file:///p/c%20d", "dir_info": {"editable": true}}},
      {"metadata": {"name": "d", "version": "4"}, "is_direct": true,
       "download_info": {"url": "https://i/d.whl", "archive_info": {}}}]}"""
    )
    assert [(change.name, change.pin, change.sha256) for change in parse_pip(report)] == [
        ("acme-sea", "acme-sea==1.0", "ab"),
        ("b", "b @ git+https://i/b.git@c0ffee#subdirectory=s", ""),
        ("c", "--editable file:///p/c%20d", ""),
        ("d", "d @ https://i/d.whl", ""),
    ]


def test_uvs_lines():
    said = "Resolved 3 packages\nWould install 3\n - acme-sdk==1.0\n + acme-sdk==2.0\n + b==1 (from file:///p)\n - gone==3\n + d @ git+https://i/d@c0ffee\n"
    changes = {change.name: change for change in parse_uv(said)}
    assert (changes["acme-sdk"].before, changes["acme-sdk"].after) == ("1.0", "2.0")
    assert changes["b"].pin == "b @ file:///p"
    assert (changes["d"].pin, changes["d"].after) == ("d @ git+https://i/d@c0ffee", "?")
    assert (changes["gone"].before, changes["gone"].after) == ("3", None)


@pytest.mark.parametrize(
    ("said", "word", "again"),
    [
        ("error: externally-managed-environment", "operating system", False),
        ("Failed to establish a new connection: Name or service not known", "reached", True),
        ("error: error sending request for url (https://x)", "reached", True),
        ("ERROR: No matching distribution found for x", "no such package", False),
        ("x was not found in the package registry", "no such package", False),
        ("ResolutionImpossible: conflicting dependencies", "contradict", False),
        ("Cannot find command 'git'", "git is not installed", False),
        ("No space left on device", "disk is full", False),
        ("something nobody has seen", "something nobody has seen", False),
    ],
)
def test_refusals_in_a_persons_words(said, word, again):
    error = explain("pip", said)
    assert word in error.message
    assert error.retryable is again
    assert error.hint


def test_a_refusal_never_shows_credentials():
    error = explain("pip", "ERROR: https://me:hunter2@example.org/simple cannot be read")
    assert "hunter2" not in str(error.to_dict())
