"""Hashes of pod templates are those of kube-controller-manager.

template_hashes.jsonl: templates, the first as a Deployment makes it, the others random over all types; their hashes were
computed by a Go program over the types of k8s.io/api v0.36.2 with go-spew 1.1.1 configured as in k8s.io/utils/dump.
`third_try` is the hash with a collision count of 3.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedlab.controllers.framework.template_hash import compute_hash, fnv1, fnv1a, safe_encode

CASES = [json.loads(line) for line in Path(__file__).with_name("template_hashes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["hash"] for case in CASES])
def test_hash_is_upstreams(case: dict[str, Any]) -> None:
    """Every field and type counts; a collision count makes another hash."""
    assert (compute_hash(case["template"]), compute_hash(case["template"], 3)) == (case["hash"], case["third_try"])


@pytest.mark.parametrize(
    ("data", "first", "second"),
    [(b"", 0x811C9DC5, 0x811C9DC5), (b"a", 0x050C5D7E, 0xE40C292C), (b"foobar", 0x31F0B262, 0xBF9CF968)],
)
def test_hash_functions(data: bytes, first: int, second: int) -> None:
    """The published test values of FNV-1 and FNV-1a."""
    assert (fnv1(data), fnv1a(data)) == (first, second)


def test_safe_letters() -> None:
    """Digits become letters that make no words."""
    assert safe_encode("0123456789") == "456789bcdf"
