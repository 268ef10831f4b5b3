"""What extenders did is told of every node, as what plugins did is."""

from __future__ import annotations

from typing import Any

import orjson

from schedlab.cli.explain_html import explain_html
from schedlab.cli.explain_text import explain_text
from schedlab.client.effects import CallOutcome
from schedlab.decisions.explain import PodQuestion, explain
from schedlab.decisions.log import DecisionLog
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile


def told(answers: dict[str, Any], **question: Any) -> dict[str, Any]:
    """Explain a pod that an extender was asked about, in a cluster of four nodes of which the last is full."""

    def call(url: str, _: Any) -> CallOutcome:
        return CallOutcome(200, orjson.dumps(answers[url.rpartition("/")[2]]))

    extender = {
        "urlPrefix": "http://x/",
        "nodeCacheCapable": True,
        "weight": 5,
        **{f"{verb}Verb": verb for verb in answers},
    }
    log = DecisionLog(1_000_000)
    made = FakeCluster(configuration(profile(*BASIC_PLUGINS), extenders=[extender]), calls=call, observer=log)
    made.add(*(make_node(f"n{number}").capacity(cpu="4", pods="9") for number in range(3)))
    made.add(make_node("n3").capacity(cpu="1", pods="9"))
    made.add(make_pod("p").uid("p").req(cpu="2"))
    made.run()
    [story] = log.stories()
    return explain(story, PodQuestion(**question))


def by_node(explanation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["node"]: entry for entry in explanation["nodes"]}


FILTER = {"NodeNames": ["n1", "n2"], "FailedNodes": {"n0": "the extender says no"}}
SCORES = [{"Host": "n1", "Score": 1}, {"Host": "n2", "Score": 9}]


def test_nodes_that_an_extender_turns_down_do_not_fit() -> None:
    explanation = told({"filter": FILTER, "prioritize": SCORES}, versus="n0")
    nodes, text = by_node(explanation), explain_text(explanation)

    assert nodes["n0"]["verdict"] == "failed"
    assert (nodes["n0"]["failedPlugin"], nodes["n0"]["reasons"]) == ("Extender", ["the extender says no"])
    assert (nodes["n1"]["verdict"], nodes["n1"]["plugins"]["Extender"]) == ("passed", "passed")
    assert "Extender" not in nodes["n3"]["plugins"]
    assert "Extender: the extender says no" in text
    assert "n2 and n0 cannot be compared: n0 was not scored (Extender: the extender says no)." in text
    assert "the extender says no" in explain_html(explanation)


def test_one_node_is_told_with_the_extenders_words() -> None:
    text = explain_text(told({"filter": FILTER}, nodes=("n0",)), one_node=True)

    assert "Node n0: turned down by Extender" in text
    assert "NO  Extender: the extender says no" in text


def test_points_of_extenders_make_up_the_total() -> None:
    explanation = told({"prioritize": SCORES})
    text = explain_text(explanation)

    for entry in explanation["nodes"][:3]:
        assert sum(score["final"] for score in entry["scores"].values()) == entry["total"]
    assert by_node(explanation)["n2"]["scores"]["Extender"] == {"raw": 450, "weight": 1, "final": 450}
    assert "Runner-up n1" in text
    assert "n2 has extenders +400 on it." in text


def test_node_that_an_extender_is_silent_about_is_told() -> None:
    explanation = told({"filter": {}})

    assert "Extender turns down 3 (is not in an extender's answer, which says nothing of it)" in explanation["answer"]


def test_without_extenders_nothing_is_said_of_them() -> None:
    assert "xtender" not in explain_text(told({}))
