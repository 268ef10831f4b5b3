"""VolumeBinding takes volumes for a pod, writes that down, and waits until they are bound."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.apimachinery.errors import new_conflict
from schedlab.apimachinery.gvk import GroupResource
from schedlab.client.protocol import Outcome
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config.args import VolumeBindingArgs
from schedlab.scheduler.framework.interface import CycleState, Work
from schedlab.scheduler.framework.status import SKIP, Status, error
from schedlab.scheduler.plugins.volume_binding import ENTRY
from schedlab.testing.builders import PodBuilder, make_node, make_pod, term
from tests.unit.scheduler.plugins.storage_bench import (
    BIND_COMPLETED,
    Raw,
    StorageBench,
    claim,
    csi_node,
    storage_class,
    volume,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"
ONE, TWO = term(("zone", "In", ["one"])), term(("zone", "In", ["two"]))
TIMED_OUT = error("binding volumes: context deadline exceeded")


class Case:
    """One pod on node `a`, in zone one."""

    def __init__(self, *objects: Raw, claims: str = "c", timeout_s: int = 600) -> None:
        self.bench = StorageBench(
            ENTRY,
            make_node("a").label("zone", "one"),
            *objects,
            args=VolumeBindingArgs(bind_timeout_seconds=timeout_s),
        )
        self.plugin = self.bench.plugin
        self.pod = self.new_pod("pod", claims)
        self.state = CycleState()

    def new_pod(self, name: str, claims: str = "c") -> PodBuilder:
        pod = make_pod(name)
        for each in claims:
            pod = pod.claim(each)
        self.bench.put({"apiVersion": "v1", "kind": "Pod", **pod.dict()})
        return pod

    def reserve(self, pod: PodBuilder | None = None, state: CycleState | None = None) -> Status | None:
        """Filter and reserve."""
        pod, state = pod or self.pod, state or self.state
        _, status = self.bench.pre_filter(pod, state)
        assert status is None, status
        fault: Status | None = self.plugin.filter(state, pod.obj(), self.bench.table.infos[0])
        return fault or self.plugin.reserve(state, pod.obj(), "a")

    def pre_bind(self) -> Any:
        return self.plugin.pre_bind(self.state, self.pod.obj(), "a")

    def resume(self, work: Work, *outcomes: Outcome) -> Any:
        return self.plugin.resume(self.state, self.pod.obj(), "a", work, outcomes)

    def carry_out(self, work: Work) -> Any:
        """Store what is written and go on."""
        (write,) = work.writes
        assert write.verb == "update"
        assert isinstance(write.body, dict)
        self.bench.put(write.body)
        stored = self.bench.listers.lister(write.resource).stored(write.name, write.namespace)
        return self.resume(work, Outcome(stored))

    def written(self) -> Any:
        """Carry out every write, and return what comes of the last one."""
        self.reserve()
        work = self.pre_bind()
        while isinstance(work, Work) and work.writes:
            work = self.carry_out(work)
        return work

    def bind(self, name: str, to: str) -> None:
        """Do what the volume controller does to a claim."""
        self.change("PersistentVolumeClaim", name, {"volumeName": to}, BIND_COMPLETED)

    def change(self, kind: str, name: str, spec: Raw, annotations: Any = None) -> None:
        raw = self.bench.stored(kind, name, "default" if kind == "PersistentVolumeClaim" else "").thaw()
        raw["spec"] |= spec
        raw["metadata"]["annotations"] = {**raw["metadata"].get("annotations", {}), **(annotations or {})}
        self.bench.put(raw)

    def raw(self, kind: str, name: str) -> Raw:
        return self.bench.stored(kind, name, "default" if kind == "PersistentVolumeClaim" else "").raw

    def advance(self, seconds: float) -> None:
        clock = self.bench.handle.clock
        clock.advance_to(clock.now_ns() + int(seconds * SECOND_NS))


def static() -> Case:
    """A claim and a volume for it."""
    return Case(claim("c"), storage_class(), volume("v", on=ONE))


def dynamic(**more: Any) -> Case:
    """A claim that a volume has to be made for."""
    return Case(claim("c"), storage_class(), **more)


# --- In memory ---


def test_a_volume_that_is_taken_is_not_found_again() -> None:
    case = Case(claim("c"), claim("d"), storage_class(provisioner=""), volume("v"), volume("w"))

    assert case.reserve() is None
    assert case.reserve(case.new_pod("p", "d"), CycleState()) is None
    assert [each.spec.claim_ref.name for each in case.plugin._storage.volumes] == ["c", "d"]


def test_a_promised_claim_belongs_to_its_node() -> None:
    case = dynamic()

    assert case.reserve() is None
    assumed = case.plugin._storage.claims.get("c", "default")
    assert assumed.metadata.annotations == {SELECTED_NODE: "a"}


def test_unreserve_takes_everything_back() -> None:
    case = Case(claim("c"), claim("d"), storage_class(), volume("v"), claims="cd")
    case.reserve()

    case.plugin.unreserve(case.state, case.pod.obj(), "a")
    case.plugin.unreserve(case.state, case.pod.obj(), "a")

    assert next(iter(case.plugin._storage.volumes)).spec.claim_ref is None
    assert case.plugin._storage.claims.get("d", "default").metadata.annotations == {}


def test_bound_claims_need_nothing() -> None:
    case = Case(claim("c", volume="v"), volume("v"))

    assert case.reserve() is None
    assert case.plugin.pre_bind_pre_flight(case.state, case.pod.obj(), "a") == SKIP
    assert case.pre_bind() is None


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("PersistentVolume", "v", '"v" is out of sync (stored: 9, assume: 7)'),
        ("PersistentVolumeClaim", "e", '"default/e" is out of sync (stored: 9, assume: 4)'),
    ],
)
def test_what_changed_since_it_was_found_cannot_be_taken(kind: str, name: str, text: str) -> None:
    """And what was taken before is given back."""
    case = Case(claim("c"), claim("d"), claim("e", size="9Gi"), storage_class(), volume("w"), volume("v"), claims="cde")
    case.bench.pre_filter(case.pod, case.state)
    case.plugin.filter(case.state, case.pod.obj(), case.bench.table.infos[0])
    case.change(kind, name, {})

    assert case.plugin.reserve(case.state, case.pod.obj(), "a") == error(text)
    assert [each.spec.claim_ref for each in case.plugin._storage.volumes] == [None, None]


# --- By writes ---


def test_volumes_get_a_reference_to_their_claim_and_claims_the_chosen_node() -> None:
    """One after the other, volumes first; every other field stays."""
    case = Case(claim("c"), claim("d"), storage_class(), volume("v", spec={"mountOptions": ["ro"]}), claims="cd")

    work = case.written()

    assert isinstance(work, Work)
    assert not work.writes
    bound = case.raw("PersistentVolume", "v")
    assert bound["spec"]["claimRef"] == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "c",
        "uid": "uid-c",
        "resourceVersion": "2",
    }
    assert bound["spec"]["mountOptions"] == ["ro"]
    assert bound["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert case.raw("PersistentVolumeClaim", "d")["metadata"]["annotations"] == {SELECTED_NODE: "a"}
    assert case.raw("PersistentVolumeClaim", "c")["metadata"]["annotations"] == {}


def test_a_write_carries_the_version_that_was_decided_on() -> None:
    """So that the API server refuses it if somebody was faster; also when the object is gone."""
    case = static()
    case.reserve()
    (seen,) = (volume.metadata.resource_version for volume in case.plugin._storage.volumes)
    case.change("PersistentVolume", "v", {"persistentVolumeReclaimPolicy": "Retain"})

    (write,) = case.pre_bind().writes
    assert write.body["metadata"]["resourceVersion"] == seen
    assert write.body["spec"]["claimRef"]["name"] == "c"
    case.bench.drop("PersistentVolume", "v")
    (write,) = case.pre_bind().writes
    assert (write.body["kind"], write.body["metadata"]["name"]) == ("PersistentVolume", "v")


def test_after_a_refused_write_nothing_else_is_written_and_the_rest_is_given_back() -> None:
    case = Case(claim("c"), claim("d"), storage_class(), volume("v"), claims="cd")
    case.reserve()
    work = case.pre_bind()
    refusal = new_conflict(GroupResource("", "persistentvolumes"), "v", "somebody was faster")

    assert case.resume(work, Outcome(error=refusal)) == error(refusal.message)
    assert next(iter(case.plugin._storage.volumes)).spec.claim_ref is None
    assert case.plugin._storage.claims.get("d", "default").metadata.annotations == {}


def test_what_is_written_already_is_not_given_back() -> None:
    case = Case(claim("c"), claim("d"), storage_class(), volume("v"), claims="cd")
    case.reserve()
    work = case.carry_out(case.pre_bind())
    refusal = new_conflict(GroupResource("", "persistentvolumeclaims"), "d", "somebody was faster")

    assert case.resume(work, Outcome(error=refusal)) == error(refusal.message)
    assert next(iter(case.plugin._storage.volumes)).spec.claim_ref is not None
    assert case.plugin._storage.claims.get("d", "default").metadata.annotations == {}


# --- Until the controller is done ---


def test_the_pod_waits_until_its_claim_is_bound() -> None:
    case = static()
    work = case.written()

    assert case.resume(work) is work
    case.bind("c", "v")
    assert case.resume(work) is None


def test_the_pod_waits_until_a_volume_is_made() -> None:
    """A claim that is bound to a volume nobody has seen yet is not bound yet."""
    case = dynamic()
    work = case.written()
    assert isinstance(work, Work)

    case.bind("c", "pvc")
    assert case.resume(work) is work
    case.bench.put(volume("pvc", on=ONE))
    assert case.resume(work) is None


def test_claims_that_are_bound_at_once_need_no_waiting() -> None:
    case = static()
    case.reserve()
    work = case.pre_bind()
    (write,) = work.writes
    case.bench.put(dict(write.body))
    case.bind("c", "v")

    assert case.resume(work, Outcome(case.bench.stored("PersistentVolume", "v"))) is None


def test_an_answer_that_the_watch_has_not_brought_yet_is_waited_for() -> None:
    for case, kind, name in ((static(), "PersistentVolume", "v"), (dynamic(), "PersistentVolumeClaim", "c")):
        case.reserve()
        case.bind("c", "v")
        work = case.pre_bind()
        newer = case.bench.stored(kind, name, "" if name == "v" else "default").with_revision(99)

        waiting = case.resume(work, Outcome(newer))

        assert isinstance(waiting, Work)
        assert not waiting.writes


def test_it_looks_again_every_second_until_the_time_is_over() -> None:
    case = dynamic(timeout_s=2)
    start = case.bench.handle.clock.now_ns()
    first = case.written()
    assert first.deadline_ns == start + SECOND_NS

    case.advance(0.5)
    assert case.resume(first) is first
    case.advance(0.5)
    second = case.resume(first)
    assert second.deadline_ns == start + 2 * SECOND_NS
    case.advance(1)
    assert case.resume(second) == TIMED_OUT


def test_without_any_time_binding_fails() -> None:
    assert dynamic(timeout_s=0).written() == TIMED_OUT


def test_a_pod_a_node_a_volume_or_a_claim_that_is_gone_ends_the_binding() -> None:
    gone = [
        ("Pod", "pod", "default", 'pod does not exist any more: pod "pod" not found'),
        ("Node", "a", "", 'failed to get node "a": node "a" not found'),
        ("PersistentVolume", "v", "", 'failed to check binding: persistentvolumes "v" not found'),
        (
            "PersistentVolumeClaim",
            "c",
            "default",
            'failed to check binding: persistentvolumeclaims "default/c" not found',
        ),
    ]
    for kind, name, namespace, text in gone:
        case = static()
        work = case.written()
        case.bench.drop(kind, name, namespace)
        assert case.resume(work) == error(f"binding volumes: {text}")

    case = dynamic()
    work = case.written()
    case.bench.drop("PersistentVolumeClaim", "c", "default")
    text = 'failed to check provisioning pvc: persistentvolumeclaims "default/c" not found'
    assert case.resume(work) == error(f"binding volumes: {text}")


def test_a_binding_that_is_undone_ends_it() -> None:
    for reference in (None, {"name": "c", "namespace": "default"}):
        case = static()
        work = case.written()
        case.change("PersistentVolume", "v", {"claimRef": reference})
        assert case.resume(work) == error('binding volumes: ClaimRef got reset for pv "v"')


def test_a_provisioner_that_gives_up_ends_it() -> None:
    case = dynamic()
    work = case.written()

    raw = case.bench.stored("PersistentVolumeClaim", "c", "default").thaw()
    raw["metadata"]["annotations"] = {"other": "yes"}
    case.bench.put(raw)
    assert case.resume(work) == error('binding volumes: provisioning failed for PVC "c"')
    raw["metadata"]["annotations"] = {}
    case.bench.put(raw)
    assert case.resume(work) == error('binding volumes: selectedNode annotation reset for PVC "c"')


def test_a_volume_out_of_reach_ends_it() -> None:
    text = 'node affinity doesn\'t match node "a": no matching NodeSelectorTerms'
    case = static()
    work = case.written()
    case.change("PersistentVolume", "v", {"nodeAffinity": {"required": {"nodeSelectorTerms": [TWO]}}})
    assert case.resume(work) == error(f'binding volumes: pv "v" {text}')

    case = dynamic()
    work = case.written()
    case.bench.put(volume("pvc", on=TWO))
    case.bind("c", "pvc")
    assert case.resume(work) == error(f'binding volumes: pv "pvc" {text}')


def test_a_migrated_volume_is_looked_at_as_its_driver_does() -> None:
    bad = {"awsElasticBlockStore": {"volumeID": "aws://zone/bad"}}
    migrated = csi_node("a", "kubernetes.io/aws-ebs")
    text = (
        "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://zone/bad)"
    )
    case = Case(claim("c"), storage_class(), migrated, volume("v", spec=bad))
    assert case.written() == error(f"binding volumes: failed to translate pv to csi: {text}")

    case = dynamic()
    work = case.written()
    case.bench.put(migrated, volume("pvc", spec=bad))
    case.bind("c", "pvc")
    assert case.resume(work) == error(f"binding volumes: {text}")
