"""Pages that are true: code in them runs, links lead somewhere, nothing of a machine or workplace is named."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
RUN = [
    ROOT / "README.md",
    ROOT / "README.zh-CN.md",
    ROOT / "docs/tutorial/first-memory.md",
    ROOT / "docs/how-to/embed-in-a-host.md",
    ROOT / "docs/how-to/forget.md",
    ROOT / "docs/how-to/profiles.md",
    ROOT / "docs/how-to/search-history.md",
    ROOT / "docs/plugin/getting-started.md",
]


def blocks(page):
    return re.findall(
        r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
@pytest.mark.timeout(30)
def test_the_code_of_the_page_runs_from_top_to_bottom(page, home, capsys):
    namespace = {"__name__": "page"}
    for number, code in enumerate(blocks(page), 1):
        exec(compile(code, f"{page.name} block {number}", "exec"), namespace)


def test_the_readme_example_is_ten_lines_and_prints_true(home, capsys):
    (code,) = blocks(ROOT / "README.md")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(code, {})
    assert capsys.readouterr().out.strip() == "True"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_nothing_of_a_machine_or_workplace_is_named():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # put together here, so that this file does not name them
    forbidden = [
        "/wo" + "rk/main",
        "/wo" + "rk/shared",
        "/ro" + "ot/",
        "files.pythonh" + "osted",
        "pypi." + "org",
        "registry.npm" + "js",
    ]
    for name in files.stdout.splitlines():
        path = ROOT / name
        if (
            path.suffix in (".py", ".md", ".toml", ".yaml", ".yml", ".json", ".jsonl", "", ".txt")
            and path.is_file()
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            found = [word for word in forbidden if word in text]
            assert not found, f"{name}: {found}"
