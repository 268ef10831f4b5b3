"""What plugins and clients say may hold anything; a terminal is shown letters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schedlab.cli import plain_text
from schedlab.cli.columns import columns
from schedlab.cli.plain_text import clipped, one_line, plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("größer, 日本", "größer, 日本", id="letters of any script stay"),
        pytest.param("a\nb\tc", "a\nb\tc", id="so do lines and tabs"),
        pytest.param(
            "\x1b[31mred\x00\r\x9b", "\\x1b[31mred\\x00\\x0d\\x9b", id="commands of a terminal are written out"
        ),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_a_cell_is_on_one_line() -> None:
    assert one_line("a\nb\tc\x1b") == r"a\nb\tc\x1b"
    assert columns([["A", "B"], ["x\ny", "z"]]) == ["  A     B", r"  x\ny  z"]


def test_a_long_text_is_cut_and_says_so() -> None:
    assert clipped("x" * 1000) == "x" * 1000
    assert clipped("x" * 1001) == "x" * 1000 + "… (1001 characters, -o json has them all)"


#: What is counted: things, with a word or two before them, or what they do.
THINGS = (
    "additions|assertions|attempts|changes|configurations|decisions|deletions|events|files|lines|metrics"
    "|nodes|objects|pods|points|preemptions|runs|seeds|steps|tests|trials|tries|updates|victims|fit|hold|wait"
)
#: `N pods` of a number that is written out as it is may be `1 pods`.
COUNTS = re.compile(rf"\{{[^{{}}:]+\}} (?:[a-z]+ ){{0,2}}(?:{THINGS})\b(?!/)")


def test_every_number_of_things_is_counted() -> None:
    """Refusals speak of numbers that are never one."""
    for file in sorted(Path(plain_text.__file__).parent.rglob("*.py")):
        for line in file.read_text().splitlines():
            found = COUNTS.search(line)
            assert not found or any(word in line for word in ("raise SchedlabError(", "hint=", " > 1 else ")), (
                f"{file.name}: {line.strip()}"
            )
