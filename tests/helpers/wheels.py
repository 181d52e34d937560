"""Wheels written by hand and a virtual environment made by hand: real installs, no network, no build tools."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from pathlib import Path

import pytest

from hermes_memory_core.errors import PluginInstallError
from hermes_memory_core.plugins.answers import Change
from hermes_memory_core.plugins.installer import Installer

REPOSITORY = Path(__file__).resolve().parents[2]
CORE_REQUIREMENT = "hermes-memory-core>=0.1,<0.2"
GOOD = """
from hermes_memory_core import hookimpl
class Provider:
    def __init__(self, context):
        self.context = context
    @hookimpl
    def prefetch(self, query):
        return "VERSION"
    @hookimpl
    def health(self):
        from hermes_memory_core.types import Health
        return Health(True)
"""


def metadata_text(name, version, requires=()):
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    return "".join([*lines, *(f"Requires-Dist: {one}\n" for one in requires)])


def entry_points(providers):
    return "[hermes_memory.providers]\n" + "".join(
        f"{key} = {value}\n" for key, value in providers.items()
    )


def record_line(name, text):
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(text.encode())}\n"


def write_wheel(
    directory, name, version="1.0", *, requires=(CORE_REQUIREMENT,), providers=None, files=None
):
    """A wheel as pip takes it; its path."""
    stem = name.replace("-", "_")
    info = f"{stem}-{version}.dist-info"
    content = dict(files or {f"{stem}.py": "x = 1\n"})
    content[f"{info}/METADATA"] = metadata_text(name, version, requires)
    content[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    if providers:
        content[f"{info}/entry_points.txt"] = entry_points(providers)
    record = "".join(record_line(*item) for item in content.items()) + f"{info}/RECORD,,\n"
    path = Path(directory) / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for item, text in {**content, f"{info}/RECORD": record}.items():
            archive.writestr(item, text)
    return path


class Unzipper(Installer):
    """Installs the wheels of one directory by unpacking them, and removes what their RECORD names.

    As real on the disk as pip, in milliseconds: for tests of what happens around an installation.
    """

    @classmethod
    def of(cls, sandbox):
        unzipper = cls("pip", sandbox.python)
        object.__setattr__(unzipper, "sandbox", sandbox)
        return unzipper

    def resolve(self, arguments, constraints, *, upgrade=()):
        stem = arguments[-1].rpartition("/")[2].partition("-1")[0].replace("-", "_")
        found = sorted(self.sandbox.wheels.glob(f"{stem}-*.whl"))
        if not found:
            raise PluginInstallError("there is no such wheel")
        name, version = found[-1].name.split("-")[:2]
        return [Change(name.replace("_", "-"), None, version, f"{name}=={version}", requested=True)]

    def install(self, pins):
        for line in pins.read_text().splitlines():
            name, _, version = line.partition("==")
            for info in self.sandbox.site.glob(f"{name}-*.dist-info"):
                self._remove(info)
            wheel = self.sandbox.wheels / f"{name}-{version}-py3-none-any.whl"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self.sandbox.site)

    def uninstall(self, names):
        for name in names:
            (info,) = self.sandbox.site.glob(f"{name.replace('-', '_')}-*.dist-info")
            self._remove(info)

    def _remove(self, info):
        for line in (info / "RECORD").read_text().splitlines():
            (self.sandbox.site / line.split(",")[0]).unlink(missing_ok=True)
        shutil.rmtree(info)


class Sandbox:
    """An environment of its own that sees this one's packages, with the core installed in it."""

    def __init__(self, root, monkeypatch):
        self.root = root
        self.wheels = root / "wheels"
        self.wheels.mkdir(parents=True)
        self.venv = root / "venv"
        self.site = self.venv / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
        self.site.mkdir(parents=True)
        (self.venv / "bin").mkdir()
        base = Path(sys._base_executable).resolve()
        (self.venv / "bin" / "python").symlink_to(base)
        (self.venv / "pyvenv.cfg").write_text(
            f"home = {base.parent}\ninclude-system-site-packages = false\n"
        )
        shared = [sysconfig.get_paths()["purelib"], str(REPOSITORY), str(REPOSITORY / "providers")]
        lines = [f"import site; site.addsitedir({path!r})\n" for path in shared]
        (self.site / "shared.pth").write_text("".join(lines))
        self.put_info(
            "hermes-memory-core",
            "0.1.0",
            providers={
                "files": "hermes_memory_files:FilesProvider",
                "sessions": "hermes_memory_sessions:SessionsProvider",
            },
        )
        self.python = str(self.venv / "bin" / "python")
        for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
            monkeypatch.delenv(name)
        for name, value in {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
            "PIP_CONFIG_FILE": os.devnull,
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": str(self.wheels),
            "UV_NO_CONFIG": "1",
            "UV_OFFLINE": "1",
            "UV_CACHE_DIR": str(root / "uv-cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(root),
        }.items():
            monkeypatch.setenv(name, value)

    def put_info(self, name, version, *, requires=(), providers=None, recorded=True):
        """Metadata of a distribution, installed without any installer."""
        info = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(metadata_text(name, version, requires))
        if providers:
            (info / "entry_points.txt").write_text(entry_points(providers))
        if recorded:
            (info / "INSTALLER").write_text("pip\n")
            names = [f"{info.name}/{one.name}" for one in info.iterdir()]
            (info / "RECORD").write_text(
                "".join(f"{one},,\n" for one in [*names, f"{info.name}/RECORD"])
            )
        return info

    def plugin(self, name, version="1.0", code=GOOD, **more):
        """A wheel ``acme-NAME`` with one provider NAME."""
        module = f"acme_{name}"
        code = textwrap.dedent(code).replace("VERSION", version)
        return write_wheel(
            self.wheels,
            f"acme-{name}",
            version,
            providers=more.pop("providers", {name: f"{module}:Provider"}),
            files={f"{module}.py": code},
            **more,
        )

    def contents(self):
        """Every file of the environment's own packages, with its bytes: what "as it was" means."""
        return {
            str(path.relative_to(self.site)): path.read_bytes()
            for path in self.site.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }

    def commands(self, *lines):
        """JSON data of several command lines, run one after the other in one process."""
        script = (
            "import sys, json; from hermes_memory_core.cli import main\n"
            "for line in json.loads(sys.argv[1]): main([*line, '--json']); print('\\x1e')"
        )
        done = subprocess.run(
            [self.python, "-c", script, json.dumps([list(line) for line in lines])],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        answers = [json.loads(part) for part in done.stdout.split("\x1e") if part.strip()]
        return [answer.get("data", answer.get("error")) for answer in answers]

    def hermes(self, *arguments, stdin=None):
        """One command line in a process of the environment; (exit code, standard output, standard error)."""
        done = subprocess.run(
            [self.python, "-m", "hermes_memory_core", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            input=stdin or "",
        )
        return done.returncode, done.stdout, done.stderr

    def data(self, *arguments):
        """The JSON data (or error) of one command line."""
        _, out, err = self.hermes(*arguments, "--json")
        assert out, err
        answer = json.loads(out)
        return answer.get("data", answer.get("error"))


@pytest.fixture
def sandbox(tmp_path, monkeypatch):
    return Sandbox(tmp_path / "sandbox", monkeypatch)
