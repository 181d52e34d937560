"""Writes the reference pages that come from the code: hooks, errors, settings.

python docs/_tools/code_reference.py            # write
python docs/_tools/code_reference.py --check    # exit 1 where a page is out of date
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from hermes_memory_core import errors
from hermes_memory_core.config.defaults import DEFAULTS
from hermes_memory_core.hookspecs import HOOK_NAMES, ProviderSpec

DOCS = Path(__file__).resolve().parent.parent
NOTE = "<!-- written by docs/_tools/code_reference.py; change the code instead -->\n"


def hooks_page() -> str:
    module = sys.modules[ProviderSpec.__module__]
    parts = [NOTE, "# All hooks\n", _plain(module.__doc__ or "")]
    for name in vars(ProviderSpec):
        if name not in HOOK_NAMES:
            continue
        function = getattr(ProviderSpec, name)
        signature = inspect.signature(function)
        arguments = [str(p) for p in list(signature.parameters.values())[1:]]
        shown = f"{name}({', '.join(arguments)}) -> {signature.return_annotation}"
        parts += [f"## `{name}`\n", f"```python\n{shown}\n```\n", _plain(function.__doc__ or "")]
    return "\n".join(parts)


def errors_page() -> str:
    tree = (errors.__doc__ or "").split("\n\n")
    parts = [
        NOTE,
        "# Errors\n",
        (
            "Every error has a stable `code`, a `message` (what happened, what was kept), a `hint` (the next command), "
            "`details` for programs, and says whether trying again can help.\n"
        ),
        f"```text\n{textwrap.dedent(tree[1])}\n```\n",
        "| error | code | exit | try again | meaning |\n|---|---|---|---|---|",
    ]
    for _, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.HermesMemoryError):
            first = (kind.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
            parts.append(
                f"| `{kind.__name__}` | `{kind.code}` | {kind.exit_code} | "
                f"{'yes' if kind.default_retryable else 'no'} | {' '.join(first.split())} |"
            )
    return "\n".join(parts) + "\n"


def settings_page() -> str:
    from hermes_memory_core.config.models import TASKS, Settings

    parts = [
        NOTE,
        "# Settings\n",
        (
            "`config.yaml` in the profile's directory; comments are kept when a command changes it. "
            "`hermes config explain KEY` says the same on the command line, with the value in force and where it "
            "comes from. Environment: `HERMES_MEMORY_<SECTION>__<KEY>`.\n"
        ),
        "| key | default | meaning |\n|---|---|---|",
    ]
    parts += _rows(Settings, DEFAULTS, "")
    for task, model in TASKS.items():
        rows = _rows(model, DEFAULTS["auxiliary"][task], f"auxiliary.{task}.")
        place = next(i for i, line in enumerate(parts) if line.startswith("| `auxiliary` |")) + 1
        parts[place:place] = rows
    return "\n".join(parts) + "\n"


def _rows(model: object, defaults: object, prefix: str) -> list[str]:
    rows = []
    for name, field in model.model_fields.items():  # type: ignore[attr-defined]
        key = f"{prefix}{name}"
        value = defaults[name]  # type: ignore[index]
        inner = field.annotation
        if inspect.isclass(inner) and hasattr(inner, "model_fields"):
            rows += _rows(inner, value, f"{key}.")
        else:
            shown = (
                ""
                if value in ("", None, {}, []) or isinstance(value, dict)
                else f"`{str(value).lower() if isinstance(value, bool) else value}`"
            )
            rows.append(f"| `{key}` | {shown} | {field.description or ''} |")
    return rows


def _plain(text: str) -> str:
    """A docstring as Markdown: double backticks to single, argument lists as bullets."""
    text = inspect.cleandoc(text).replace("``", "`")
    lines, in_arguments = [], False
    for line in text.splitlines():
        if line.strip() in ("Args:", "Returns:", "Raises:"):
            in_arguments = True
            lines += ["", f"**{line.strip()[:-1]}**", ""]
        elif in_arguments and line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(":")
            lines.append(f"- `{name}`:{rest}")
        else:
            lines.append(line.strip() if in_arguments else line)
    return "\n".join(lines) + "\n"


PAGES = {
    "plugin/hooks.md": hooks_page,
    "reference/errors.md": errors_page,
    "reference/settings.md": settings_page,
}


def main() -> int:
    check = "--check" in sys.argv
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"out of date: {', '.join(stale)}\n→ python docs/_tools/code_reference.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
