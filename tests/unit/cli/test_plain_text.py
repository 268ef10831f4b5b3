"""What plugins and clients say may hold anything; a terminal is shown letters."""

from __future__ import annotations

import pytest

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
