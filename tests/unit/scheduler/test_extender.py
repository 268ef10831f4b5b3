"""What HTTP extenders are asked, and how their answers are read."""

from typing import Any

import orjson
import pytest

from schedlab.api.object import StoredObject
from schedlab.client.effects import CallOutcome
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config import types as config
from schedlab.scheduler.extender import (
    FilterResult,
    HTTPExtender,
    build_extenders,
    call_effect,
    ignored_resources,
    read_answer,
)
from schedlab.scheduler.framework.interface import ExtenderAnswer, Victims
from schedlab.scheduler.framework.status import Status, error
from schedlab.scheduler.framework.types import PodInfo
from schedlab.testing.builders import make_node, make_pod, make_table
from tests.unit.scheduler.fake_cluster import FakeLister


def extender(**settings: Any) -> HTTPExtender:
    nodes = FakeLister()
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {"x": "y"}}}
    nodes.objects["", "a"] = StoredObject.encode("nodes", raw, 1)
    settings = {"url_prefix": "http://x/", "filter_verb": "filter", "prioritize_verb": "rate", **settings}
    return HTTPExtender(config.Extender(**settings), nodes)


def pod(name: str = "p") -> PodInfo:
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "managedFields": [{"manager": "m"}]},
        "spec": {"containers": []},
    }
    stored = StoredObject.encode("pods", raw, 7)
    return PodInfo(stored.view, stored)


class TestRequests:
    def test_extender_with_a_cache_of_its_own_gets_names(self) -> None:
        body = extender(node_cache_capable=True).filter_request(pod(), ["a", "b"]).body

        assert body["NodeNames"] == ["a", "b"]
        assert body["Nodes"] is None

    def test_others_get_whole_nodes(self) -> None:
        body = extender().prioritize_request(pod(), ["a"]).body

        assert body["NodeNames"] is None
        (node,) = body["Nodes"]["items"]
        assert node["metadata"]["labels"] == {"x": "y"}
        assert "kind" not in node

    def test_pods_come_without_managed_fields_and_type(self) -> None:
        body = extender().filter_request(pod(), []).body["Pod"]

        assert sorted(body["metadata"]) == ["name", "namespace", "resourceVersion", "uid"]
        assert sorted(body) == ["metadata", "spec"]

    def test_made_up_pods_have_at_least_their_identity(self) -> None:
        body = extender().filter_request(make_pod("q").uid("u").obj(), []).body["Pod"]

        assert body == {"metadata": {"name": "q", "namespace": "default", "uid": "u"}}

    @pytest.mark.parametrize("capable", [True, False])
    def test_victims_are_sent_by_uid_or_whole(self, capable: bool) -> None:  # noqa: FBT001
        victims = {"a": Victims((pod("v"),), 2)}
        body = extender(node_cache_capable=capable, preempt_verb="preempt").preemption_request(pod(), victims).body

        if capable:
            assert body["NodeNameToMetaVictims"] == {"a": {"Pods": [{"UID": "uid-v"}], "NumPDBViolations": 2}}
            assert body["NodeNameToVictims"] is None
        else:
            assert body["NodeNameToVictims"]["a"]["Pods"][0]["metadata"]["name"] == "v"
            assert body["NodeNameToMetaVictims"] is None

    def test_call_carries_url_body_timeout_and_tls(self) -> None:
        made = extender(
            http_timeout=2 * SECOND_NS, enable_https=True, tls_config=config.ExtenderTLSConfig(insecure=True)
        )
        effect = call_effect(made.bind_request(pod(), "a"), "token")

        assert (effect.token, effect.url, effect.timeout_ns) == ("token", "http://x/", 2 * SECOND_NS)
        assert effect.tls.insecure
        assert orjson.loads(effect.body)["Node"] == "a"

    @pytest.mark.parametrize(
        ("tls", "insecure"),
        [(None, True), (config.ExtenderTLSConfig(), True), (config.ExtenderTLSConfig(ca_file="ca"), False)],
    )
    def test_https_without_an_authority_does_not_verify(
        self,
        tls: config.ExtenderTLSConfig | None,
        insecure: bool,  # noqa: FBT001
    ) -> None:
        effect = call_effect(extender(enable_https=True, tls_config=tls).filter_request(pod(), []), None)

        assert effect.tls.insecure is insecure

    def test_default_timeout_is_five_seconds(self) -> None:
        effect = call_effect(extender().filter_request(pod(), []), None)

        assert effect.timeout_ns == 5 * SECOND_NS
        assert effect.tls is None


