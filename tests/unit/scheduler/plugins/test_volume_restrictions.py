"""VolumeRestrictions."""

from typing import Any

import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, error
from schedlab.scheduler.plugins.volume_restrictions import ENTRY, REASON_DISK_CONFLICT, REASON_ONE_POD
from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.storage_bench import StorageBench, claim, view

NODES = (make_node("a"), make_node("b"))
ONE_POD = {"accessModes": ["ReadWriteOncePod"]}


def gce(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(name: str, *, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"iqn": name, "targetPortal": "portal", "readOnly": read_only}}


def rbd(*monitors: str, image: str = "image", pool: str = "rbd", read_only: bool = False) -> dict[str, Any]:
    return {"rbd": {"monitors": list(monitors), "image": image, "pool": pool, "readOnly": read_only}}


def mounting(*sources: dict[str, Any], name: str = "pod") -> PodBuilder:
    volumes = [{"name": f"v{index}", **source} for index, source in enumerate(sources)]
    return make_pod(name).set("spec.volumes", volumes)


@pytest.mark.parametrize(
    ("there", "wanted", "fits"),
    [
        (gce("d"), gce("d"), False),
        (gce("d", read_only=True), gce("d"), False),
        (gce("d"), gce("d", read_only=True), False),
        (gce("d", read_only=True), gce("d", read_only=True), True),
        (gce("other"), gce("d"), True),
        (ebs("d", read_only=True), ebs("d", read_only=True), False),
        (ebs("other"), ebs("d"), True),
        (iscsi("d"), iscsi("d", read_only=True), False),
        (iscsi("d", read_only=True), iscsi("d", read_only=True), True),
        (iscsi("other"), iscsi("d"), True),
        (rbd("m1", "m2"), rbd("m2", "m3"), False),
        (rbd("m1", "m2", read_only=True), rbd("m2", read_only=True), True),
        (rbd("m1"), rbd("m2"), True),
        (rbd("m1", image="other"), rbd("m1"), True),
        (rbd("m1", pool="other"), rbd("m1"), True),
        (gce("d"), ebs("d"), True),
    ],
)
def test_a_disk_that_cannot_be_shared_keeps_the_pod_off_its_node(
    there: dict[str, Any], wanted: dict[str, Any], *, fits: bool
) -> None:
    bench = StorageBench(ENTRY, *NODES, pods=(mounting(there, name="p").node("a"),))

    assert {"a": "" if fits else REASON_DISK_CONFLICT, "b": ""} == bench.filter(mounting(wanted))


def test_disks_are_followed_as_pods_and_nodes_come_and_go() -> None:
    bench = StorageBench(ENTRY, *NODES, pods=(mounting(gce("d", read_only=True), name="p").node("b"),))
    table, pod = bench.table, mounting(gce("d", read_only=True))
    writer = mounting(gce("d"), name="w").node("b").obj()

    assert bench.filter(pod) == {"a": "", "b": ""}
    table.add_pod(table.infos[1], writer)
    assert bench.filter(pod) == {"a": "", "b": REASON_DISK_CONFLICT}
    table.reorder([table.infos[1], make_node("c").obj(), table.infos[0]])
    assert bench.filter(pod) == {"b": REASON_DISK_CONFLICT, "c": "", "a": ""}
    table.set_node(table.infos[0])
    assert bench.filter(pod) == {"b": REASON_DISK_CONFLICT, "c": "", "a": ""}
    table.remove_pod(table.infos[0], writer)
    assert bench.filter(pod) == {"b": "", "c": "", "a": ""}
    table.reorder([table.infos[1]])
    assert bench.filter(pod) == {"c": ""}


def test_a_claim_for_one_pod_that_is_in_use_rejects_every_node() -> None:
    bench = StorageBench(ENTRY, *NODES, claim("c", spec=ONE_POD), pods=(make_pod("p").claim("c").node("a"),))

    assert bench.filter(make_pod().claim("c")) == {"a": REASON_ONE_POD, "b": REASON_ONE_POD}


@pytest.mark.parametrize(
    "other",
    [
        make_pod("p").node("a"),
        make_pod("p", "elsewhere").claim("c").node("a"),
        # The claim of an ephemeral volume does not count as in use, even under the same name.
        make_pod("c").set("spec.volumes", [{"name": "x", "ephemeral": {}}]).node("a"),
    ],
)
def test_a_claim_for_one_pod_that_nobody_else_names_is_skipped(other: PodBuilder) -> None:
    bench = StorageBench(ENTRY, *NODES, claim("c", spec=ONE_POD), claim("c-x", spec=ONE_POD), pods=(other,))

    assert bench.pre_filter(make_pod().claim("c").claim("c-x")) == (None, SKIP)


