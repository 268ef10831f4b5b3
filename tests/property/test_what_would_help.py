"""Every suggestion works on a fork of the whole cluster, and no smaller change of its kind does.

The fork has every part: the change passes the registry as a user's would, then scheduler, controllers and kubelets run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import pytest

from schedlab.api.rules.requests import amounts_of
from schedlab.cluster.cluster import Cluster
from schedlab.cluster.driver import BatchDriver
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import SeededRandom
from schedlab.registry import DeleteOptions
from schedlab.scheduler.framework.preemption.budgets import Budget, Budgets
from schedlab.whatif.forks import fork
from schedlab.whatif.help import what_would_help
from schedlab.whatif.search import affinity, evictions, priorities, requests, spreading, taints
from schedlab.whatif.search.case import Case
from schedlab.whatif.search.edits import Edit, Suggestion
from schedlab.whatif.trial import Trial, changed, pod_of
from tests.unit.whatif.whatif_cluster import Json, Lab

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
APPS = ("web", "db")
PROTOCOLS = ("TCP", "UDP")
GPU = "example.com/gpu"
SEEDS = 60


def random_lab(seed: int) -> Lab:
    """Return a small crowded cluster with one pod `p` that asks for more than there is."""
    dice = SeededRandom(seed)

    def pick(options: Sequence[Any]) -> Any:
        return options[dice.below(len(options))]

    lab = Lab()
    for name, value in (("low", 1), ("mid", 10), ("high", 100)):
        lab.priority(name, value)
        lab.priority(f"quiet-{name}", value, "Never")
    for number in range(2 + dice.below(4)):
        labels = {ZONE: pick("ab"), "pool": pick(("x", "y"))}
        node_taints = [{"key": pick(("k1", "k2")), "value": "v", "effect": "NoSchedule"}] * (dice.below(2) == 0)
        lab.node(
            f"n{number}",
            cpu=str(1 + dice.below(6)),
            memory=f"{1 + dice.below(4)}Gi",
            labels=labels,
            taints=node_taints,
            unschedulable=dice.below(5) == 0,
        )
    lab.settle()
    for number in range(4 + dice.below(8)):
        spec: Json = {"requests": {"cpu": pick(("250m", "500m", "1")), "memory": pick(("128Mi", "512Mi", "1Gi"))}}
        spec["priorityClassName"] = pick(("low", "mid", "high"))
        if dice.below(4) == 0:
            spec["container"] = {
                "ports": [{"containerPort": 80, "hostPort": pick((80, 81)), "protocol": pick(PROTOCOLS)}]
            }
        lab.pod(f"q{number}", labels={"app": pick(APPS)}, tolerations=[{"operator": "Exists"}], **spec)
        lab.settle(1)
    if dice.below(4) == 0:
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        lab.create("poddisruptionbudgets.policy", {"metadata": {"name": "b"}, "spec": budget}, "default")
    for pod in lab.cluster.informers.lister("pods").list():
        if not pod.spec.node_name:
            lab.cluster.registry.delete("pods", pod.metadata.name, "default")
    lab.settle()
    if dice.below(5) == 0:
        lab.node("spare", cpu="8", labels={ZONE: "a", "pool": "x"}, unschedulable=True)
    lab.pod("p", labels={"app": "web"}, **random_wishes(dice, pick))
    lab.settle()
    return lab


def random_wishes(dice: SeededRandom, pick: Callable[[Sequence[Any]], Any]) -> Json:
    """Return what the pod asks for."""
    wishes: Json = {"requests": {"cpu": pick(("250m", "500m", "2", "5")), "memory": pick(("512Mi", "1Gi", "3Gi"))}}
    if dice.below(2) == 0:
        wishes["nodeSelector"] = {"pool": pick(("x", "z"))}
    if dice.below(2) == 0:
        wishes["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": pick((ZONE, HOSTNAME)),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "nodeTaintsPolicy": pick(("Honor", "Ignore")),
            }
        ]
    if dice.below(3) == 0:
        number = pick((80, 81))
        wishes["container"] = {
            "ports": [{"containerPort": 80, "hostPort": number, "protocol": protocol} for protocol in PROTOCOLS]
        }
    if dice.below(8) == 0:
        wishes["requests"][GPU] = "2"
        wishes["container"] = {
            **wishes.get("container", {}),
            "resources": {"requests": wishes["requests"], "limits": {GPU: "2"}},
        }
    # Who may preempt helps itself.
    wishes["priorityClassName"] = pick(("quiet-low", "quiet-mid"))
    if dice.below(3) == 0:
        terms = [
            {"matchExpressions": [{"key": "pool", "operator": pick(("In", "NotIn")), "values": [pick(("x", "z"))]}]}
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        wishes["affinity"] = {"nodeAffinity": required}
    return wishes


def landed(cluster: Cluster, edits: Sequence[Edit]) -> str:
    """Make the changes as a user would on a fork of the whole cluster; return the node that the pod is bound to."""
    made = fork(cluster)
    registry = made.registry
    now = DeleteOptions(grace_period_seconds=0)
    for edit in edits:
        for pod in edit.evicted:
            registry.delete("pods", pod.name, pod.namespace, now)
        if edit.new_node is not None:
            manifest = edit.details["manifest"]
            registry.create("nodes", registry.decode("nodes", manifest))
        if edit.node_change is not None:
            node = registry.get("nodes", edit.node).thaw()
            edit.node_change(node)
            registry.update("nodes", edit.node, registry.decode("nodes", node))
    changes = [edit.pod for edit in edits if edit.pod is not None]
    if changes:
        raw = registry.get("pods", "p", "default").thaw()
        for change in changes:
            change(raw)
        fresh = {"metadata": {"name": "p", "labels": raw["metadata"].get("labels", {})}, "spec": raw["spec"]}
        registry.delete("pods", "p", "default", now)
        registry.create("pods", registry.decode("pods", fresh), "default")
    BatchDriver(made.engine, made.clock).run_for(60 * SECOND_NS)  # type: ignore[arg-type]  # a fork's clock is virtual
    bound = made.informers.lister("pods").get("p", "default")
    return "" if bound is None else str(bound.spec.node_name)


def smaller(case: Case, edit: Edit) -> Iterator[Sequence[Edit]]:
    """Yield changes of the same kind that ask for less."""
    details = edit.details
    match edit.kind:
        case "request":
            amounts = amounts_of({details["resource"]: details["to"]})
            need = case.pod.requests[details["resource"]]
            amount = amounts[details["resource"]]
            yield [requests.lower(details["resource"], need, amount + 1)]
            yield [requests.lower(details["resource"], need, (amount + need) // 2)] if amount + 1 < need else []
        case "toleration":
            every = dict.fromkeys(taint for row in range(len(case.table)) for taint in taints.untolerated(case, row))
            for size in range(1, len(details["taints"])):
                yield from ([taints.tolerate(some)] for some in combinations(every, size))
        case "host-port":
            # The same port of the other protocol does not have to go.
            assert isinstance(edit.pod, partial)
            after = pod_of(changed(case.stored, edit.pod))
            assert len(after.host_ports) == len(case.pod.host_ports) - 1
        case "new-node":
            yield from ([_with_less(edit, name)] for name in _added(case, edit))
        case "maxSkew":
            assert isinstance(edit.pod, partial)
            for skew in range(details["from"], details["to"]):
                yield [replace(edit, pod=partial(spreading._set_skew, edit.pod.args[0], skew))]
        case "evict":
            everybody = [pod for info in case.table.infos for pod in info.pods]
            for size in range(1, len(edit.evicted)):
                yield from ([evictions.removal(some)] for some in combinations(everybody, size) if _is_kept(case, some))
        case "whenUnsatisfiable":
            # Another maxSkew asks for less than giving the constraint up.
            assert isinstance(edit.pod, partial)
            (place,) = edit.pod.args
            yield from ([replace(edit, pod=partial(spreading._set_skew, place, skew))] for skew in (2, 3, 10, 1000))
        case "node-affinity" if isinstance(edit.pod, partial) and edit.pod.func is affinity._drop_expression:
            values = {info.node.metadata.labels.get("pool", "") for info in case.table.infos}
            yield from ([affinity._widen("pool", value, *edit.pod.args)] for value in sorted(values))
        case _:
            # There is nothing smaller of its kind than one of it; without it the pod still waits.
            yield []


def _added(case: Case, edit: Edit) -> list[str]:
    """Return the resources of which a new node has more than the one that it is like."""
    info = case.trial.scheduler.cache.node_info(edit.details["like"])
    assert info is not None
    assert edit.new_node is not None
    return [
        name
        for name, amount in edit.new_node.raw["status"]["allocatable"].items()
        if amount != info.node.status.allocatable.get(name)
    ]


def _with_less(edit: Edit, name: str) -> Edit:
    def take(node: Json) -> None:
        node["status"]["allocatable"][name] = str(int(node["status"]["allocatable"][name]) - 1)

    assert edit.new_node is not None
    return replace(edit, new_node=changed(edit.new_node, take))


def _is_kept(case: Case, pods: Sequence[Any]) -> bool:
    budgets = Budgets(Budget.of(one) for one in case.trial.listers.lister("poddisruptionbudgets.policy").list())
    return not budgets.split(pods)[0]


def check(lab: Lab, case: Case, suggestion: Suggestion) -> None:
    edits = suggestion.edits
    if suggestion.kind != "priority":
        assert landed(lab.cluster, edits) == suggestion.node, suggestion.summary
    if suggestion.kind == "combination":
        for left_out in edits:
            rest = [edit for edit in edits if edit is not left_out]
            assert not case.land(rest), f"{suggestion.summary}: {left_out.summary} is needless"
        return
    for less in smaller(case, edits[0]):
        assert not case.land(less), f"{suggestion.summary}: {[edit.summary for edit in less]} would do"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_suggestions_work_and_are_minimal(seed: int) -> None:
    lab = random_lab(seed)
    if lab.node_of("p"):
        return
    before = lab.digest()
    found = what_would_help(lab.cluster, "default", "p")
    trial = Trial.of(lab.cluster)
    stored = trial.listers.lister("pods").stored("p", "default")
    assert stored is not None
    case = Case(trial, stored)
    for suggestion in found.suggestions:
        check(lab, case, suggestion)
    assert lab.digest() == before


def test_every_kind_is_met() -> None:
    """The clusters above lead to many suggestions of nearly every kind; else the test would prove little."""
    seen: dict[str, int] = {}
    several = 0
    for seed in range(SEEDS):
        lab = random_lab(seed)
        if not lab.node_of("p"):
            for suggestion in what_would_help(lab.cluster, "default", "p").suggestions:
                seen[suggestion.kind] = seen.get(suggestion.kind, 0) + 1
                several += suggestion.kind == "evict" and len(suggestion.edits[0].evicted) > 1

    assert set(seen) >= {"request", "toleration", "uncordon", "node-label", "node-affinity", "evict", "new-node"}
    assert set(seen) >= {"maxSkew", "combination", "host-port", "priority"}
    assert several >= 3
    assert sum(seen.values()) >= 60


def test_the_next_lower_class_does_not_preempt() -> None:
    lab = Lab()
    for name, value in (("a", 1), ("b", 2), ("c", 3), ("d", 4)):
        lab.priority(name, value)
    lab.node("n", cpu="1")
    lab.pod("there", cpu="1", priorityClassName="b")
    lab.settle()
    lab.pod("p", cpu="1", priorityClassName="a")
    lab.settle()
    found = what_would_help(lab.cluster, "default", "p")
    (suggestion,) = (one for one in found.suggestions if one.kind == "priority")

    assert suggestion.edits[0].details["priorityClassName"] == "c"
    assert landed(lab.cluster, suggestion.edits) == "n"
    assert landed(lab.cluster, [replace(suggestion.edits[0], pod=partial(priorities._set_priority, 2, "b", ""))]) == ""
