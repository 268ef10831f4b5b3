"""What plugins leave for the record of an attempt."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.record import CUSTOM_RESULTS, add_custom_result


def test_results_are_kept_by_key_and_the_last_one_counts() -> None:
    state = CycleState()

    add_custom_result(state, "a", "1")
    add_custom_result(state, "example.com/b", "2")
    add_custom_result(state, "a", "3")

    assert state.read(CUSTOM_RESULTS) == {"a": "3", "example.com/b": "2"}


def test_results_of_a_dry_run_count_for_nothing() -> None:
    state = CycleState()
    add_custom_result(state, "a", "1")

    add_custom_result(state.copy(), "a", "2")

    assert state.read(CUSTOM_RESULTS) == {"a": "1"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [("", "x", "cannot be the key"), ("a b", "x", "'a b' cannot be the key of an annotation"), ("a", 3, "is int")],
)
def test_results_must_fit_annotations(key: str, value: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        add_custom_result(CycleState(), key, value)
