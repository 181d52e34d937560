"""Copies of installed distributions, so that an installation that fails leaves everything as it was.

A copy is made of every distribution that is about to be replaced; nothing is downloaded to undo something.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_core.errors import PluginInstallError
from hermes_memory_core.plugins.environment import Installed, Snapshot, read_environment
from hermes_memory_core.plugins.installer import Installer


@dataclass(frozen=True, slots=True)
class Backup:
    """Files of distributions as they were: where each copy stands and where it belongs."""

    files: Mapping[Path, Path]
    """Original path to copy."""
    before: Snapshot


def back_up(names: Iterable[str], before: Snapshot, directory: Path) -> Backup:
    """Copy the files of these distributions below ``directory``.

    Raises:
        PluginInstallError: One has no list of its files; the installer could not replace it either.
    """
    files: dict[Path, Path] = {}
    for name in names:
        installed = before.get(name)
        if installed is None:
            continue
        if not installed.recorded:
            raise PluginInstallError(
                f"{installed.name} {installed.version} would have to be replaced, but it was not installed "
                "by uv or pip (it has no list of its files); nothing was changed.",
                hint="install Hermes Memory into a virtual environment of its own",
            )
        for path in _files_of(installed):
            copy = directory / str(len(files))
            shutil.copy2(path, copy)
            files[path] = copy
    return Backup(files, before)


def roll_back(installer: Installer, backup: Backup, names: Iterable[str]) -> list[str]:
    """Bring the environment back to what it was.

    Args:
        installer: Uninstalls what is new.
        backup: From before.
        names: Distributions the installation was about to change; no other is touched.

    Returns:
        What could not be brought back, a sentence each; empty when all is as it was.
    """
    now = read_environment(installer.python)
    names = list(names)
    changed = [
        name
        for name in names
        if now.version(name) is not None and now.get(name) != backup.before.get(name)
    ]
    problems = []
    if changed:
        try:
            installer.uninstall(changed)
        except PluginInstallError as error:
            problems.append(f"{', '.join(changed)} could not be uninstalled: {error.message}")
    for path, copy in backup.files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(copy, path)
        except OSError as error:
            problems.append(f"{path} could not be put back: {error}")
    after = read_environment(installer.python)
    for name in names:
        old, left = backup.before.version(name), after.version(name)
        if old != left:
            problems.append(f"{name} is {left or 'gone'} and was {old or 'not there'}")
    return problems


def _files_of(installed: Installed) -> Iterator[Path]:
    root = Path(installed.root)
    record = Path(installed.info) / "RECORD"
    with record.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            path = root / row[0] if row else root
            if row and path.is_file() and path.suffix != ".pyc":
                yield path
