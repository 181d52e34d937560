"""Install this tree, editable, with the named dependency groups into a virtual environment: uv, else pip.

    python3 .ci/install.py .venv test check

Groups come from pyproject.toml, so pip versions that do not know ``--group`` do as well.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EDITABLE = (".", "plugins/hermes-command")


def main() -> int:
    venv, *groups = sys.argv[1:]
    python = str(ROOT / venv / "bin" / "python")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [line for group in groups for line in settings["dependency-groups"][group]]
    installer = (
        ["uv", "pip", "install", "--quiet", "--python", python]
        if shutil.which("uv")
        else [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    )
    editable = [part for path in EDITABLE for part in ("-e", path)]
    return subprocess.run([*installer, *editable, *requirements], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
