"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.cli.plain_text import one_line


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, indented, each column as wide as its widest cell."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    form = "".join(f"  %-{max(map(len, column))}s" for column in zip(*rows, strict=True))
    return [(form % tuple(row)).rstrip() for row in rows]


def abbreviations(names: Sequence[str]) -> dict[str, str]:
    """Return the capitals of each name, made distinct by a number where two have the same."""
    used: dict[str, int] = {}
    out = {}
    for name in names:
        letters = "".join(letter for letter in name if letter.isupper()) or name[:3]
        used[letters] = used.get(letters, 0) + 1
        out[name] = letters if used[letters] == 1 else f"{letters}{used[letters]}"
    return out
