"""What the host functions answer and take."""

from __future__ import annotations

import json
import logging
from typing import Any

import msgspec
import pytest

from schedlab.apimachinery.protobuf import decode_message
from schedlab.scheduler.runtime.waiting import WaitingPod
from schedlab.scheduler.wasm.args import WasmArgs
from schedlab.scheduler.wasm.call import Call
from schedlab.scheduler.wasm.host import API, KLOG, SCHEDULER, Host
from schedlab.scheduler.wasm.memory import GuestError, GuestMemory
from schedlab.scheduler.wasm.objects import Objects
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.fake_cluster import FakeCluster
from tests.unit.scheduler.wasm.fake_memory import memory


class Bench:
    """A host in a cluster of one node, n1, with an image, and a pod p."""

    def __init__(self, **args: Any) -> None:
        self.cluster = FakeCluster()
        self.cluster.add(make_node("n1").capacity(pods="9").image("app:1", size=5).label("disk", "ssd"))
        self.cluster.add(make_pod("p").label("app", "web"))
        self.cluster.scheduler.cache.refresh()
        framework = self.cluster.scheduler.profiles["default-scheduler"]
        self.host = Host("Guest", WasmArgs("file://x", **args), framework, Objects(framework))
        self.host.call = Call(pod=self.cluster.info("p"))

    def ask(self, module: str, name: str, content: bytes = b"") -> bytes:
        """Call a function that answers; `content`, if any, is its first parameter."""
        inside = memory(content)
        first = (0, len(content)) if content else ()
        size = self.host.functions()[module, name](inside, *first, 1024, 3072)
        return inside.read(1024, size, "answer")

    def tell(self, name: str, content: bytes, *more: int) -> GuestMemory:
        inside = memory(content)
        self.host.functions()[SCHEDULER, name](inside, 0, len(content), *more)
        return inside


def test_node_and_pod_are_messages_without_managed_fields() -> None:
    bench = Bench()
    bench.cluster.change("nodes", "n1", lambda node: node["metadata"].update(managedFields=[{"manager": "m"}]))
    bench.cluster.scheduler.cache.refresh()

    node = decode_message("v1", "Node", bench.ask(API, "node", b"n1"))
    [listed] = decode_message("v1", "NodeList", bench.ask(API, "nodeList"))["items"]
    pod = decode_message("v1", "Pod", bench.ask(SCHEDULER, "currentPod"))

    assert node == listed
    assert node["metadata"]["labels"]["disk"] == "ssd"
    assert "managedFields" not in node["metadata"]
    assert pod["metadata"]["labels"] == {"app": "web"}


def test_node_that_is_not_there_is_empty() -> None:
    assert Bench().ask(API, "node", b"n9") == b""


def test_assumed_pod_says_where_it_goes() -> None:
    bench = Bench()
    bench.host.call = Call(pod=bench.cluster.info("p").on_node("n1"), target_pod=bench.cluster.info("p"))

    assert decode_message("v1", "Pod", bench.ask(SCHEDULER, "currentPod"))["spec"]["nodeName"] == "n1"
    assert "nodeName" not in decode_message("v1", "Pod", bench.ask(SCHEDULER, "targetPod"))["spec"]


def test_pod_that_was_never_stored_is_made_of_its_view() -> None:
    bench = Bench()
    bench.host.call = Call(pod=make_pod("made-up").req(cpu="1").obj())

    assert decode_message("v1", "Pod", bench.ask(SCHEDULER, "currentPod"))["metadata"]["name"] == "made-up"


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("currentNodeName", Call(node_name="n1"), b"n1"),
        ("filteredNodeList", Call(feasible=("b", "a")), b'["b","a"]'),
        ("nodeScoreList", Call(scores={"b": 2, "a": 1}), b'{"a":1,"b":2}'),
        ("nodeToStatusMap", Call(), b"{}"),
        ("targetPod", Call(), b""),
        ("get_config", Call(), b'{"x":1}'),
    ],
)
def test_answers(name: str, call: Call, expected: bytes) -> None:
    bench = Bench(guest_config='{"x":1}')
    bench.host.call = call

    assert bench.ask(SCHEDULER, name) == expected


@pytest.mark.parametrize(("node", "expected"), [(b"n1", {"app:1": {"NumNodes": 1, "Size": 5}}), (b"n9", None)])
def test_image_states(node: bytes, expected: object) -> None:
    assert json.loads(Bench().ask(SCHEDULER, "nodeImageStates", node)) == expected