def test_pods_that_share_nothing_exclusive_are_skipped() -> None:
    bench = StorageBench(ENTRY, *NODES, claim("c"), pods=(make_pod("p").claim("c").node("a"),))

    assert bench.pre_filter(make_pod().claim("c")) == (None, SKIP)
    assert bench.pre_filter(make_pod()) == (None, SKIP)


def test_a_missing_claim_cannot_be_resolved_by_preemption() -> None:
    assert StorageBench(ENTRY, *NODES).refused(make_pod().claim("c")) == 'persistentvolumeclaim "c" not found!'


def test_removing_the_user_of_a_claim_frees_every_node_and_adding_it_takes_them() -> None:
    """Claims are compared by name alone there, whatever their namespace."""
    bench = StorageBench(ENTRY, *NODES, claim("c", spec=ONE_POD), pods=(make_pod("p").claim("c").node("a"),))
    state, pod, node = CycleState(), make_pod().claim("c"), bench.table.infos[0]
    user, elsewhere = make_pod("p").claim("c").obj(), make_pod("q", "elsewhere").claim("c").obj()
    assert bench.pre_filter(pod, state) == (None, None)

    copied = state.copy()
    assert bench.plugin.remove_pod(copied, pod.obj(), user, node) is None
    assert bench.plugin.filter(copied, pod.obj(), node) is None
    assert bench.plugin.add_pod(copied, pod.obj(), elsewhere, node) is None
    assert bench.plugin.filter(copied, pod.obj(), node).message == REASON_ONE_POD
    assert bench.plugin.filter(state, pod.obj(), node).message == REASON_ONE_POD


def test_without_pre_filter_everything_else_is_an_error() -> None:
    bench, state = StorageBench(ENTRY, NODES[0]), CycleState()
    expected = error('cannot read "PreFilterVolumeRestrictions" from cycleState')

    assert {"a": expected} == bench.statuses(make_pod(), state)
    assert expected == bench.plugin.add_pod(state, None, make_pod().obj(), None)
    assert expected == bench.plugin.remove_pod(state, None, make_pod().obj(), None)


@pytest.mark.parametrize(
    ("deleted", "hint"),
    [
        (mounting(gce("d")), "queue"),
        (mounting(gce("other")), "skip"),
        (make_pod("p").claim("c"), "queue"),
        (make_pod("p").claim("other"), "skip"),
        (make_pod("p", "elsewhere").claim("c"), "skip"),
        (make_pod("p"), "skip"),
    ],
)
def test_deleting_a_pod_helps_when_it_shared_a_disk_or_a_claim(deleted: PodBuilder, hint: str) -> None:
    pod = mounting(gce("d"), {"persistentVolumeClaim": {"claimName": "c"}})

    found = StorageBench(ENTRY).hint(EventResource.POD, ActionType.DELETE, pod, deleted.view(), None)

    assert hint == found


@pytest.mark.parametrize(
    ("added", "hint"),
    [(claim("c"), "queue"), (claim("other"), "skip"), (claim("c", namespace="elsewhere"), "skip")],
)
def test_adding_a_claim_helps_pods_that_name_it(added: dict[str, Any], hint: str) -> None:
    event = EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD

    assert hint == StorageBench(ENTRY).hint(*event, make_pod().claim("c"), None, view(added))


def test_nodes_help_when_they_are_new() -> None:
    bench = StorageBench(ENTRY)

    assert bench.hint(EventResource.NODE, ActionType.ADD, make_pod(), None, None) == "queue"
    assert bench.hint(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, make_pod(), None, None) == "not registered"


def test_the_signature_is_made_of_volume_sources_without_config_maps_and_secrets() -> None:
    bench = StorageBench(ENTRY)
    one = mounting({"configMap": {"name": "m"}}, gce("d"), gce("e"))
    other = mounting(gce("e"), {"secret": {"secretName": "s"}}, gce("d"), name="other")

    assert bench.signature(make_pod()) != bench.signature(one)
    # Views of pods that were never stored know nothing of config maps.
    assert bench.signature(mounting(gce("d"), gce("e"))) == bench.signature(mounting(gce("e"), gce("d")))
    assert other.view().spec.volumes != one.view().spec.volumes
