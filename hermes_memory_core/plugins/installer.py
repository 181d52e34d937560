"""uv or pip as a subprocess for one interpreter: the commands, their environment, their answers.

Never a shell and never pip's own code in this process. What to do with an answer is decided in ``install``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes_memory_core.errors import PluginInstallError
from hermes_memory_core.plugins.answers import Change, explain, parse_pip, parse_uv
from hermes_memory_core.plugins.targets import without_credentials

RESOLVE_TIMEOUT_S = 600.0
INSTALL_TIMEOUT_S = 1800.0
"""A plugin's dependencies may have to be downloaded or built."""

Program = Literal["uv", "pip"]

_SURPRISES = frozenset(
    (
        *(
            "TARGET",
            "PREFIX",
            "ROOT",
            "USER",
            "DRY_RUN",
            "REPORT",
            "QUIET",
            "VERBOSE",
            "LOG",
            "PYTHON",
        ),
        *(
            "UPGRADE",
            "UPGRADE_STRATEGY",
            "FORCE_REINSTALL",
            "IGNORE_INSTALLED",
            "NO_DEPS",
            "EDITABLE",
        ),
        *("REQUIREMENT", "REQUIREMENTS", "REQUIRE_HASHES", "REINSTALL", "REINSTALL_PACKAGE"),
        *("SYSTEM_PYTHON", "BREAK_SYSTEM_PACKAGES"),
    )
)
"""``PIP_…`` and ``UV_…`` settings that would install something else, or elsewhere, than was shown."""
_KEPT = ("PIP_", "UV_", "GIT", "SSH_")
"""Settings of indexes and of git may hold credentials and are needed."""


def _quietly(_line: str) -> None:
    """Nobody wants to hear the commands."""


