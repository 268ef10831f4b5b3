"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.cli.plain_text import one_line


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines, indented, each column as wide as its widest cell."""
    cells = [_on_one_line(column) for column in zip(*rows, strict=True)]
    form = "".join(f"  %-{max(map(len, column))}s" for column in cells)
    return [(form % row).rstrip() for row in zip(*cells, strict=True)]


def _on_one_line(column: Sequence[str]) -> Sequence[str]:
    return column if "".join(column).isprintable() else [one_line(cell) for cell in column]


def abbreviations(names: Sequence[str]) -> dict[str, str]:
    """Return the capitals of each name, made distinct by a number where two have the same."""
    used: dict[str, int] = {}
    out = {}
    for name in names:
        letters = "".join(letter for letter in name if letter.isupper()) or name[:3]
        used[letters] = used.get(letters, 0) + 1
        out[name] = letters if used[letters] == 1 else f"{letters}{used[letters]}"
    return out
