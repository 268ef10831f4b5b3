"""The contract suite lets good plugins pass and finds every kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from schedlab.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from schedlab.scheduler.framework.interface import PluginEntry, PreFilterResult, Work
from schedlab.scheduler.framework.plugin_class import PluginClassError
from schedlab.scheduler.framework.status import SKIP, Code, NodeStatuses, Status, error, unschedulable
from schedlab.scheduler.plugins.registry import IN_TREE
from schedlab.testing import PluginCheckError, Sample, check_plugin, make_node, make_pod, plugin_checks

Body = Callable[..., Any]
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


@pytest.mark.parametrize("name", sorted(IN_TREE))
def test_plugins_of_the_scheduler_keep_every_rule(name: str) -> None:
    check_plugin(IN_TREE[name])


class Good:
    """Has every method there is, and keeps every rule."""

    name = "Good"

    @dataclass
    class Args:
        limit: int = 3

    def __init__(self, args: Args, handle: Any) -> None:
        self._limit = args.limit
        self._taken: dict[str, str] = {}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(NODE_ADD, lambda *_: QueueingHint.QUEUE)]

    def pre_enqueue(self, pod: Any) -> Status | None:
        return None

    def sign_pod(self, pod: Any) -> Any:
        return (("labels", pod.labels),), None

    def pre_filter(self, state: Any, pod: Any, table: Any) -> Any:
        state.write(self.name, {info.name: len(info.pods) for info in table.infos})
        return None, None

    def add_pod(self, state: Any, pod: Any, added: Any, node: Any) -> None:
        state.read(self.name)[node.name] += 1

    def remove_pod(self, state: Any, pod: Any, removed: Any, node: Any) -> None:
        state.read(self.name)[node.name] -= 1

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        full = state.read(self.name)[node.name] >= self._limit
        return unschedulable("full") if full or self._taken.get(node.name) else None

    def filter_nodes(self, state: Any, pod: Any, table: Any, rows: slice) -> NodeStatuses:
        return NodeStatuses.of([self.filter(state, pod, info) for info in table.infos[rows]])

    def pre_score(self, state: Any, pod: Any, table: Any, rows: Any) -> Status | None:
        return None

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return len(node.pods) * 1000, None

    def score_nodes(self, state: Any, pod: Any, table: Any, rows: Any) -> Any:
        return table.pod_count[rows] * 1000

    def normalize_score(self, state: Any, pod: Any, rows: Any, scores: Any) -> Status | None:
        scores //= 1000
        return None

    def reserve(self, state: Any, pod: Any, node_name: str) -> Status | None:
        self._taken[node_name] = pod.uid
        return None

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self._taken.pop(node_name, None)

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return Status(Code.WAIT, ("hold",)), 1_000_000_000

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return None

    def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return Work(deadline_ns=5)

    def resume(self, state: Any, pod: Any, node_name: str, work: Any, outcomes: Any) -> Status | None:
        return None

    def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return SKIP

    def post_bind(self, state: Any, pod: Any, node_name: str) -> None: ...

    def post_filter(self, state: Any, pod: Any, statuses: Any) -> Any:
        return None, unschedulable("nothing helps"), None


def test_good_plugin_passes() -> None:
    check_plugin(Good)
    check_plugin(Good, args={"limit": 1})


def by_pods(_self: Any, _state: Any, _pod: Any, node: Any) -> Status | None:
    return unschedulable("full") if node.pods else None


def by_ports(_self: Any, _state: Any, _pod: Any, node: Any) -> Status | None:
    return unschedulable("taken") if list(node.used_ports.used()) else None


def by_labels(_self: Any, _state: Any, _pod: Any, node: Any) -> Status | None:
    return unschedulable("web") if any(pod.labels.get("app") == "web" for pod in node.pods) else None


def by_requests(_self: Any, _state: Any, _pod: Any, node: Any) -> Status | None:
    return unschedulable("too much") if node.requested.milli_cpu > 1200 else None


#: Plugins whose claims about what they do not look at are true.
TRUE_CLAIMS: list[dict[str, Any]] = [
    {"filter": lambda _, s, p, node: unschedulable("no") if node.node.spec.unschedulable else None, "looks_at": "node"},
    {"filter": by_requests, "looks_at": "amounts"},
    {"filter": by_ports, "looks_at": "ports"},
    {"score": lambda _, s, p, node: (len(node.node.metadata.labels), None), "score_looks_at": "node"},
    {
        "pre_filter": lambda _, state, pod, t: (state.write("cpu", pod.requests.get("cpu", 0)), None),
        "filter": lambda _, state, p, node: unschedulable("small") if state.read("cpu") > node.allocatable.milli_cpu else None,
        "is_pod_local": lambda *_: True,
    },
    {
        "pre_filter": lambda _, state, pod, t: (state.write("facts", lambda: pod.facts), None),
        "filter": lambda _, state, pod, node: unschedulable("no") if pod.labels and state.read("facts")().host_ports else None,
        "is_pod_local": lambda *_: True,
    },
    {
        "pre_filter": lambda _, s, pod, t: (None, None if pod.host_ports else SKIP),
        "filter": lambda *_: None,
        "skips": lambda _, pod, t: not pod.host_ports,
    },
]  # fmt: skip


@pytest.mark.parametrize("methods", TRUE_CLAIMS)
def test_plugin_that_claims_what_is_true_passes(methods: dict[str, Any]) -> None:
    check_plugin(type("Mine", (), {"name": "Mine", **methods}))


class Sorting:
    name = "Sorting"

    def sort_key(self, queued: Any) -> Any:
        return (queued.pod.name,)


def test_plugin_that_orders_the_queue_stands_in_for_the_default_one() -> None:
    check_plugin(Sorting)


def spoil_pod(_self: Any, _state: Any, pod: Any, _node: Any) -> None:
    pod.labels["spoiled"] = "yes"


def spoil_node(_self: Any, _state: Any, _pod: Any, node: Any) -> None:
    node.allocatable.milli_cpu += 1


def by_order(_self: Any, state: Any, _pod: Any, _node: Any) -> Status | None:
    """Lets only the first node through that it is asked about."""
    seen = state.find("seen")
    state.write("seen", True)
    return unschedulable("not the first") if seen else None


def remember(_self: Any, state: Any, _pod: Any, table: Any) -> Any:
    state.write("pods", [len(info.pods) for info in table.infos])
    return None, None


def recall(_self: Any, state: Any, _pod: Any, node: Any) -> Status | None:
    return unschedulable("full") if state.read("pods")[node.row] else None


def counting(self: Any, _state: Any, _pod: Any, _node_name: str) -> None:
    self.pods = getattr(self, "pods", 0) + 1


def alternating() -> Body:
    calls: list[int] = []

    def method(*_: object) -> Status | None:
        calls.append(1)
        return unschedulable("every other time") if len(calls) % 2 else None

    return method


PASSES: Body = lambda *_: None  # noqa: E731 - a method as a value
FITS: Body = lambda *_: (None, None)  # noqa: E731
MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("events are registered", {"filter": PASSES, "events_to_register": lambda _: [ClusterEventWithHint(NODE_ADD, PASSES)]}, "answered None"),
    ("pre_enqueue answers", {"pre_enqueue": lambda *_: True}, "pre_enqueue returned True"),
    ("sort_key can be", {"sort_key": lambda _, queued: queued.pod.name if queued.pod.name == "web-1" else 3}, "'<' not supported"),
    ("pre_filter answers", {"pre_filter": PASSES}, "pre_filter returned None, not (PreFilterResult"),
    ("pre_filter answers", {"pre_filter": lambda *_: (PreFilterResult(cast("Any", "node-1")), None)}, "left the nodes 'node-1', not a tuple"),
    ("pre_filter answers", {"pre_filter": lambda *_: (PreFilterResult(("x", "y")), None)}, "nodes that do not exist: x, y"),
    ("pre_filter answers", {"pre_filter": lambda *_: (None, error("no"))}, "pre_filter returned Error (no); it may return"),
    ("filter answers", {"filter": lambda *_: False}, "filter returned False"),
    ("filter answers", {"filter": lambda *_: SKIP}, "filter returned Skip"),
    ("filter answers", {"filter": lambda *_: unschedulable()}, "turned the pod down without a reason"),
    ("filter answers", {"filter": lambda self, state, pod, node: node.node.metadata.labels["zone"]}, "it raised KeyError: 'zone'"),
    ("filter does not depend on the order", {"filter": by_order}, "asked from the last node on"),
    ("filter_nodes says", {"filter": PASSES, "filter_nodes": lambda _, s, p, table, rows: NodeStatuses.of([unschedulable("no")] * (rows.stop - rows.start))}, "filter says of node-0: Success, filter_nodes over rows 0:3: Unschedulable (no)"),
    ("filter_nodes says", {"filter": PASSES, "filter_nodes": lambda _, s, p, table, rows: NodeStatuses.success(len(table))}, "did not return NodeStatuses of 1 nodes"),
    ("dry runs see", {"pre_filter": remember, "filter": recall}, "needs add_pod and remove_pod"),
    ("scores are whole", {"score": lambda *_: (1000, None)}, "has 1000 points after normalising"),
    ("scores are whole", {"score": lambda *_: (1.5, None)}, "score returned 1.5, not a whole number"),
    ("scores are whole", {"score": lambda *_: 10}, "score returned 10, not (a whole number"),
    ("score_nodes says", {"score": lambda *_: (1, None), "score_nodes": lambda _, s, p, t, rows: rows}, "score gives node-0 1 points, score_nodes 0"),
    ("score_nodes says", {"score": lambda *_: (1, None), "score_nodes": lambda _, s, p, t, rows: np.ones(len(rows))}, "did not return int64[3]"),
    ("post_filter answers", {"post_filter": FITS}, "post_filter returned (None, None), not"),
    ("what is reserved", {"reserve": PASSES, "unreserve": lambda *_: 1 / 0}, "ZeroDivisionError"),
    ("permit answers", {"permit": lambda *_: (Status(Code.WAIT, ("w",)), 0)}, "permit waits, but for 0 ns"),
    ("permit answers", {"permit": lambda *_: (None, 1.5)}, "permit waits for 1.5"),
    ("binding methods", {"bind": lambda *_: Work()}, "there is no resume"),
    ("binding methods", {"pre_bind": lambda *_: "done", "pre_bind_pre_flight": PASSES}, "pre_bind returned 'done'"),
    ("pods with the same signature", {"filter": lambda _, s, pod, n: unschedulable("no") if pod.name.endswith("8") else None, "sign_pod": lambda *_: ((), None)}, "sign_pod leaves the name out"),
    ("row-local", {"filter": lambda _, s, pod, n: unschedulable("no") if pod.name.endswith("8") else None, "is_row_local": lambda *_: True}, "depend on the name"),
    ("row-local", {"pre_filter": remember, "filter": lambda _, state, p, n: unschedulable("no") if sum(state.read("pods")) else None, "is_row_local": lambda *_: True}, "a pod on node-0 changes what is said of other nodes"),
    ("verdicts of amounts", {"filter": lambda _, s, p, node: unschedulable("no") if node.name == "node-0" else None, "is_row_local": lambda *_: True, "is_of_amounts": True}, "of node-0 it says ('Unschedulable (no)', 0), of another node with the same amounts ('Success', 0)"),
    ("verdicts of amounts", {"score": lambda _, s, p, node: (len(node.node.metadata.labels), None), "is_row_local": lambda *_: True, "is_of_amounts": True}, "of another node with the same amounts"),
    ("filter looks at", {"filter": by_pods, "looks_at": "node"}, "looks_at is 'node', but for web-1 on node-0 the answer is Success, with a pod more on node-0 Unschedulable (full); leave looks_at out, or do not look at the pods on it"),
    ("filter looks at", {"pre_filter": remember, "filter": recall, "looks_at": "node"}, "with a pod more on node-0 Unschedulable (full)"),
    ("filter looks at", {"filter": by_ports, "looks_at": "amounts"}, "with pods on node-0 that ask for the same but have other ports Success"),
    ("filter looks at", {"filter": by_labels, "looks_at": "amounts"}, "with pods on node-0 that ask for the same but have other labels, volumes and priorities Success"),
    ("filter looks at", {"filter": by_labels, "looks_at": "ports"}, "with pods on node-0 that have other labels, volumes and priorities Success"),
    ("filter looks at", {"filter": by_requests, "looks_at": "ports"}, "with pods on node-0 that ask for more Unschedulable (too much)"),
    ("filter looks at", {"filter": by_pods, "looks_at": "ports"}, "with a pod more on node-0 Unschedulable (full)"),
    ("filter looks at", {"filter": PASSES, "looks_at": "nodes"}, "looks_at is 'nodes'; it may be 'node', 'amounts', 'ports', 'pods'"),
    ("score looks at", {"score": lambda _, s, p, node: (len(node.pods), None), "score_looks_at": "node"}, "score_looks_at is 'node', but for web-1 on node-0 the answer is 0, with a pod more on node-0 1; leave score_looks_at out"),
    ("score looks at", {"score": lambda *_: (1, None), "score_looks_at": "amounts"}, "score_looks_at is 'amounts'; it may be 'node', 'pods'"),
    ("what is pod-local", {"pre_filter": lambda _, s, pod, t: (None, unschedulable("no") if pod.name.endswith("8") else None), "is_pod_local": lambda *_: True}, "pre_filter answers Success for web-1, and Unschedulable (no) for a pod that differs in the name; let is_pod_local say False"),
    ("what is pod-local", {"pre_filter": lambda _, state, pod, t: (state.write("labels", pod.labels), None), "filter": lambda _, state, p, n: unschedulable("no") if state.read("labels") else None, "is_pod_local": lambda *_: True}, "of node-0 it says Success by what was kept for web-1, and Unschedulable (no) for a pod that differs in labels"),
    ("what is pod-local", {"pre_filter": remember, "filter": recall, "is_pod_local": lambda *_: True}, "of node-0 it says Success by what was kept for web-1, and Unschedulable (full) when a pod has come to node-0"),
    ("what is pod-local", {"pre_score": lambda _, state, p, t, rows: state.write("rows", len(rows)), "score": lambda _, state, p, n: (state.read("rows"), None), "is_pod_local": lambda *_: True}, "of node-0 it says 3 points by what was kept for web-1, and 1 points where but one node is feasible"),
    ("what is pod-local", {"pre_score": lambda _, s, p, table, rows: SKIP if any(info.node.spec.taints for info in table.infos) else None, "score": lambda *_: (1, None), "is_pod_local": lambda *_: True}, "pre_score answers Success for web-1, and Skip () when node-0 has got a label and a taint"),
    ("who says that it skips", {"pre_filter": FITS, "filter": PASSES, "skips": lambda *_: True}, "skips says True of web-1, but pre_filter answers Success with 3 feasible nodes; let skips say False of such pods, or return SKIP"),
    ("who says that it skips", {"pre_score": lambda _, s, p, t, rows: SKIP if len(rows) > 1 else None, "score": lambda *_: (1, None), "skips": lambda *_: True}, "pre_score answers Success with 1 feasible"),
    ("who says that it skips", {"pre_filter": lambda _, s, p, table: (None, None if any(info.pods for info in table.infos) else SKIP), "filter": PASSES, "skips": lambda *_: True}, "skips says True of web-1 when a pod has come to node-0, but pre_filter answers Success"),
    ("who reserves nothing", {"reserve": lambda *_: unschedulable("no"), "unreserve": PASSES, "reserves_nothing": lambda *_: True}, "reserve on node-0 answers Unschedulable (no)"),
    ("who reserves nothing", {"reserve": counting, "unreserve": PASSES, "reserves_nothing": lambda *_: True}, "reserve on node-0 leaves something behind"),
    ("who reserves nothing", {"reserve": lambda _, state, p, name: state.write("node", name), "unreserve": PASSES, "reserves_nothing": lambda *_: True}, "leaves something behind"),
    ("who has no work", {"pre_bind": PASSES, "pre_bind_pre_flight": PASSES, "pre_binds_nothing": lambda *_: True}, "pre_bind_pre_flight on node-0 answers Success"),
    ("changed verdicts", {"pre_filter": remember, "filter": recall, "filter_nodes": PASSES, "changed_verdicts": lambda *_: (1, [])}, "when a pod on node-0 came, changed_verdicts left out node-0: Success before, Unschedulable (full) then"),
    ("changed verdicts", {"pre_filter": remember, "filter": recall, "filter_nodes": PASSES, "changed_verdicts": lambda *_: []}, "changed_verdicts returned [], not (a mark, rows or None)"),
    ("changed verdicts", {"pre_filter": remember, "filter": recall, "filter_nodes": PASSES, "changed_verdicts": lambda *_: (1, [99])}, "gave the rows [99] of 3 nodes"),
    ("the same call", {"filter": alternating()}, "asked twice, it answered"),
    ("pods, nodes and the table", {"filter": spoil_pod}, "the pod was changed"),
    ("pods, nodes and the table", {"filter": spoil_node}, "node node-0 was changed"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "methods", "words"), MISTAKES)
def test_mistake_is_found_by_its_rule(rule: str, methods: dict[str, Any], words: str) -> None:
    plugin = type("Mine", (), {"name": "Mine", **methods})
    [check] = [check for check in plugin_checks(plugin) if check.name.startswith(rule)]

    with pytest.raises(PluginCheckError) as caught:
        check()

    assert f"plugin Mine breaks the rule '{check.name}':" in str(caught.value)
    assert words in str(caught.value)


def keeps(what: Callable[[Any], Any]) -> Body:
    """Return a pre_filter that keeps something of the pod."""
    return lambda _self, state, pod, *_: (state.write("kept", what(pod)), None)


def odd_is_not_for(what: Callable[[Any], bool]) -> Body:
    """Return a filter that turns nodes with odd numbers down for some of what was kept."""
    return lambda _self, state, _pod, node: (
        unschedulable("odd") if what(state.read("kept")) and node.name[-1] in "13579" else None
    )


def keeps_to_score(what: Callable[[Any], Any]) -> Body:
    """Return a pre_score that keeps something of the pod."""
    return lambda _self, state, pod, *_: state.write("kept", what(pod))


def name_score(_self: Any, state: Any, _pod: Any, node: Any) -> tuple[int, None]:
    kept = state.read("kept")
    return sum(map(ord, (kept if isinstance(kept, str) else kept()) + node.name)) % 101, None


YES: Body = lambda *_: True  # noqa: E731 - a method as a value
PARITY = tuple(
    Sample(value, (make_node("node-0"), make_node("node-1")), make_pod("p").label("parity", value).annotations({"parity": value}))
    for value in ("even", "odd")
)  # fmt: skip
EVEN_FILTER = odd_is_not_for(lambda kept: kept == "even")
#: Something that cannot be compared, so that only verdicts tell.
OPAQUE_FILTER = odd_is_not_for(lambda kept: kept() == "even")
#: Plugins that look at what pods with the same facts do not have in common, the rule that finds them, and what it tells.
LOOKS_AT_MORE: dict[str, tuple[dict[str, Any], str, str]] = {
    "EvenLocal": ({"pre_filter": keeps(lambda pod: pod.labels.get("parity")), "filter": EVEN_FILTER, "is_pod_local": YES}, "what is pod-local", "of node-1 it says Unschedulable (odd) by what was kept for p, and Success for a pod that differs in the label parity"),
    "EvenByAnnotation": ({"pre_filter": keeps(lambda pod: pod.pod.metadata.annotations.get("parity")), "filter": EVEN_FILTER, "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the annotation parity"),
    "EvenByObject": ({"pre_filter": keeps(lambda pod: pod.stored.raw["metadata"].get("labels", {}).get("parity")), "filter": EVEN_FILTER, "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the label parity"),
    "EvenHidden": ({"pre_filter": keeps(lambda pod: lambda: pod.labels.get("parity")), "filter": OPAQUE_FILTER, "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the label parity"),
    "EvenRefused": ({"pre_filter": lambda _, s, pod, t: (None, unschedulable("no") if pod.labels.get("parity") == "even" else None), "filter": PASSES, "is_pod_local": YES}, "what is pod-local", "pre_filter answers Success for a pod that differs in the label parity, and Unschedulable (no) for p"),
    "EvenNotSaid": ({"pre_filter": keeps(lambda pod: lambda: pod.labels.get("parity")), "filter": OPAQUE_FILTER, "is_pod_local": lambda _, pod: pod.labels.get("parity") != "even"}, "what is pod-local", "of node-1 it says Success by what was kept for a pod that differs in the label parity, and Unschedulable (odd) for p"),
    "NameLocal": ({"pre_filter": keeps(lambda pod: pod.name), "filter": odd_is_not_for(lambda name: name[-1] in "02468"), "is_pod_local": YES}, "what is pod-local", "of node-1 it says Success by what was kept for web-1, and Unschedulable (odd) for a pod that differs in the name"),
    "NameFirst": ({"pre_filter": keeps(lambda pod: lambda: pod.name[0] in "pwb"), "filter": odd_is_not_for(lambda kept: kept()), "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the name"),
    "NameScore": ({"pre_score": keeps_to_score(lambda pod: pod.name), "score": name_score, "is_pod_local": YES}, "what is pod-local", "under 'kept' it keeps \"web-1\" for web-1, and \"web-1-8\" for a pod that differs in the name"),
    "NameScoreHidden": ({"pre_score": keeps_to_score(lambda pod: lambda: pod.name), "score": name_score, "is_pod_local": YES}, "what is pod-local", "points for a pod that differs in the name"),
    "UidLocal": ({"pre_filter": keeps(lambda pod: pod.uid.startswith("uid")), "filter": odd_is_not_for(bool), "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the uid"),
    "OwnerLocal": ({"pre_filter": keeps(lambda pod: len(pod.pod.metadata.owner_references)), "filter": odd_is_not_for(bool), "is_pod_local": YES}, "what is pod-local", "for a pod that differs in its owner"),
    "AgeLocal": ({"pre_filter": keeps(lambda pod: pod.pod.metadata.creation_timestamp), "filter": odd_is_not_for(bool), "is_pod_local": YES}, "what is pod-local", "for a pod that differs in the time of its creation"),
    "NominatedLocal": ({"pre_filter": keeps(lambda pod: pod.pod.status.nominated_node_name), "filter": odd_is_not_for(bool), "is_pod_local": YES}, "what is pod-local", "for a pod that differs in its conditions and nominated node"),
    "SkipsLabelled": ({"pre_filter": lambda _, s, pod, t: (None, SKIP if pod.labels.get("parity") in ("even", "odd") else None), "filter": PASSES, "skips": lambda _, pod, t: "parity" in pod.labels}, "who says that it skips", "skips says True of a pod that differs in the label parity, but pre_filter answers Success"),
    "SkipsOneName": ({"pre_filter": lambda _, s, pod, t: (None, None if len(pod.name) == 1 and pod.name != "p" else SKIP), "filter": PASSES, "skips": YES}, "who says that it skips", "skips says True of a pod that differs in the name, but pre_filter answers Success"),
    "RowLocalLabelled": ({"filter": lambda _, s, pod, n: unschedulable("no") if pod.labels.get("parity") == "even" else None, "filter_nodes": PASSES, "is_row_local": YES}, "row-local", "verdicts or scores depend on the label parity"),
    "SignedLabelled": ({"filter": lambda _, s, pod, n: unschedulable("no") if pod.labels.get("parity") == "even" else None, "sign_pod": lambda *_: ((), None)}, "pods with the same signature", "sign_pod leaves the label parity out"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKS_AT_MORE)
def test_plugin_that_looks_at_more_than_it_says_is_found(name: str) -> None:
    methods, rule, words = LOOKS_AT_MORE[name]
    plugin = type(name, (), {"name": name, **methods})
    [check] = [check for check in plugin_checks(plugin, samples=PARITY) if check.name.startswith(rule)]

    with pytest.raises(PluginCheckError) as caught:
        check()

    assert words in str(caught.value)


def test_label_that_no_sample_has_is_found_by_what_is_kept_of_it() -> None:
    methods, _, _ = LOOKS_AT_MORE["EvenLocal"]

    with pytest.raises(
        PluginCheckError,
        match="under 'kept' it keeps null for web-1, and \"else\" for a pod that differs in the label parity",
    ):
        check_plugin(type("EvenLocal", (), {"name": "EvenLocal", **methods}))  # fmt: skip


def test_what_is_not_given_back_is_found() -> None:
    class Greedy(Good):
        def unreserve(self, state: Any, pod: Any, node_name: str) -> None: ...

    with pytest.raises(PluginCheckError, match="after reserve and unreserve on node-0 the verdicts are"):
        check_plugin(Greedy)


def test_unknown_arguments_that_are_taken_are_found() -> None:
    class Lax(msgspec.Struct):
        limit: int = 3

    entry = PluginEntry("Lax", lambda _args, _handle: Good(Good.Args(), None), lambda raw: msgspec.convert(raw, Lax))

    with pytest.raises(PluginCheckError, match="the argument noSuchArgument was taken"):
        check_plugin(entry)


def test_class_that_is_no_plugin_is_refused_at_once() -> None:
    with pytest.raises(PluginClassError, match="has no `name`"):
        plugin_checks(type("Mine", (), {}))


def test_samples_of_ones_own_are_tried_too() -> None:
    def needs_gpu(_self: Any, _state: Any, _pod: Any, node: Any) -> None:
        if node.name == "gpu-1":
            raise LookupError("no driver")

    plugin = type("Mine", (), {"name": "Mine", "filter": needs_gpu})
    check_plugin(plugin)

    with pytest.raises(PluginCheckError, match="on sample gpu: it raised LookupError: no driver"):
        check_plugin(plugin, samples=[Sample("gpu", (make_node("gpu-1"),), make_pod("p"))])


class TestExpectedFailures:
    PLUGIN = type("Mine", (), {"name": "Mine", "permit": lambda *_: (Status(Code.WAIT, ("w",)), 0)})
    RULE = "permit answers with a status and a time"

    def test_rule_that_is_known_to_be_broken_does_not_fail(self) -> None:
        check_plugin(self.PLUGIN, expected_failures={self.RULE: "it is opened by hand"})

    @pytest.mark.parametrize(
        ("expected", "words"),
        [("filter answers with a status", "holds, although it is expected to fail: why"), ("no rule", "there is no rule 'no rule'")],
    )  # fmt: skip
    def test_list_must_be_true(self, expected: str, words: str) -> None:
        with pytest.raises(PluginCheckError, match=words):
            check_plugin(self.PLUGIN, expected_failures={self.RULE: "why", expected: "why"})


@pytest.mark.parametrize("check", plugin_checks(Good), ids=str)
def test_each_check_can_be_a_test(check: Callable[[], None]) -> None:
    check()
