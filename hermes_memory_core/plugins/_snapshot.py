"""Run by path under the interpreter that is looked at: prints its installed distributions as JSON.

Stands alone on purpose: it must work where this package, or any plugin, is broken. Imports nothing but the
standard library and no plugin.
"""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from typing import Any

GROUP = "hermes_memory.providers"


def describe(distribution: metadata.Distribution) -> dict[str, Any]:
    """What is asked about one distribution."""
    read = distribution.read_text
    points = read("entry_points.txt") or ""
    providers = []
    if GROUP in points:
        providers = [
            [point.name, point.value] for point in distribution.entry_points.select(group=GROUP)
        ]
    return {
        "name": distribution.metadata["Name"],
        "version": distribution.version,
        "requires": list(distribution.requires or ()),
        "providers": providers,
        "root": str(distribution.locate_file("")),
        "info": str(getattr(distribution, "_path", "")),
        "recorded": read("RECORD") is not None,
        "direct_url": read("direct_url.json") or "",
    }


def main() -> None:
    """Print everything."""
    found: dict[str, Any] = {}
    unreadable = []
    for distribution in metadata.distributions():
        try:
            one = describe(distribution)
            name = re.sub(r"[-_.]+", "-", one["name"]).lower()
        except Exception as error:  # noqa: BLE001 - one damaged folder must not hide the others
            unreadable.append([str(getattr(distribution, "_path", "?")), repr(error)])
            continue
        found.setdefault(name, one)
    json.dump({"prefix": sys.prefix, "found": found, "unreadable": unreadable}, sys.stdout)


if __name__ == "__main__":
    main()
