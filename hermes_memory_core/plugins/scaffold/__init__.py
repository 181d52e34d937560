"""``hermes plugins new``: renders ``templates/`` into a complete distribution. The provider's code stands there.

Placeholders are words such as ``__NAME__``, replaced literally, so every template reads like the file it becomes.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.errors import UsageError
from hermes_memory_core.plugins.discover import BUILT_IN_NAMES
from hermes_memory_core.version import VERSION

TEMPLATES = Path(__file__).with_name("templates")

FILES = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    "CHANGELOG.md": "CHANGELOG.md.tmpl",
    "LICENSE": "LICENSE.tmpl",
    ".gitignore": "gitignore.tmpl",
    ".github/workflows/ci.yml": "ci.yml.tmpl",
    "src/__PACKAGE__/__init__.py": "package.py.tmpl",
    "src/__PACKAGE__/provider.py": "provider.py.tmpl",
    "src/__PACKAGE__/notebook.py": "notebook.py.tmpl",
    "src/__PACKAGE__/py.typed": "py.typed.tmpl",
    "tests/conftest.py": "conftest.py.tmpl",
    "tests/test_provider.py": "test_provider.py.tmpl",
    "tests/test_conformance.py": "test_conformance.py.tmpl",
}
"""What is written, and the template it is made of."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """One name in its four spellings."""

    name: str
    """The provider's: entry point, ``providers.NAME``, ``hermes memory use NAME``."""
    distribution: str
    package: str
    kind: str
    """The provider's class."""

    @property
    def word(self) -> str:
        """The name as the start of a tool's name."""
        return self.name.replace("-", "_")


def names_for(name: str) -> Names:
    """All spellings of a new provider's name.

    Raises:
        UsageError: It cannot be one.
    """
    name = name.strip()
    if not _NAME.fullmatch(name) or len(name) > 40:
        better = re.sub(r"[^a-z0-9]+", "-", name.lower())[:40].strip("-")
        better = better if _NAME.fullmatch(better) else "my-memory"
        raise UsageError(
            f"`{name}` cannot be a provider's name (small letters, digits, - and _); nothing was written.",
            hint=f"hermes plugins new {better}",
        )
    if name in BUILT_IN_NAMES or keyword.iskeyword(name) or name in ("core", "none", "off"):
        raise UsageError(
            f"`{name}` is taken; nothing was written.", hint=f"hermes plugins new my-{name}"
        )
    word = name.replace("-", "_")
    return Names(
        name=name,
        distribution=f"hermes-memory-{name.replace('_', '-')}",
        package=f"hermes_memory_{word}",
        # the suffix keeps a provider called `notebook`, `recall` or `turn` apart from the names its module imports
        kind="".join(part.capitalize() for part in word.split("_")) + "Provider",
    )


def core_range(version: str = VERSION) -> str:
    """The range of the core a plugin written today fits: this minor version."""
    major, minor = (int(part) for part in version.split(".")[:2])
    upper = f"{major}.{minor + 1}" if major == 0 else f"{major + 1}"
    return f">={major}.{minor},<{upper}"


def render(names: Names, *, author: str = "") -> dict[str, str]:
    """Every file of the new distribution: relative path to text."""
    words = {
        "__NAME__": names.name,
        "__WORD__": names.word,
        "__DISTRIBUTION__": names.distribution,
        "__PACKAGE__": names.package,
        "__CLASS__": names.kind,
        "__CORE_RANGE__": core_range(),
        "__AUTHOR__": " ".join(author.split()) or f"the authors of {names.distribution}",
    }
    return {
        _replace(path, words): _replace((TEMPLATES / template).read_text(encoding="utf-8"), words)
        for path, template in FILES.items()
    }


def write(names: Names, directory: Path, *, author: str = "") -> list[Path]:
    """Write the distribution; relative paths of what was written.

    Raises:
        UsageError: ``directory`` exists and is not empty, or cannot be written; nothing was.
    """
    if directory.is_symlink() or (
        directory.exists() and (not directory.is_dir() or any(directory.iterdir()))
    ):
        raise UsageError(
            f"`{directory}` exists already; nothing was written.",
            hint=f"hermes plugins new {names.name} --path DIRECTORY",
        )
    files = render(names, author=author)
    try:
        for path, text in files.items():
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"`{directory}` cannot be written: {error.strerror}.") from error
    return [Path(path) for path in files]


def _replace(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text
