"""Regular expressions of users."""

from __future__ import annotations

import pytest

from schedlab.apimachinery.regexp import RegexpError, compiled


def test_an_expression_that_backtracking_never_ends_takes_no_time() -> None:
    assert compiled("(a*)*b").search("a" * 100_000) is None


def test_the_end_is_the_end_of_the_text() -> None:
    """Go's $ does not stand before a last line break, as Python's does."""
    assert compiled("^a$").search("a")
    assert compiled("^a$").search("a\n") is None


@pytest.mark.parametrize("expression", ["(", "a**", r"(?=a)", r"(a)\1", "[z-a]"])
def test_what_go_refuses_is_refused(expression: str) -> None:
    with pytest.raises(RegexpError, match="error parsing regexp: "):
        compiled(expression)