@dataclass(frozen=True, slots=True)
class Installer:
    """The program that installs for ``python``.

    Args:
        program: ``uv`` or ``pip``.
        python: The interpreter that is installed for.
        uv: Path of uv's binary, where that is the program.
        tell: Gets every command before it runs.
    """

    program: Program
    python: str
    uv: str = ""
    environ: Mapping[str, str] | None = None
    tell: Callable[[str], None] = _quietly

    @property
    def _base(self) -> list[str]:
        if self.program == "uv":
            return [self.uv, "pip"]
        return [self.python, "-m", "pip", "--no-input", "--disable-pip-version-check"]

    def install_command(self, pins: Path) -> list[str]:
        """Installs exactly what a file of pins names, and nothing with it."""
        if self.program == "uv":
            where = ["--python", self.python]
            return [*self._base, "install", *where, "--no-deps", "--requirements", str(pins)]
        return [*self._base, "install", "--no-deps", "--requirement", str(pins)]

    def resolve(
        self, arguments: Sequence[str], constraints: Path, *, upgrade: Sequence[str] = ()
    ) -> list[Change]:
        """What an installation would do; nothing is changed.

        Args:
            arguments: What is asked for.
            constraints: File with versions that must stay.
            upgrade: Distributions to move to the newest version that fits.

        Raises:
            PluginInstallError: It cannot be resolved, or the installer does not answer.
        """
        asked = [*arguments[:-1], *(["--"] if arguments[:-1] == () else []), arguments[-1]]
        if self.program == "uv":
            options = ["--python", self.python, "--dry-run", "--constraints", str(constraints)]
            for name in upgrade:
                options += ["--upgrade-package", name]
            answer = self._run([*self._base, "install", *options, *asked], RESOLVE_TIMEOUT_S)
            return parse_uv(answer.stderr)
        with tempfile.TemporaryDirectory(prefix="hermes-plugins-") as directory:
            report = Path(directory) / "report.json"
            options = ["--dry-run", "--report", str(report), "--constraint", str(constraints)]
            options += ["--upgrade", "--upgrade-strategy", "only-if-needed"] if upgrade else []
            self._run([*self._base, "install", *options, *asked], RESOLVE_TIMEOUT_S)
            return parse_pip(report.read_text(encoding="utf-8") if report.exists() else "")

    def install(self, pins: Path) -> None:
        """Install what the file of pins names.

        Raises:
            PluginInstallError: It failed; parts may be installed.
        """
        self._run(self.install_command(pins), INSTALL_TIMEOUT_S)

    def uninstall(self, names: Sequence[str]) -> None:
        """Uninstall distributions, their dependencies stay.

        Raises:
            PluginInstallError: It failed.
        """
        if self.program == "uv":
            command = [*self._base, "uninstall", "--python", self.python, "--", *names]
        else:
            command = [*self._base, "uninstall", "--yes", "--", *names]
        self._run(command, RESOLVE_TIMEOUT_S)

    def _run(self, command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        self.tell("$ " + show(command))
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=clean_environment(os.environ if self.environ is None else self.environ),
                start_new_session=True,
            )
        except OSError as error:
            raise PluginInstallError(
                f"`{command[0]}` cannot be started ({error}); nothing was changed."
            ) from error
        try:
            out, err = process.communicate(timeout=timeout_s)
        except BaseException as error:
            _stop(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise PluginInstallError(
                    f"{self.program} did not finish within {timeout_s:.0f} s and was stopped.",
                    hint="look at the network and the package index, then try again",
                    retryable=True,
                ) from error
            raise
        if process.returncode != 0:
            raise explain(self.program, f"{out}\n{err}")
        return subprocess.CompletedProcess(command, 0, out, err)


def choose(
    python: str = sys.executable,
    wanted: str | None = None,
    *,
    core_inside: bool = True,
    tell: Callable[[str], None] = _quietly,
) -> Installer:
    """The installer to use: the wanted one, else uv where it is found, else pip.

    Args:
        python: The interpreter.
        wanted: ``uv`` or ``pip``; None for whichever is there.
        core_inside: Whether the core is installed in the interpreter's own environment. uv does not see what a
            virtual environment borrows from the system, and would install the core a second time.
        tell: See ``Installer``.

    Raises:
        PluginInstallError: Neither is there, or not the wanted one.
    """
    uv = shutil.which("uv") or _uv_beside(python)
    if wanted == "uv" or (wanted is None and uv and core_inside):
        if uv:
            return Installer("uv", python, uv, tell=tell)
        raise PluginInstallError("uv is not found; nothing was changed.", hint="pip install uv")
    if _has_pip(python):
        return Installer("pip", python, tell=tell)
    raise PluginInstallError(
        f"There is neither uv nor pip for `{python}`; nothing was changed.",
        hint=f"{python} -m ensurepip, or install uv",
    )


def _uv_beside(python: str) -> str | None:
    beside = Path(python).with_name("uv")
    return str(beside) if beside.is_file() and os.access(beside, os.X_OK) else None


def _has_pip(python: str) -> bool:
    with suppress(OSError, subprocess.SubprocessError):
        code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pip') is None)"
        done = subprocess.run(
            [python, "-P", "-c", code], capture_output=True, timeout=30, check=False
        )
        return done.returncode == 0
    return False


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment an installer gets: the person's index settings, no surprises, no strangers' secrets.

    A package may run code of its own while it is built, so keys of other services are left out.
    """
    from hermes_memory_core.config.load import is_secret_key

    cleaned = {}
    for name, value in environ.items():
        prefix, _, rest = name.partition("_")
        if prefix in ("PIP", "UV") and rest in _SURPRISES:
            continue
        if is_secret_key(name) and not name.startswith(_KEPT):
            continue
        cleaned[name] = value
    cleaned.setdefault("PIP_RETRIES", "2")  # offline must be said in seconds, not minutes
    cleaned.setdefault("PIP_DEFAULT_TIMEOUT", "20")
    cleaned.setdefault("GIT_TERMINAL_PROMPT", "0")
    cleaned["PIP_ROOT_USER_ACTION"] = "ignore"
    cleaned["NO_COLOR"] = "1"
    return cleaned


def show(command: Sequence[str]) -> str:
    """A command line as a person would type it, credentials left out."""
    import shlex

    return without_credentials(shlex.join(command))


def _stop(process: subprocess.Popen[str]) -> None:
    """End an installer with all it started, politely first: pip then cleans up behind itself."""
    for how in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
            return
