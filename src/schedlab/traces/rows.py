"""Rows of CSV files, plain or compressed with gzip; every mistake has its line."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from schedlab.kernel.errors import SchedlabError


@dataclass(frozen=True, slots=True)
class Row:
    """One line, by the names of its columns."""

    values: Mapping[str, str]
    place: str

    def text(self, column: str) -> str:
        """Return what stands in a column, "" for nothing, and where the file has no such column."""
        return self.values.get(column, "").strip()

    def number(self, column: str, otherwise: float | None = None) -> float:
        """Return a number; raises SchedlabError when there is none and nothing else is to be taken."""
        text = self.text(column)
        if not text and otherwise is not None:
            return otherwise
        found = finite(text)
        if found is None:
            raise SchedlabError(
                f"{column} is {text!r}, not a number", location=self.place, hint="correct the line, or take it out"
            )
        return found


def finite(text: str) -> float | None:
    """Return a number; None for what is none, or has no end."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def read_rows(file: Path, columns: Sequence[str], *, has_header: bool = True) -> Iterator[Row]:
    """Yield the lines of a file.

    columns: those that must be named in the first line, or without a header the names of all, in order. Raises
    SchedlabError.
    """
    try:
        with _opened(file) as text:
            reader = csv.reader(text)
            names = next(reader, []) if has_header else list(columns)
            missing = [name for name in columns if name not in names]
            if missing:
                raise SchedlabError(
                    f"has no column {missing[0]}", location=f"{file}:1", hint=f"its columns are: {', '.join(names)}"
                )
            for values in reader:
                place = f"{file}:{reader.line_num}"
                if len(values) != len(names):
                    raise SchedlabError(
                        f"has {len(values)} fields",
                        location=place,
                        hint=f"{len(names)} are expected: {', '.join(names)}",
                    )
                yield Row(dict(zip(names, values, strict=True)), place)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SchedlabError(f"cannot be read: {error}", location=str(file), hint="name a CSV file") from error


def _opened(file: Path) -> IO[str]:
    return (
        gzip.open(file, "rt", encoding="utf-8", newline="")
        if file.suffix == ".gz"
        else file.open(encoding="utf-8", newline="")
    )