class TestAnswers:
    @pytest.mark.parametrize(
        ("outcome", "expected"),
        [
            (CallOutcome(200, b'{"NodeNames":["a"]}'), ExtenderAnswer({"NodeNames": ["a"]})),
            (CallOutcome(503), ExtenderAnswer(error="failed filter with extender at URL http://x/filter, code 503")),
            (CallOutcome(error="refused"), ExtenderAnswer(error='Post "http://x/filter": refused')),
            (CallOutcome(200, b""), ExtenderAnswer(error="EOF")),
        ],
    )
    def test_transport(self, outcome: CallOutcome, expected: ExtenderAnswer) -> None:
        assert read_answer(extender().filter_request(pod(), []), outcome) == expected

    def test_body_that_is_no_json_is_an_error(self) -> None:
        assert read_answer(extender().filter_request(pod(), []), CallOutcome(200, b"<html>")).error

    @pytest.mark.parametrize(
        ("capable", "result", "nodes"),
        [
            (True, {"NodeNames": ["b"]}, ("b",)),
            (True, {"Nodes": {"items": [{"metadata": {"name": "a"}}]}}, ("a",)),
            (False, {"NodeNames": ["b"]}, ()),
            (False, {"Nodes": {"items": [{"metadata": {"name": "a"}}]}}, ("a",)),
            (False, {"Nodes": {}}, ()),
            (True, None, ()),
        ],
    )
    def test_nodes_that_are_left(self, capable: bool, result: Any, nodes: tuple[str, ...]) -> None:  # noqa: FBT001
        found = extender(node_cache_capable=capable).filter_result(ExtenderAnswer(result), ["a", "b"])

        assert isinstance(found, FilterResult)
        assert found.nodes == nodes

    def test_errors_are_texts(self) -> None:
        made = extender()

        assert made.filter_result(ExtenderAnswer(error="x"), []) == "x"
        assert made.filter_result(ExtenderAnswer({"Error": "y"}), []) == "y"
        assert made.prioritize_result(ExtenderAnswer(error="x")) == "x"
        assert made.bind_result(ExtenderAnswer({"Error": "y"})) == "y"
        assert made.bind_result(ExtenderAnswer({"Error": ""})) == ""

    def test_scores(self) -> None:
        assert extender().prioritize_result(ExtenderAnswer([{"Host": "a", "Score": 3}, {"Host": "b"}])) == [
            ("a", 3),
            ("b", 0),
        ]
        assert extender().prioritize_result(ExtenderAnswer(None)) == []

    def test_keys_count_in_any_case_and_null_is_nothing(self) -> None:
        """Many extenders have structs of their own, with tags such as `nodenames`."""
        capable = extender(node_cache_capable=True)
        table = make_table(make_node("a"), pods=[make_pod("v").uid("u").node("a")])
        answer = {"nodes": None, "nodenames": ["A"], "failedNodes": {"Bad": "text"}, "error": None}
        victims = {"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "u"}], "numpdbviolations": 2}}}
        found = capable.preemption_result(ExtenderAnswer(victims), table)

        assert capable.filter_result(ExtenderAnswer(answer), ["A"]) == FilterResult(("A",), {"Bad": "text"}, {})
        assert capable.filter_result(ExtenderAnswer({"nodeNames": ["x"], "NODENAMES": ["A"]}), ["A", "x"]) == (
            FilterResult(("A",), {}, {})
        )
        assert capable.prioritize_result(ExtenderAnswer([{"host": "A", "score": 4}, None])) == [("A", 4), ("", 0)]
        assert capable.bind_result(ExtenderAnswer({"error": "y"})) == "y"
        assert isinstance(found, dict)
        assert [(pod.name, found["a"].pdb_violations) for pod in found["a"].pods] == [("v", 2)]

    @pytest.mark.parametrize(
        "result",
        [
            "text",
            "",
            7,
            0,
            False,
            [[]],
            ["x"],
            {"NodeNames": "a", "NodeNameToMetaVictims": [], "Error": 1},
            {"NodeNames": [1], "NodeNameToMetaVictims": {"a": "x"}, "Error": ["x"]},
            {"Nodes": [], "NodeNameToMetaVictims": {"a": {"Pods": {}}}, "Error": {}},
            {"Nodes": {"items": [{"metadata": 5}]}, "NodeNameToMetaVictims": {"a": {"Pods": ["x"]}}, "Error": True},
            {"FailedNodes": {"a": 5}, "NodeNameToMetaVictims": {"a": {"NumPDBViolations": "1"}}, "Error": 0.5},
        ],
    )
    def test_answers_of_another_shape_are_errors(self, result: Any) -> None:
        made, answer = extender(node_cache_capable=True), ExtenderAnswer(result)
        victims = made.preemption_result(answer, make_table(make_node("a")))
        texts = (made.filter_result(answer, ["a"]), made.prioritize_result(answer), made.bind_result(answer))

        assert isinstance(victims, Status)
        for text in (*texts, victims.message):
            assert isinstance(text, str)
            assert text.startswith("json: cannot read the answer: ")

    def test_empty_list_is_no_mapping_and_the_other_way_round(self) -> None:
        made, wrong = extender(), "json: cannot read the answer: Expected "

        assert str(made.filter_result(ExtenderAnswer([]), ["a"])).startswith(wrong)
        assert made.bind_result(ExtenderAnswer([])).startswith(wrong)
        assert isinstance(made.preemption_result(ExtenderAnswer([]), make_table(make_node("a"))), Status)
        assert str(made.prioritize_result(ExtenderAnswer({}))).startswith(wrong)

    def test_nothing_deep_inside_is_nothing(self) -> None:
        node = {"metadata": {"name": "a", "labels": None}, "spec": {"taints": None}, "status": None}
        answer = ExtenderAnswer({"Nodes": {"items": [node, None]}, "FailedNodes": {"b": None}})
        found = extender().filter_result(answer, ["a", "b"])

        assert isinstance(found, FilterResult)
        assert (found.nodes, found.failed) == (("a", ""), {"b": ""})

    @pytest.mark.parametrize("score", [2**63, -(2**63) - 1, 1e30, 2.5, "7", True])
    def test_scores_are_whole_numbers_of_64_bits(self, score: Any) -> None:
        assert isinstance(extender().prioritize_result(ExtenderAnswer([{"Host": "a", "Score": score}])), str)

    def test_victims_are_found_on_their_node(self) -> None:
        victim = make_pod("v").uid("u").node("a")
        table = make_table(make_node("a"), pods=[victim])
        result = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 1}}}

        found = extender().preemption_result(ExtenderAnswer(result), table)

        assert isinstance(found, dict)
        assert [pod.name for pod in found["a"].pods] == ["v"]
        assert found["a"].pdb_violations == 1

    def test_unknown_victims_are_errors(self) -> None:
        table = make_table(make_node("a"))

        def read(result: Any) -> Any:
            return extender().preemption_result(ExtenderAnswer(result), table)

        assert read({"NodeNameToMetaVictims": {"b": {}}}) == error('nodeinfo not found for node name "b"')
        assert read({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}]}}}) == error(
            "extender: http://x/ claims to preempt pod (UID: &{u}) on node: a, but the pod is not found on that node"
        )
        assert extender().preemption_result(ExtenderAnswer(error="x"), table) == error("x")


