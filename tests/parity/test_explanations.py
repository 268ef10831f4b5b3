"""Explanations of the referee's cases: numbers come to what was decided, and say what keeps a pod from a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schedlab.cli.explain_text import explain_text
from schedlab.scheduler.framework.explanations import evaluate
from tests.parity import families, places
from tests.parity.explaining import Explanation, explained, seen
from tests.parity.families import Case
from tests.support import plain_facts
from tests.support.plain_manifests import name_of

# Whichever of them comes first explains all cases.
pytestmark = pytest.mark.timeout(600)

#: Families of random mixes, which together try more than a thousand pods.
MIXES = ("medium", "spread", "podaffinity", "preemptmixed")
#: Families of other things that facts speak of.
OTHERS = (
    *("declaredfeatures", "dra", "dramixed", "nodebasic", "ports"),
    *("volbinding", "vollimits", "volmixed", "volrestrict", "volzone"),
)
#: What became of claims and devices in the attempt itself is seen as it is now.
OF_NOW = ("VolumeBinding", "DynamicResources")
NOMINATED = "nominated here"
NODES_MAX = 60
CHECKED_MIN = 60


@pytest.fixture(scope="module")
def mixed() -> list[tuple[Case, Explanation]]:
    files = families.find(places.CORPUS, MIXES)
    return [
        (case, explanation)
        for family in MIXES
        for case, found in explained(families.read(files[family]))
        for explanation in found
    ]


def test_a_thousand_pods_are_tried(mixed: list[tuple[Case, Explanation]]) -> None:
    assert len(mixed) >= 1000
    assert all(explanation["numbers"] == "of the attempt" for _, explanation in mixed)


def scores(mixed: list[tuple[Case, Explanation]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for case, explanation in mixed:
        for entry in explanation["nodes"]:
            for plugin, score in entry.get("scores", {}).items():
                yield f"{case['name']} {explanation['pod']} {entry['node']} {plugin}", plugin, score


def test_every_number_of_every_score_recomputes(mixed: list[tuple[Case, Explanation]]) -> None:
    """Raw from its formula, normalised from its own, and times the weight what counted."""
    checked = 0
    for where, _, score in scores(mixed):
        assert evaluate(score["formula"]) == score["raw"], where
        normalized = evaluate(score["normalization"]) if "normalization" in score else score["raw"]
        assert normalized * score["weight"] == score["final"], where
        assert "ofNow" not in score, where
        checked += 1
    assert checked > 50_000


def test_points_add_up_to_the_total(mixed: list[tuple[Case, Explanation]]) -> None:
    for case, explanation in mixed:
        for entry in explanation["nodes"]:
            if "scores" in entry:
                total = sum(score["final"] for score in entry["scores"].values())
                assert total == entry["total"], (case["name"], explanation["pod"], entry["node"])


def test_facts_agree_with_every_verdict(mixed: list[tuple[Case, Explanation]]) -> None:
    """What turned a node down is told in facts that do not fit; what passed, in facts that do."""
    for case, explanation in mixed:
        for entry in explanation["nodes"]:
            where = (case["name"], explanation["pod"], entry["node"])
            assert not [plugin for plugin in entry.get("factsOfNow", ()) if plugin not in OF_NOW], where
            for plugin, facts in entry.get("facts", {}).items():
                fits = all(fact["fits"] for fact in facts)
                assert fits == (entry["plugins"][plugin] == "passed") or plugin in OF_NOW, (*where, plugin, facts)
            if "failedPlugin" in entry:
                assert entry["facts"][entry["failedPlugin"]], where


@pytest.mark.parametrize("family", [*MIXES, *OTHERS])
def test_every_number_and_name_of_a_fact_is_true(family: str) -> None:
    """Worked out again from the manifests of that moment alone; of the largest cases so many nodes as fit the time."""
    checked = 0
    for _, found in seen(families.read(families.find(places.CORPUS, [family])[family])):
        for explanation, sight in found:
            manifests = {name_of(node): node for node in sight.nodes}
            for entry in explanation["nodes"][:NODES_MAX]:
                for plugin, facts in entry.get("facts", {}).items():
                    # Pods that are nominated are not where the manifests say.
                    if not any(NOMINATED in fact["text"] for fact in facts):
                        plain_facts.check(sight, manifests[entry["node"]], plugin, facts)
                        checked += 1
    assert checked >= CHECKED_MIN, (family, checked)


REPORTS = families.read(families.find(places.REPORTS, ["reports"])["reports"]) if places.REPORTS.is_dir() else []


def test_there_are_reports() -> None:
    assert REPORTS, f"there is no folder {places.REPORTS}"


@pytest.mark.parametrize("case", REPORTS, ids=lambda case: str(case["name"]))
def test_public_report_is_explained(case: Case) -> None:
    """Every attempt: the message byte for byte, the node, and for each node that was turned down what kept it."""
    [(_, found)] = explained([case])
    steps = [step for step in case["expected"].get("steps", ()) if "evaluated" in step or "selected" in step]
    assert len(found) >= len(steps)
    for step in steps:
        explanation = next(each for each in found if each["pod"] == step["pod"])
        text = explain_text(explanation, wide=True)
        if "failure" in step:
            assert step["failure"]["message"] in text
            assert f"\n  {step['failure']['message']}\n" in text
        if step.get("selected"):
            assert f"Scheduled on {step['selected']}" in explanation["answer"]
        for node, failure in step.get("failed", {}).items():
            check_failure(explanation, text, node, failure)
        for victim in step.get("victims", ()):
            assert victim in explanation["answer"]


def check_failure(explanation: Explanation, text: str, node: str, failure: dict[str, Any]) -> None:
    entry = next(entry for entry in explanation["nodes"] if entry["node"] == node)
    if entry["verdict"] == "notVisited":
        # A rejection of the whole pod counts for every node.
        assert failure["reasons"][0] in explanation["answer"]
        return
    assert entry["failedPlugin"] == failure["plugin"]
    assert entry["reasons"] == failure["reasons"]
    facts = [fact for fact in entry["facts"][failure["plugin"]] if not fact["fits"]]
    assert facts, (node, entry)
    for fact in facts:
        assert fact["text"] in text
        assert len(fact) > len(("text", "fits")), f"no numbers or names for programs: {fact}"