def test_results_are_kept_for_the_call() -> None:
    bench = Bench()
    call = bench.host.call

    bench.tell("result.node_names", b"a\0b\0")
    bench.tell("result.nominated_node_name", b"a")
    bench.tell("result.status_reason", "grün".encode())
    bench.tell("result.normalized_score_list", b'{"a":7}')
    bench.tell("result.cluster_events", b"12345678")

    assert (call.node_names, call.nominated_node_name, call.reason) == (("a", "b"), "a", "grün")
    assert (call.normalized, call.cluster_events) == ({"a": 7}, b"12345678")


class TestLogging:
    @pytest.mark.parametrize(
        ("severity", "level"), [(0, "INFO"), (1, "WARNING"), (2, "ERROR"), (3, "CRITICAL"), (9, "CRITICAL")]
    )
    def test_messages_are_logged_under_the_plugins_name(
        self, severity: int, level: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.INFO):
            Bench().host.functions()[KLOG, "log"](memory(b"hello"), severity, 0, 5)

        assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
            ("schedlab.wasm", level, "Guest: hello")
        ]

    def test_structured_messages_have_their_values(self, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.INFO):
            Bench().host.functions()[KLOG, "logs"](memory(b"scoredpod\0default/p\0"), 0, 0, 6, 6, 14)

        assert caplog.messages == ["Guest: scored pod='default/p'"]

    @pytest.mark.parametrize("name", ["log", "logs"])
    def test_messages_below_the_severity_are_left_out(self, name: str, caplog: pytest.LogCaptureFixture) -> None:
        bench = Bench(log_severity=2)
        with caplog.at_level(logging.INFO):
            bench.host.functions()[KLOG, name](memory(b"hello"), 1, 0, 5, *((5, 0) if name == "logs" else ()))

        assert caplog.messages == []
        assert bench.host.functions()[KLOG, "severity"](memory()) == 2


class TestEvents:
    def event(self, bench: Bench, **regarding: str) -> None:
        message = {
            "RegardingReference": regarding,
            "RelatedReference": {},
            "Eventtype": "Normal",
            "Reason": "Seen",
            "Action": "Look",
            "Note": "a note",
        }
        bench.tell("handle.eventrecorder.eventf", msgspec.json.encode(message))
        bench.cluster.run()

    def test_events_about_pods_are_sent(self) -> None:
        bench = Bench()

        self.event(bench, Name="p", Namespace="default", Kind="Pod")

        assert bench.cluster.notes("Seen") == ["a note"]

    def test_other_pods_are_found_by_name(self) -> None:
        bench = Bench()
        bench.cluster.add(make_pod("q"))

        self.event(bench, Name="q", Namespace="default")

        assert bench.cluster.notes("Seen") == ["a note"]

    def test_event_about_something_else_is_left_out_and_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        bench = Bench()

        self.event(bench, Name="n1", Kind="Node")

        assert bench.cluster.notes("Seen") == []
        assert "an event about something else than a pod is left out" in caplog.text

    @pytest.mark.parametrize("content", [b"{", b"[]"])
    def test_event_that_is_none_breaks_the_call(self, content: bytes) -> None:
        with pytest.raises(GuestError):
            Bench().tell("handle.eventrecorder.eventf", content)


class TestWaitingPods:
    def waiting(self) -> Bench:
        bench = Bench()
        scheduler = bench.cluster.scheduler
        pod = bench.cluster.info("p")
        scheduler.on_the_way.waiting[pod.uid] = WaitingPod(pod, {"Guest": 10**9}, bench.cluster.clock)
        return bench

    @pytest.mark.parametrize(("uid", "expected"), [(b"uid-default/p", 1), (b"uid-nobody", 0)])
    def test_rejecting_says_whether_the_pod_waited(self, uid: bytes, expected: int) -> None:
        inside = self.waiting().tell("handle.reject_waiting_pod", uid, 512, 8)

        assert int.from_bytes(inside.read(512, 8, "answer"), "little") == expected

    def test_waiting_pod_is_a_message(self) -> None:
        bench = self.waiting()
        inside = bench.tell("handle.get_waiting_pod", b"uid-default/p", 512, 2048)
        encoded = bench.ask(SCHEDULER, "currentPod")

        assert inside.read(512, len(encoded), "answer") == encoded

    def test_no_waiting_pod_is_zero(self) -> None:
        inside = self.waiting().tell("handle.get_waiting_pod", b"uid-nobody", 512, 2048)

        assert inside.read(512, 8, "answer") == bytes(8)

    def test_waiting_pod_that_does_not_fit_breaks_the_call(self) -> None:
        with pytest.raises(GuestError, match="out of memory writing getWaitingPod result"):
            self.waiting().tell("handle.get_waiting_pod", b"uid-default/p", 512, 4)
