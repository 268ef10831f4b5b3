"""Answers as JSON and YAML: the same values, whatever is in them and however long they are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pytest
import yaml

from schedlab.cli.data_text import data_text

READ: dict[str, Callable[[str], Any]] = {"json": json.loads, "yaml": yaml.safe_load}
NODES = [{"node": f"node-{number}", "plugins": {"NodeName": "passed"}, "total": number} for number in range(200)]
ODD = "\x7f \x85 \u2028 \ufeff 노드 'a': \"b\" # {c}, - d\ttab\nline \\ yes"
ANSWERS: list[Any] = [
    {"pod": "a/p", "attempts": [1, 2], "choice": None, "nodes": NODES},
    {"nodes": [], "yes": "no", "1": "1", "empty": {}, "null": None, "fits": False},
    {"preemption": {"candidates": [], "notCandidates": {each["node"]: each for each in NODES}, "best": ["a"]}},
    {"deep": {"deeper": {"nodes": NODES, "after": ODD}, ODD: 1}, ODD: NODES},
    {each["node"]: ODD for each in NODES},
    NODES,
    ["a", ODD],
]


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("answer", ANSWERS, ids=range(len(ANSWERS)))
def test_what_is_read_is_what_was_written(answer: Any, form: Literal["json", "yaml"]) -> None:
    assert READ[form](data_text(answer, form)) == answer


def test_what_is_long_has_a_line_for_each_item() -> None:
    lines = data_text({"pod": "a/p", "nodes": NODES, "moves": []}, "yaml").splitlines()

    assert lines[:3] == ["pod: a/p", "nodes:", '- {"node":"node-0","plugins":{"NodeName":"passed"},"total":0}']
    assert lines[-1] == "moves: []"
    assert len(lines) == len(NODES) + 3
