"""Blocks of PEM in a text."""

from schedlab.apimachinery import pem

ONE = b"-----BEGIN A-----\nYWJj\n-----END A-----\n"


def test_blocks_are_found_between_other_lines() -> None:
    headed = b"-----BEGIN B C-----\nKey: value\n\nYQ==\n-----END B C-----"
    found = list(pem.blocks(b"words\n" + ONE + b"more\n" + headed))
    assert [(block.type, dict(block.headers), block.data) for block in found] == [
        ("A", {}, b"abc"),
        ("B C", {"Key": "value"}, b"a"),
    ]


def test_broken_blocks_are_passed_over() -> None:
    broken = (
        b"-----BEGIN A-----\nYWJj\n",
        b"-----BEGIN A-----\nYWJj\n-----END B-----\n",
        b"-----BEGIN A-----\n?\n-----END A-----\n",
        b" -----BEGIN A-----\nYWJj\n-----END A-----\n",
    )
    assert [list(pem.blocks(text)) for text in broken] == [[], [], [], []]
    assert len(list(pem.blocks(broken[2] + ONE))) == 1
