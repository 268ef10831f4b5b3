"""Which changes of pods and nodes bring a waiting pod back: the queueing hints of the other plugins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.parity.written import objects
from tests.parity.written.building import (
    HELPLESS,
    NO_CLAIMS,
    NO_VICTIMS,
    QUEUE,
    SKIP,
    STILL,
    Json,
    Step,
    apply,
    case,
    delete,
    gated,
    happens,
    placed,
    places,
    unavailable,
    waits,
    with_gangs,
)

_ZONE: Final = "topology.kubernetes.io/zone"
_GPU: Final = "example.com/gpu"
_WEB: Final = {"app": "web"}


def cases() -> Iterator[Json]:
    """The cases."""
    yield from _fit_pods()
    yield from _fit_nodes()
    yield from _spread()
    yield from _affinity()
    yield from _node_affinity()
    yield from _cordoned()
    yield from _declared()
    yield from _gangs()


# --- NodeResourcesFit ---

_FIT: Final = "noderesources/fit.go"


def _fit_case(
    name: str,
    function: str,
    pod: PodBuilder,
    short: str,
    objects_there: list[Json],
    *events: Step,
    preemption: str = NO_VICTIMS,
    claims: str = NO_CLAIMS,
) -> Json:
    message = unavailable(f"1 Insufficient {short}", f"1 {preemption}", claims=claims)
    steps = [*waits(pod, message, "NodeResourcesFit"), *events]
    return case(f"fit-{name}", f"{_FIT}: {function}", objects_there, steps)


def _fit_pods() -> Iterator[Json]:
    pod = make_pod("p").req(cpu="2")
    node = make_node("n1").capacity(cpu="2", memory="4Gi").dict()
    other = make_pod("x").req(cpu="1", memory="1Gi").node("n1")
    scaled, hint = "AssignedPodUpdatePodScaleDown", "NodeResourcesFit"
    yield _fit_case(
        "scaled-down",
        "isSchedulableAfterPodScaleDown: less of something that the pod asks for",
        pod,
        "cpu",
        [node, other.dict()],
        happens(apply(make_pod("x").req(cpu="1", memory="512Mi").node("n1").dict()), pod, {scaled: {hint: SKIP}}),
        happens(apply(make_pod("x").req(cpu="500m", memory="512Mi").node("n1").dict()), pod, {scaled: {hint: QUEUE}}),
    )
    of_gpu = make_pod("p").req({_GPU: "1"})
    with_gpu = make_node("n1").capacity({_GPU: "1"}, cpu="4").dict()
    holder = make_pod("x").req({_GPU: "1"}, cpu="1").node("n1")
    bystander = make_pod("y").req(cpu="2").node("n1")
    yield _fit_case(
        "scaled-to-none",
        "isSchedulableAfterPodScaleDown: from one to none, of a resource that others never had",
        of_gpu,
        _GPU,
        [with_gpu, holder.dict(), bystander.dict()],
        happens(apply(make_pod("y").req(cpu="1").node("n1").dict()), of_gpu, {scaled: {hint: SKIP}}),
        happens(apply(make_pod("x").req(cpu="1").node("n1").dict()), of_gpu, {scaled: {hint: QUEUE}}),
    )
    nothing_wanted = make_pod("p").req({_GPU: "1", "cpu": "0"})
    yield _fit_case(
        "nothing-wanted",
        "isSchedulableAfterPodScaleDown: of a resource whose request is zero less does not count",
        nothing_wanted,
        _GPU,
        [with_gpu, holder.dict()],
        happens(
            apply(make_pod("x").req({_GPU: "1"}, cpu="500m").node("n1").dict()), nothing_wanted, {scaled: {hint: SKIP}}
        ),
    )


def _fit_nodes() -> Iterator[Json]:
    hint, changed = "NodeResourcesFit", "NodeUpdateNodeAllocatable"
    pod = make_pod("p").req(cpu="2")
    taken = make_pod("x").req(cpu="1").node("n1").dict()

    def node(**amounts: str) -> Json:
        return make_node("n1").capacity(amounts).dict()

    yield _fit_case(
        "grown-elsewhere",
        "haveAnyRequestedResourcesIncreased: more of what the pod does not ask for, then room for more pods",
        pod,
        "cpu",
        [node(cpu="2", memory="1Gi"), taken],
        happens(apply(node(cpu="2", memory="2Gi")), pod, {changed: {hint: SKIP}}),
        happens(apply(node(cpu="2", memory="2Gi", pods="33")), pod, {changed: {hint: QUEUE}}),
    )
    yield _fit_case(
        "grown-too-little",
        "isSchedulableAfterNodeChange: even the empty node is too small",
        make_pod("p").req(cpu="4"),
        "cpu",
        [node(cpu="1")],
        happens(apply(node(cpu="3")), pod, {changed: {hint: SKIP}}),
        happens(apply(node(cpu="4")), pod, {changed: {hint: QUEUE}}),
        preemption=HELPLESS,
    )
    backed = make_pod("p").req({_GPU: "1"}, cpu="2")
    yield _fit_case(
        "devices-behind",
        "haveAnyRequestedResourcesIncreased: a resource left to devices may be there whatever has changed",
        backed,
        "cpu",
        [node(cpu="2", memory="1Gi"), taken, objects.device_class("gpu", extended_resource=_GPU)],
        happens(apply(node(cpu="2", memory="2Gi")), backed, {changed: {hint: QUEUE}}),
        claims=STILL,
    )
    yield from _fit_classes()


def _fit_classes() -> Iterator[Json]:
    hint, added, updated = "NodeResourcesFit", "resource.k8s.io/DeviceClassAdd", "resource.k8s.io/DeviceClassUpdate"
    node = make_node("n1").capacity(cpu="4").dict()
    by_name = make_pod("p").req({_GPU: "1"})
    offers = objects.device_class("gpu", extended_resource=_GPU)
    yield _fit_case(
        "class-named",
        "isSchedulableAfterDeviceClassEvent: the class gets the name of the resource",
        by_name,
        _GPU,
        [node, objects.device_class("gpu")],
        happens(apply(objects.device_class("gpu", labels={"a": "b"})), by_name, {updated: {hint: SKIP}}),
        happens(apply(objects.device_class("far", extended_resource="far/gpu")), by_name, {added: {hint: SKIP}}),
        happens(apply(offers), by_name, {updated: {hint: QUEUE}}),
        preemption=HELPLESS,
    )
    implicit = "deviceclass.resource.kubernetes.io/gpu"
    by_class = make_pod("p").req({implicit: "1"})
    yield _fit_case(
        "class-implicit",
        "isSchedulableAfterDeviceClassEvent: a new class offers its own name",
        by_class,
        implicit,
        [node],
        happens(apply(objects.device_class("other")), by_class, {added: {hint: SKIP}}),
        happens(apply(objects.device_class("gpu")), by_class, {added: {hint: QUEUE}}),
        preemption=HELPLESS,
    )


# --- PodTopologySpread: two zones are asked for, the only one has a pod of the kind ---

_SPREAD: Final = "podtopologyspread/plugin.go"


def _spreading(**fields: Any) -> PodBuilder:
    return make_pod("p").labels(_WEB).spread_constraint(1, _ZONE, _WEB, minDomains=2, **fields)


def _spread_case(name: str, function: str, pod: PodBuilder, *events: Step) -> Json:
    message = unavailable("1 node(s) didn't match pod topology spread constraints", f"1 {NO_VICTIMS}")
    return case(
        f"spread-{name}",
        f"{_SPREAD}: {function}",
        [
            make_node("n1").zone("za").capacity(cpu="4").dict(),
            make_pod("web").labels(_WEB).node("n1").dict(),
            make_pod("other").node("n1").dict(),
            make_pod("far", "elsewhere").labels(_WEB).node("n1").dict(),
        ],
        [*waits(pod, message, "PodTopologySpread"), *events],
    )


def _spread() -> Iterator[Json]:
    hint, added, deleted, labelled = (
        "PodTopologySpread",
        "AssignedPodAdd",
        "AssignedPodDelete",
        "AssignedPodUpdatePodLabel",
    )
    pod, other, far = _spreading(), make_pod("other").node("n1"), make_pod("far", "elsewhere").node("n1")
    web = make_pod("web").labels(_WEB).node("n1")
    function = "isSchedulableAfterPodChange"
    yield _spread_case(
        "labels",
        f"{function}: an update counts if the selector matches one state of the labels and not the other",
        pod,
        happens(apply(other.label("a", "b").dict()), pod, {labelled: {hint: SKIP}}),
        happens(apply(web.label("a", "b").dict()), pod, {labelled: {hint: SKIP}}),
        happens(apply(far.label("a", "b").dict()), pod, {labelled: {hint: SKIP}}),
        happens(apply(other.labels(_WEB).dict()), pod, {labelled: {hint: QUEUE}}),
    )
    yield _spread_case(
        "labels-lost",
        f"{function}: an update counts if the selector matches one state of the labels and not the other",
        pod,
        happens(apply(web.labels({"app": "db"}).dict()), pod, {labelled: {hint: QUEUE}}),
    )
    own = "UnschedulablePodUpdatePodLabel"
    yield _spread_case(
        "own-labels",
        f"{function}, involvedInTopologySpreading: the pod itself is looked at although it has no node",
        pod,
        happens(apply(pod.label("a", "b").dict()), pod, {own: {hint: SKIP}}),
        happens(apply(pod.label("app", "db").dict()), pod, {own: {hint: QUEUE}}),
    )
    yield _spread_case(
        "added",
        f"{function}: a new pod counts if the selector matches it, in the pod's namespace",
        pod,
        happens(apply(make_pod("x").node("n1").dict()), pod, {added: {hint: SKIP}}),
        happens(apply(make_pod("x", "elsewhere").labels(_WEB).node("n1").dict()), pod, {added: {hint: SKIP}}),
        happens(apply(make_pod("y").labels(_WEB).node("n1").dict()), pod, {added: {hint: QUEUE}}),
    )
    yield _spread_case(
        "deleted",
        f"{function}: a deleted pod counts if the selector matches it",
        pod,
        happens(delete(other.dict()), pod, {deleted: {hint: SKIP}}),
        happens(delete(far.dict()), pod, {deleted: {hint: SKIP}}),
        happens(delete(web.dict()), pod, {deleted: {hint: QUEUE}}),
    )
    yield from _spread_tolerations()
    yield from _spread_nodes()


def _spread_tolerations() -> Iterator[Json]:
    function = "isSchedulableAfterPodChange, hasConstraintWithNodeTaintsPolicyHonor"
    own, others = "UnschedulablePodUpdatePodToleration", "AssignedPodUpdatePodToleration"
    hint, other = "PodTopologySpread", make_pod("other").node("n1").toleration("far", "x", "NoSchedule")
    pod = _spreading()
    yield _spread_case(
        "tolerations-ignored",
        f"{function}: taints do not matter to the constraint",
        pod,
        happens(apply(pod.toleration("far", "x", "NoSchedule").dict()), pod, {own: {hint: SKIP}}),
    )
    honest = _spreading(nodeTaintsPolicy="Honor")
    yield _spread_case(
        "tolerations-honored",
        f"{function}: the pod's own tolerations matter, those of others do not",
        honest,
        happens(apply(other.dict()), honest, {others: {hint: SKIP}}),
        happens(apply(honest.label("a", "b").dict()), honest, {"UnschedulablePodUpdatePodLabel": {hint: SKIP}}),
        happens(
            apply(honest.label("a", "b").toleration("far", "x", "NoSchedule").dict()), honest, {own: {hint: QUEUE}}
        ),
    )


def _spread_nodes() -> Iterator[Json]:
    hint, pod = "PodTopologySpread", _spreading()
    function = "isSchedulableAfterNodeChange"
    node = make_node("n1").capacity(cpu="4")
    yield _spread_case(
        "node-taints",
        f"{function}: other taints of a node with the topology key count",
        pod,
        happens(apply(node.zone("za").label("a", "b").dict()), pod, {"NodeUpdateNodeLabel": {hint: SKIP}}),
        happens(apply(node.zone("za").label("a", "b").taint("t").dict()), pod, {"NodeUpdateNodeTaint": {hint: QUEUE}}),
    )
    yield _spread_case(
        "node-moved",
        f"{function}, checkTopologyKeyLabelsChanged: another domain counts",
        pod,
        happens(apply(node.zone("zb").dict()), pod, {"NodeUpdateNodeLabel": {hint: QUEUE}}),
    )
    yield _spread_case(
        "node-lost-key",
        f"{function}: to lose the topology key counts",
        pod,
        happens(apply(node.dict()), pod, {"NodeUpdateNodeLabel": {hint: QUEUE}}),
    )


# --- InterPodAffinity ---

_AFFINITY: Final = "interpodaffinity/plugin.go"
_LONELY: Final = "node(s) didn't match pod affinity rules"
_AWAY: Final = "node(s) didn't match pod anti-affinity rules"


def _affinity_case(name: str, function: str, pod: PodBuilder, reason: str, preemption: str, *events: Step) -> Json:
    """Node n1 in za with pod `db`, and one without labels."""
    return case(
        f"affinity-{name}",
        f"{_AFFINITY}: {function}",
        [
            make_node("n1").zone("za").capacity(cpu="4").dict(),
            make_pod("db").labels({"app": "db"}).node("n1").dict(),
            make_pod("other").node("n1").dict(),
        ],
        [*waits(pod, unavailable(f"1 {reason}", f"1 {preemption}"), "InterPodAffinity"), *events],
    )


def _affinity() -> Iterator[Json]:
    hint, labelled, deleted = "InterPodAffinity", "AssignedPodUpdatePodLabel", "AssignedPodDelete"
    changes = "isSchedulableAfterPodChange"
    db, other = make_pod("db").labels({"app": "db"}).node("n1"), make_pod("other").node("n1")
    near = make_pod("p").pod_affinity(_ZONE, _WEB)
    yield _affinity_case(
        "labels-match",
        f"{changes}: an update counts if the terms match only now",
        near,
        _LONELY,
        HELPLESS,
        happens(apply(other.label("a", "b").dict()), near, {labelled: {hint: SKIP}}),
        happens(delete(db.dict()), near, {deleted: {hint: SKIP}}),
        happens(apply(other.labels(_WEB).dict()), near, {labelled: {hint: QUEUE}}),
    )
    yield _affinity_case(
        "own-labels",
        f"{changes}: other labels of the pod itself always count",
        near,
        _LONELY,
        HELPLESS,
        happens(apply(near.label("a", "b").dict()), near, {"UnschedulablePodUpdatePodLabel": {hint: QUEUE}}),
    )
    apart = make_pod("p").pod_anti_affinity(_ZONE, {"app": "db"})
    yield _affinity_case(
        "labels-no-more",
        f"{changes}: an update counts if the anti-affinity terms match no more",
        apart,
        _AWAY,
        NO_VICTIMS,
        happens(apply(other.labels({"app": "db"}).dict()), apart, {labelled: {hint: SKIP}}),
        happens(apply(db.label("a", "b").dict()), apart, {labelled: {hint: SKIP}}),
        happens(apply(db.labels({"app": "x"}).dict()), apart, {labelled: {hint: QUEUE}}),
    )
    yield from _affinity_nodes(near, apart)


def _affinity_nodes(near: PodBuilder, apart: PodBuilder) -> Iterator[Json]:
    hint, moved, nodes = "InterPodAffinity", "NodeUpdateNodeLabel", "isSchedulableAfterNodeChange"
    node = make_node("n1").capacity(cpu="4")
    yield _affinity_case(
        "node-in",
        f"{nodes}: affinity gains from a node that gets the topology key or another value, not from one that loses it",
        near,
        _LONELY,
        HELPLESS,
        happens(apply(node.zone("za").label("a", "b").dict()), near, {moved: {hint: SKIP}}),
        happens(apply(node.dict()), near, {moved: {hint: SKIP}}),
        happens(apply(node.zone("zb").dict()), near, {moved: {hint: QUEUE}}),
    )
    yield _affinity_case(
        "node-out",
        f"{nodes}: anti-affinity gains from a node that loses the topology key",
        apart,
        _AWAY,
        NO_VICTIMS,
        happens(apply(node.zone("za").label("a", "b").dict()), apart, {moved: {hint: SKIP}}),
        happens(apply(node.dict()), apart, {moved: {hint: QUEUE}}),
    )
    yield _affinity_case(
        "node-added",
        f"{nodes}: affinity gains from a new node with the topology key only",
        near,
        _LONELY,
        HELPLESS,
        happens(apply(make_node("n2").dict()), near, {"NodeAdd": {hint: SKIP}}),
        happens(apply(make_node("n3").zone("zb").dict()), near, {"NodeAdd": {hint: QUEUE}}),
    )


# --- NodeAffinity, NodeUnschedulable, TaintToleration, NodeDeclaredFeatures ---


def _node_affinity() -> Iterator[Json]:
    hint, moved = "NodeAffinity", "NodeUpdateNodeLabel"
    pod = make_pod("p").node_selector({"disk": "ssd"})
    node = make_node("n1").capacity(cpu="4")
    yield case(
        "node-affinity-labels",
        "nodeaffinity/node_affinity.go: isSchedulableAfterNodeChange: the node matches now and did not before",
        [node.dict()],
        [
            *waits(
                pod, unavailable("1 node(s) didn't match Pod's node affinity/selector", f"1 {HELPLESS}"), "NodeAffinity"
            ),
            happens(apply(node.label("disk", "hdd").dict()), pod, {moved: {hint: SKIP}}),
            happens(apply(node.label("disk", "ssd").dict()), pod, {moved: {hint: QUEUE}}),
        ],
    )


def _cordoned() -> Iterator[Json]:
    hint, own, others = "NodeUnschedulable", "UnschedulablePodUpdatePodToleration", "AssignedPodUpdatePodToleration"
    pod, other = make_pod("p"), make_pod("x").node("n1")
    key = "node.kubernetes.io/unschedulable"
    yield case(
        "cordoned-tolerations",
        "nodeunschedulable/node_unschedulable.go: isSchedulableAfterPodTolerationChange: "
        "the pod itself tolerates the taint of cordoned nodes now",
        [make_node("n1").unschedulable().capacity(cpu="4").dict(), other.dict()],
        [
            *waits(pod, unavailable("1 node(s) were unschedulable", f"1 {HELPLESS}"), hint),
            happens(
                apply(other.toleration(key, effect="NoSchedule", operator="Exists").dict()), pod, {others: {hint: SKIP}}
            ),
            happens(apply(pod.toleration("far", "x", "NoSchedule").dict()), pod, {own: {hint: SKIP}}),
            happens(
                apply(
                    pod.toleration("far", "x", "NoSchedule")
                    .toleration(key, effect="NoSchedule", operator="Exists")
                    .dict()
                ),
                pod,
                {own: {hint: QUEUE}},
            ),
        ],
    )
    tainted = make_node("n1").taint("t").capacity(cpu="4")
    yield case(
        "taint-tolerations",
        "tainttoleration/taint_toleration.go: isSchedulableAfterPodTolerationChange: "
        "the pod itself has other tolerations",
        [tainted.dict(), other.dict()],
        [
            *waits(pod, unavailable("1 node(s) had untolerated taint(s)", f"1 {HELPLESS}"), "TaintToleration"),
            happens(apply(other.toleration("t", "", "NoSchedule").dict()), pod, {others: {"TaintToleration": SKIP}}),
            happens(apply(pod.toleration("t", "", "NoSchedule").dict()), pod, {own: {"TaintToleration": QUEUE}}),
        ],
    )


def _declared() -> Iterator[Json]:
    """A pod that restarts all its containers needs a node that declares that it can."""
    hint, feature = "NodeDeclaredFeatures", "RestartAllContainersOnContainerExits"
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}
    pod = make_pod("p").container(restartPolicy="Never", restartPolicyRules=[rule])
    other, node = make_pod("x").node("n1"), make_node("n1").capacity(cpu="4")
    message = unavailable("1 node(s) didn't match Pod's required features", f"1 {HELPLESS}")
    waiting = waits(pod, message, hint, own={hint: SKIP})
    declared = "NodeUpdateNodeDeclaredFeature"
    yield case(
        "declared-pod",
        "nodedeclaredfeatures/nodedeclaredfeatures.go: isSchedulableAfterPodUpdate: the pod itself needs other features now",
        [node.dict(), other.dict()],
        [
            *waiting,
            happens(apply(other.label("a", "b").dict()), pod, {"AssignedPodUpdatePodLabel": {hint: SKIP}}),
            happens(apply(pod.label("a", "b").dict()), pod, {"UnschedulablePodUpdatePodLabel": {hint: SKIP}}),
            happens(
                apply(make_pod("p").label("a", "b").container().dict()), pod, {"UnschedulablePodUpdate": {hint: QUEUE}}
            ),
        ],
    )
    yield case(
        "declared-node",
        "nodedeclaredfeatures/nodedeclaredfeatures.go: isSchedulableAfterNodeChange: other features than before",
        [node.dict()],
        [
            *waiting,
            happens(apply(node.declared_features(feature).dict()), pod, {declared: {hint: QUEUE}}),
        ],
    )
    yield case(
        "declared-added",
        "nodedeclaredfeatures/nodedeclaredfeatures.go: isSchedulableAfterNodeChange: any new node counts",
        [node.dict()],
        [*waiting, happens(apply(make_node("n2").dict()), pod, {"NodeAdd": {hint: QUEUE}})],
        nodes=("n1",),
    )


# --- GangScheduling ---

_GATES: Final = {"GenericWorkload": True, "GangScheduling": True}


def _member(name: str, group: str = "g", namespace: str = "default") -> PodBuilder:
    return make_pod(name, namespace).set("spec.schedulingGroup", {"podGroupName": group})


def _gangs() -> Iterator[Json]:
    """In addPodToSchedulingQueue a pod that comes is an event for all that wait, itself included."""
    file, plugin, node = "gangscheduling/gangscheduling.go", "GangScheduling", make_node("n1").capacity(cpu="4").dict()
    profile, pod, event = with_gangs(), _member("p"), "scheduling.k8s.io/PodGroupAdd"
    no_group = 'waiting for pods\'s pod group "g" to appear in scheduling queue'
    too_few = "waiting for minCount pods from a gang to appear in scheduling queue"
    for name, group in (("basic", objects.pod_group("g")), ("gang", objects.pod_group("g", least=1))):
        yield case(
            f"group-added-{name}",
            f"{file}: PreEnqueue, isSchedulableAfterPodGroupAdded: a pod waits for its group",
            [node],
            [
                gated(pod, plugin, no_group, own={plugin: QUEUE}),
                happens(apply(objects.pod_group("h")), pod, {event: {plugin: SKIP}}, stays="gated"),
                happens(apply(objects.pod_group("g", namespace="far")), pod, {event: {plugin: SKIP}}, stays="gated"),
                happens(apply(group), pod, {event: {plugin: QUEUE}}, to="active"),
                placed(pod, "n1"),
            ],
            profile=profile,
            gates=_GATES,
        )
    added = "AssignedPodAdd"
    yield case(
        "group-too-few",
        f"{file}: PreEnqueue, isSchedulableAfterPodAdded: a pod of a gang waits for the others",
        [node, objects.pod_group("g", least=2)],
        [
            gated(pod, plugin, too_few, own={plugin: QUEUE}),
            happens(apply(make_pod("a").node("n1").dict()), pod, {added: {plugin: SKIP}}, stays="gated"),
            happens(apply(_member("b", "h").node("n1").dict()), pod, {added: {plugin: SKIP}}, stays="gated"),
            happens(
                apply(_member("c", namespace="far").node("n1").dict()), pod, {added: {plugin: SKIP}}, stays="gated"
            ),
            happens(apply(_member("d").node("n1").dict()), pod, {added: {plugin: QUEUE}}, to="active"),
            placed(pod, "n1"),
        ],
        profile=profile,
        gates=_GATES,
    )
    yield case(
        "group-none",
        f"{file}: PreEnqueue, Permit: a pod without a group waits for nobody",
        [node],
        places(make_pod("p"), "n1"),
        profile=profile,
        gates=_GATES,
    )
