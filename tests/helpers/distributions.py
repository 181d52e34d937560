"""Installed plugins without installing: a module and a hand-made ``*.dist-info`` on ``sys.path``."""

from __future__ import annotations

import importlib
import sys
import textwrap

import pytest

from hermes_memory_core.plugins.discover import forget_cache


class Site:
    """A directory on ``sys.path`` that plays site-packages."""

    def __init__(self, path, monkeypatch):
        self.path = path
        path.mkdir()
        self._monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(str(path))

    def add(
        self,
        name,
        code,
        *,
        distribution=None,
        requires="hermes-memory-core>=0.1,<0.2",
        attribute="Provider",
        version="1.2.3",
    ):
        """Install module ``fake_<name>`` with the code, offered as provider ``name``."""
        distribution = distribution or f"hermes-memory-{name}"
        module = f"fake_{distribution.replace('-', '_')}_{name}"
        (self.path / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        info = self.path / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        requirement = f"Requires-Dist: {requires}\n" if requires else ""
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n{requirement}\n"
        )
        with (info / "entry_points.txt").open("a") as file:
            if file.tell() == 0:
                file.write("[hermes_memory.providers]\n")
            file.write(f"{name} = {module}:{attribute}\n")
        self._monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.invalidate_caches()
        forget_cache()
        return module


@pytest.fixture
def site(tmp_path, monkeypatch):
    yield Site(tmp_path / "site", monkeypatch)
    forget_cache()