class TestInterest:
    @pytest.mark.parametrize(
        ("container", "expected"),
        [
            ({}, False),
            ({"resources": {"requests": {"example.com/x": "1"}}}, True),
            ({"resources": {"limits": {"example.com/x": "1"}}}, True),
            ({"resources": {"requests": {"example.com/other": "1"}}}, False),
        ],
    )
    def test_managed_resources_decide(self, container: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
        made = extender(managed_resources=[config.ExtenderManagedResource(name="example.com/x")])

        assert made.is_interested(make_pod("p").container(**container).obj()) is expected
        assert made.is_interested(make_pod("p").init_container(**container).obj()) is expected

    def test_without_managed_resources_every_pod_does(self) -> None:
        assert extender().is_interested(make_pod("p").obj())


def test_ignorable_extenders_come_last() -> None:
    settings = [
        config.Extender(url_prefix="a", ignorable=True),
        config.Extender(url_prefix="b"),
        config.Extender(url_prefix="c", ignorable=True),
        config.Extender(url_prefix="d"),
    ]

    assert [each.name for each in build_extenders(settings, FakeLister())] == ["b", "d", "a", "c"]


def test_ignored_resources_are_collected() -> None:
    resource = config.ExtenderManagedResource
    settings = [
        config.Extender(managed_resources=[resource(name="x", ignored_by_scheduler=True), resource(name="y")]),
        config.Extender(managed_resources=[resource(name="z", ignored_by_scheduler=True)]),
    ]

    assert ignored_resources(settings) == ["x", "z"]
