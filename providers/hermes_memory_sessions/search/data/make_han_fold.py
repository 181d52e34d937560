"""Development tool: writes ``han_fold.txt`` from OpenCC's ``TSCharacters.txt``; not imported at run time."""

from __future__ import annotations

import sys
from pathlib import Path


def pairs(source: str) -> dict[str, str]:
    """Traditional to simplified, single characters only, chains followed to their end."""
    table: dict[str, str] = {}
    for line in source.splitlines():
        traditional, _, targets = line.partition("\t")
        simplified = targets.split(" ")[0].strip()
        if len(traditional) == 1 and len(simplified) == 1 and traditional != simplified:
            table[traditional] = simplified
    for start in list(table):
        seen, end = {start}, table[start]
        while end in table and end not in seen:
            seen.add(end)
            end = table[end]
        table[start] = end
    return {start: end for start, end in sorted(table.items()) if start != end}


def main() -> None:
    """``python make_han_fold.py TSCharacters.txt``."""
    table = pairs(Path(sys.argv[1]).read_text(encoding="utf-8"))
    target = Path(__file__).with_name("han_fold.txt")
    target.write_text("".join(table) + "\n" + "".join(table.values()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
