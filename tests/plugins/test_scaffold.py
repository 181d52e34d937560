"""``plugins new``: what it writes works at once, is what the example in this repository is, and harms nothing."""

from __future__ import annotations

import ast
import compileall
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from helpers.wheels import REPOSITORY

from hermes_memory_core.errors import UsageError
from hermes_memory_core.plugins import scaffold
from hermes_memory_core.plugins.discover import FoundPlugin
from hermes_memory_core.plugins.load import check_version

EXAMPLE = REPOSITORY / "plugins" / "example"


def test_the_example_in_this_repository_is_what_the_scaffold_writes():
    files = scaffold.render(scaffold.names_for("example"))
    for path, text in files.items():
        assert (EXAMPLE / path).read_text(encoding="utf-8") == text, path
    there = {
        str(path.relative_to(EXAMPLE))
        for path in EXAMPLE.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache", ".ruff_cache"} & set(path.parts)
    }
    assert there == set(files)


def test_no_placeholder_and_no_other_name_is_left():
    for path, text in scaffold.render(scaffold.names_for("deep-sea"), author="A. Nyone").items():
        for found in (path, text):
            assert not any(
                word in found for word in ("__NAME__", "__WORD__", "__CLASS__", "__PACKAGE__")
            )
            assert "example" not in found.replace("for example", "")
    assert (
        "A. Nyone" in scaffold.render(scaffold.names_for("deep-sea"), author="A. Nyone")["LICENSE"]
    )


@pytest.mark.parametrize(
    ("name", "distribution", "package", "kind"),
    [
        ("sea", "hermes-memory-sea", "hermes_memory_sea", "SeaProvider"),
        ("deep-sea2", "hermes-memory-deep-sea2", "hermes_memory_deep_sea2", "DeepSea2Provider"),
        ("a_b", "hermes-memory-a-b", "hermes_memory_a_b", "ABProvider"),
    ],
)
def test_one_name_in_four_spellings(name, distribution, package, kind):
    names = scaffold.names_for(name)
    assert (names.distribution, names.package, names.kind) == (distribution, package, kind)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Sea",
        "1sea",
        "-sea",
        "sea-",
        "../sea",
        "a b",
        "sée",
        "files",
        "skills",
        "core",
        "none",
        "import",
        "x" * 41,
    ],
)
def test_names_that_cannot_be_are_refused_with_one_that_can(name):
    with pytest.raises(UsageError, match="nothing was written") as caught:
        scaffold.names_for(name)
    proposed = caught.value.hint.removeprefix("hermes plugins new ")
    assert scaffold.names_for(proposed)


def test_nothing_that_is_there_is_written_over(tmp_path):
    names = scaffold.names_for("sea")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for place in ("full", "file", "link"):
        with pytest.raises(UsageError, match="exists already"):
            scaffold.write(names, tmp_path / place)
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("version", "wanted"),
    [("0.1.0", ">=0.1,<0.2"), ("0.10.3", ">=0.10,<0.11"), ("2.4.1", ">=2.4,<3")],
)
def test_the_range_of_the_core(version, wanted):
    assert scaffold.core_range(version) == wanted


def test_the_metadata_fits_this_core(tmp_path):
    scaffold.write(scaffold.names_for("sea"), tmp_path / "sea")
    project = tomllib.loads((tmp_path / "sea" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["hermes_memory.providers"] == {
        "sea": "hermes_memory_sea:SeaProvider"
    }
    wanted = project["dependencies"][0].removeprefix("hermes-memory-core")
    check_version(FoundPlugin("sea", "x:Y", project["name"], "0.1.0", wanted))


@pytest.mark.parametrize(
    "name",
    ["notebook", "recall", "turn", "health", "scope", "field", "any", "base-model", "hookimpl"],
)
def test_a_name_that_the_module_uses_itself_does_no_harm(name, tmp_path):
    names = scaffold.names_for(name)
    module = scaffold.render(names)[f"src/{names.package}/provider.py"]
    tree = ast.parse(module)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert defined == [names.kind]
    assert not imported & set(defined)


@pytest.mark.process
@pytest.mark.timeout(120)
def test_what_is_written_compiles_and_passes_its_own_tests_and_the_conformance_kit(tmp_path):
    directory = tmp_path / "made"
    scaffold.write(scaffold.names_for("deep-sea"), directory)
    assert compileall.compile_dir(directory, quiet=2)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "failed" not in done.stdout


@pytest.mark.process
@pytest.mark.timeout(60)
def test_what_is_written_is_found_used_and_checked_once_it_is_installed(sandbox, tmp_path):
    directory = tmp_path / "made"
    scaffold.write(scaffold.names_for("deep-sea"), directory)
    (sandbox.site / "made.pth").write_text(f"{directory / 'src'}\n")  # as an editable install does
    sandbox.put_info(
        "hermes-memory-deep-sea",
        "0.1.0",
        requires=("hermes-memory-core>=0.1,<0.2",),
        providers={"deep-sea": "hermes_memory_deep_sea:DeepSeaProvider"},
    )
    listed, used, checked = sandbox.commands(
        ["plugins", "list"], ["memory", "use", "deep-sea"], ["plugins", "check", "deep-sea"]
    )
    assert [(row["name"], row["state"]) for row in listed] == [("deep-sea", "installed")]
    assert used["changed"]
    assert checked["ok"], checked
    assert checked["load"]["settings"] == ["max_results", "max_chars"]
    assert checked["load"]["warnings"] == []
    assert checked["conformance"]["data"]["counts"]["fail"] == 0
    assert checked["conformance"]["data"]["counts"]["pass"] > 60
    assert not list(Path(sandbox.root).rglob("notebook.db")), (
        "a check leaves nothing in anybody's home"
    )
