"""Where pods with volumes fit: disks, limits, capacity, claims of one pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schedlab.testing.builders import PodBuilder, make_node, make_pod
from tests.parity.written import objects
from tests.parity.written.building import (
    HELPLESS,
    NO_VICTIMS,
    QUEUE,
    Json,
    case,
    delete,
    only,
    places,
    preempts,
    unavailable,
    unnoticed,
    waits,
)

_ZONE: Final = "topology.kubernetes.io/zone"
_GCE_DRIVER: Final = "pd.csi.storage.gke.io"


def cases() -> Iterator[Json]:
    """The cases."""
    yield from _disks()
    yield from _one_pod()
    yield from _limits()
    yield from _capacity()
    yield from _zones()


def _disk(name: str, disk: str, *, read_only: bool = False) -> PodBuilder:
    volume = {"name": "d", "gcePersistentDisk": {"pdName": disk, "readOnly": read_only}}
    return make_pod(name).set("spec.volumes", [volume])


def _on(pod: PodBuilder, node: str) -> PodBuilder:
    return pod.node_selector({"kubernetes.io/hostname": node})


def _only(node: str) -> Json:
    named = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [named]}]}}


# --- VolumeRestrictions ---


def _disks() -> Iterator[Json]:
    function = "volumerestrictions/volume_restrictions.go: satisfyVolumeConflicts"
    taken = unavailable("1 node(s) had no available disk", f"1 {NO_VICTIMS}")
    first, node = (make_node(name).capacity(cpu="4").dict() for name in ("n1", "n2"))
    yield case(
        "disk-stays-taken",
        f"{function}: whatever other nodes do",
        [first, node, _disk("x", "a").node("n2").dict()],
        [
            *places(_on(_disk("q", "b"), "n2"), "n2"),
            unnoticed(delete(first)),
            *waits(_disk("p", "a"), taken, "VolumeRestrictions"),
        ],
        nodes=("n1", "n2"),
    )
    yield case(
        "disk-stays-taken-first",
        f"{function}: whatever other nodes do",
        [first, node, _disk("x", "a").node("n1").dict()],
        [
            *places(_on(_disk("q", "b"), "n1"), "n1"),
            unnoticed(delete(node)),
            *waits(_disk("p", "a"), taken, "VolumeRestrictions"),
        ],
        nodes=("n1", "n2"),
    )
    yield case(
        "disk-freed",
        f"{function}: a disk is free again when the last pod that has it is gone",
        [node],
        [
            *places(_disk("q", "a"), "n2"),
            unnoticed(delete(make_pod("q").dict())),
            *places(_disk("p", "a"), "n2"),
        ],
        nodes=("n2",),
    )
    yield case(
        "disk-shared",
        f"{function}, isVolumeConflict: a disk is shared if all only read it",
        [node, _disk("x", "a", read_only=True).node("n2").dict()],
        [
            *places(_disk("q", "a", read_only=True), "n2"),
            *waits(_disk("p", "a"), taken, "VolumeRestrictions"),
        ],
        nodes=("n2",),
    )


def _one_pod() -> Iterator[Json]:
    text = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    holder, pod = make_pod("x").claim("c").node("n1"), make_pod("p").set("spec.priorityClassName", "high").claim("c")
    storage = [
        objects.storage_class(),
        objects.volume("v", spec={"accessModes": ["ReadWriteOncePod"]}),
        objects.claim("c", volume="v", mode="ReadWriteOncePod"),
    ]
    yield case(
        "one-pod-preempted",
        "volumerestrictions/volume_restrictions.go: RemovePod, updateWithPod: the claim is free without its pod",
        [
            make_node("n1").capacity(cpu="4").dict(),
            *storage,
            objects.priority_class("high", 10),
            # The most important comes back first: the one that has run the longest.
            holder.start_time("2026-01-01T01:00:00Z").dict(),
            make_pod("y").node("n1").start_time("2026-01-01T02:00:00Z").dict(),
        ],
        preempts(
            pod,
            f"0/1 nodes are available: 1 {text}.",
            "VolumeRestrictions",
            node="n1",
            victim="default/x",
            deleted={"VolumeRestrictions": QUEUE},
        ),
    )


# --- NodeVolumeLimits ---


def _limits() -> Iterator[Json]:
    file = "nodevolumelimits/csi.go"
    n1, n2 = (make_node(name).capacity(cpu="4").dict() for name in ("n1", "n2"))
    one = [objects.storage_class(), objects.volume("v"), objects.claim("c", volume="v")]
    pod = make_pod("p").claim("c")
    yield case(
        "limits-claim-gone",
        f"{file}: filterAttachableVolumes: what a pod on the node cannot have any more does not count",
        [n1, objects.csi_node("n1", {objects.DRIVER: 1}), *one, make_pod("x").claim("gone").node("n1").dict()],
        places(pod, "n1"),
    )
    alone = only("NodeVolumeLimits")
    text = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    yield case(
        "limits-no-claim",
        f"{file}: filterAttachableVolumes: the pod's own claim must be there",
        [n1, objects.csi_node("n1", {objects.DRIVER: 1})],
        waits(pod, f"0/1 nodes are available: 1 {text}.", "NodeVolumeLimits"),
        profile=alone,
    )
    yield case(
        "limits-migrated",
        f"{file}: checkAttachableInlineVolume, isCSIMigrationOn: a disk counts as a volume of its new driver where there "
        "is a CSINode",
        [n1, n2, objects.csi_node("n2", {_GCE_DRIVER: 1}), _disk("x", "a").node("n2").dict()],
        places(_disk("p", "b"), "n1"),
        nodes=("n1", "n2"),
    )
    in_tree = objects.storage_class("old", provisioner="kubernetes.io/gce-pd")
    yield case(
        "limits-migrated-class",
        f"{file}: getCSIDriverInfoFromSC, isCSIMigrationOn: so does one that its class is yet to make",
        [
            n1,
            n2,
            objects.csi_node("n2", {_GCE_DRIVER: 1}),
            _disk("x", "a").node("n2").dict(),
            in_tree,
            objects.claim("c", "old"),
        ],
        places(pod, "n1"),
        nodes=("n1", "n2"),
    )
    yield from _attached(file, n1, one, pod)


def _attached(file: str, n1: Json, one: list[Json], pod: PodBuilder) -> Iterator[Json]:
    yield case(
        "limits-attached",
        f"{file}: Filter: volumes that are attached count, and a volume counts once",
        [
            n1,
            objects.csi_node("n1", {objects.DRIVER: 2}),
            objects.storage_class(),
            *(objects.volume(name) for name in ("v", "v1", "v2")),
            *(objects.claim(f"c{name}", volume=name) for name in ("v", "v1")),
            objects.attachment("a1", "n1", "v1"),
            objects.attachment("a2", "n1", "v2"),
            objects.attachment("far", "n9", "v"),
            make_pod("x").claim("cv1").node("n1").dict(),
        ],
        waits(
            make_pod("p").claim("cv"),
            unavailable("1 node(s) exceed max volume count", f"1 {NO_VICTIMS}"),
            "NodeVolumeLimits",
        ),
    )
    yield case(
        "limits-reached",
        f"{file}: Filter: as many as the limit",
        [
            n1,
            objects.csi_node("n1", {objects.DRIVER: 2}),
            *one,
            objects.volume("v1"),
            objects.claim("c1", volume="v1"),
            objects.attachment("a1", "n1", "v1"),
            make_pod("x").claim("c1").node("n1").dict(),
        ],
        places(pod, "n1"),
    )


# --- VolumeBinding ---


def _capacity() -> Iterator[Json]:
    file = "volumebinding/binder.go: hasEnoughCapacity, capacitySufficient"
    there = [
        make_node("n1").zone("za").capacity(cpu="4").dict(),
        objects.storage_class(),
        objects.csi_driver(storageCapacity=True),
        objects.claim("c", size="1Gi"),
    ]
    pod = make_pod("p").claim("c")
    full = unavailable("1 node(s) did not have enough free storage", f"1 {HELPLESS}")
    yield case(
        "capacity-exact",
        f"{file}: exactly enough",
        [*there, objects.storage_capacity("x", "1Gi")],
        places(pod, "n1"),
    )
    yield case(
        "capacity-short",
        f"{file}: a byte too little",
        [*there, objects.storage_capacity("x", "1073741823")],
        waits(pod, full, "VolumeBinding"),
    )
    yield case(
        "capacity-elsewhere",
        f"{file}: of another class, in another zone, without topology, unknown",
        [
            *there,
            objects.storage_capacity("class", "9Gi", "other"),
            objects.storage_capacity("zone", "9Gi", nodeTopology={"matchLabels": {_ZONE: "zb"}}),
            objects.storage_capacity("nowhere", "9Gi", nodeTopology=None),
            objects.storage_capacity("unknown", None),
        ],
        waits(pod, full, "VolumeBinding"),
    )
    yield case(
        "capacity-untracked",
        f"{file}: the driver keeps no account",
        [*there[:2], objects.csi_driver(storageCapacity=False), there[3]],
        places(pod, "n1"),
    )

    yield from _chosen()


def _chosen() -> Iterator[Json]:
    nodes = [make_node(name).capacity(cpu="4").dict() for name in ("n1", "n2")]
    local = objects.storage_class("local", provisioner="kubernetes.io/no-provisioner")
    volumes = [
        objects.volume(
            name, spec={"capacity": {"storage": size}, "storageClassName": "local", "nodeAffinity": _only(node)}
        )
        for name, size, node in (("small", "1", "n1"), ("big", "1Gi", "n2"))
    ]
    pod = make_pod("p").claim("c")
    # Both are rated by how little of them is taken, which is nothing.
    yield case(
        "volume-of-a-byte",
        "volumebinding/scorer.go: buildScorerFunction: a volume is full if it has no capacity",
        [
            *nodes,
            local,
            *(each | {"status": {"phase": "Available"}} for each in volumes),
            objects.claim("c", "local", size="0"),
        ],
        places(pod, "n1", beside=("n2",)),
        nodes=("n1", "n2"),
        gates={"StorageCapacityScoring": True},
    )
    yield case(
        "selected-node",
        "volumebinding/binder.go: FindPodVolumes: a claim that is made for a node keeps the pod there",
        [
            *nodes,
            objects.storage_class(),
            objects.claim("c", annotations={"volume.kubernetes.io/selected-node": "n2"}),
        ],
        places(pod, "n2"),
        nodes=("n1", "n2"),
    )


# --- VolumeZone ---


def _zones() -> Iterator[Json]:
    file = "volumezone/volume_zone.go: Filter"
    beta = "failure-domain.beta.kubernetes.io/zone"

    def there(zone: str) -> list[Json]:
        return [objects.storage_class(), objects.volume("v", labels={beta: zone}), objects.claim("c", volume="v")]

    pod, elsewhere = make_pod("p").claim("c"), unavailable("1 node(s) had no available volume zone", f"1 {HELPLESS}")
    yield case(
        "zone-stable-label",
        f"{file}, translateToGALabel: a node without the old label has the new one looked at",
        [make_node("n1").zone("za").capacity(cpu="4").dict(), *there("za")],
        places(pod, "n1"),
    )
    yield case(
        "zone-old-label",
        f"{file}: a node with the old label has only that looked at",
        [make_node("n1").zone("za").label(beta, "zb").capacity(cpu="4").dict(), *there("za")],
        waits(pod, elsewhere, "VolumeZone"),
    )
    yield case(
        "zone-of-many",
        f"{file}, LabelZonesToSet: one of several",
        [make_node("n1").zone("zb").capacity(cpu="4").dict(), *there("za__zb")],
        places(pod, "n1"),
    )
    yield case(
        "zone-unreadable",
        f"{file}, getPVTopologies: a label with an empty part is passed over",
        [make_node("n1").zone("zb").capacity(cpu="4").dict(), *there("za__")],
        places(pod, "n1"),
    )
    yield case(
        "zone-none",
        f"{file}: a node without any label of zones and regions takes all",
        [make_node("n1").capacity(cpu="4").dict(), *there("za")],
        places(pod, "n1"),
    )
    yield case(
        "zone-region-only",
        f"{file}: a node with a region, but without the zone, takes none",
        [make_node("n1").label("topology.kubernetes.io/region", "r").capacity(cpu="4").dict(), *there("za")],
        waits(pod, elsewhere, "VolumeZone"),
    )
