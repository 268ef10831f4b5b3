"""The volume plugins say the same of all nodes at once as of each node alone, and what they take fits together."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.api.rules.volumes import is_bound_to, requested_storage, storage_capacity
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import code_of
from schedlab.scheduler.plugins import node_volume_limits, volume_binding, volume_restrictions, volume_zone
from schedlab.scheduler.plugins.volume_binding.finding import PodVolumes, find_pod_volumes
from schedlab.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.storage_bench import (
    Raw,
    StorageBench,
    attachment,
    claim,
    csi_capacity,
    csi_driver,
    csi_node,
    storage_class,
    volume,
)

ENTRIES = (volume_restrictions.ENTRY, node_volume_limits.ENTRY, volume_binding.ENTRY, volume_zone.ENTRY)
NODES = ("n0", "n1", "n2", "n3")
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
GCE, EBS = "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"
CLASSES = ("wait", "static", "gce", "now", "gone")

zones = st.sampled_from(("z-z-1", "z-z-2"))
sizes = st.sampled_from(("1Gi", "2Gi", "3Gi"))
classes = st.sampled_from((*("wait", "static") * 4, "gce", "now", "gone"))
labels = st.dictionaries(st.sampled_from((ZONE, BETA_ZONE, "disk")), zones, max_size=2)


def some(values: tuple[Any, ...], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), max_size=most)


expressions = st.fixed_dictionaries(
    {
        "key": st.sampled_from((ZONE, BETA_ZONE, "disk", "kubernetes.io/hostname")),
        "operator": st.sampled_from(("In", "NotIn", "Exists")),
        "values": st.just([]),
    }
)


@st.composite
def terms(draw: st.DrawFn) -> Raw:
    """A node selector term; some ask for the name of the node."""
    chosen = draw(st.lists(expressions, max_size=2))
    for each in chosen:
        if each["operator"] != "Exists":
            each["values"] = draw(st.lists(zones | st.sampled_from(NODES), min_size=1, max_size=2))
    fields = [{"key": "metadata.name", "operator": draw(st.sampled_from(("In", "NotIn"))), "values": ["n0"]}]
    return {"matchExpressions": chosen, "matchFields": fields if draw(st.integers(0, 5)) == 0 else []}


@st.composite
def volumes(draw: st.DrawFn, name: str) -> Raw:
    source: Raw = draw(
        st.sampled_from(
            (
                {"csi": {"driver": "csi.example.com", "volumeHandle": "shared"}},
                {"csi": {"driver": "csi.example.com", "volumeHandle": name}},
                {"gcePersistentDisk": {"pdName": name}},
                {"awsElasticBlockStore": {"volumeID": "aws://zone/bad"}},
                {"nfs": {"server": "s", "path": "/"}},
            )
        )
    )
    reference = draw(st.none() | st.sampled_from(("c0", "c1")))
    if reference is not None:
        uid = draw(st.sampled_from(("", f"uid-{reference}", "earlier")))
        source = {**source, "claimRef": {"name": reference, "namespace": "default", "uid": uid}}
    metadata = {"labels": draw(st.dictionaries(st.sampled_from((ZONE, BETA_ZONE)), zones | st.just("z-z-1__z-z-2")))}
    phase = draw(st.sampled_from(("Available", "Available", "Bound")))
    on = draw(st.none() | st.lists(terms(), max_size=2))
    return volume(name, draw(classes), size=draw(sizes), on=on, spec=source, metadata=metadata, status={"phase": phase})


@st.composite
def claims(draw: st.DrawFn, name: str) -> Raw:
    selected = draw(st.sampled_from((*(None,) * 5, "n0", "gone")))
    annotations = {} if selected is None else {"volume.kubernetes.io/selected-node": selected}
    modes = draw(st.sampled_from((["ReadWriteOnce"], ["ReadWriteOncePod"])))
    if draw(st.booleans()):
        return claim(
            name, draw(classes), volume=draw(st.sampled_from(("v0", "v1", "gone"))), spec={"accessModes": modes}
        )
    return claim(
        name,
        draw(classes),
        size=draw(sizes),
        metadata={"annotations": annotations},
        spec={"accessModes": ["ReadWriteOnce"]},
    )


@st.composite
def pods(draw: st.DrawFn, name: str) -> PodBuilder:
    sources = draw(
        some(
            (
                *({"persistentVolumeClaim": {"claimName": name}} for name in ("c0", "c1", "c2") * 2),
                {"ephemeral": {}},
                {"gcePersistentDisk": {"pdName": "v0"}},
                {"gcePersistentDisk": {"pdName": "v0", "readOnly": True}},
                {"awsElasticBlockStore": {"volumeID": "vol-1"}},
                {"rbd": {"monitors": ["m1", "m2"], "image": "i"}},
                {"rbd": {"monitors": ["m2"], "image": "i", "readOnly": True}},
                {"emptyDir": {}},
            ),
            4,
        )
    )
    return make_pod(name).set("spec.volumes", [{"name": f"x{at}", **source} for at, source in enumerate(sources)])


@st.composite
def nodes(draw: st.DrawFn, name: str) -> NodeBuilder:
    return make_node(name).labels({"kubernetes.io/hostname": name, **draw(labels)})


@st.composite
def storage(draw: st.DrawFn) -> list[NodeBuilder | Raw]:
    """Nodes, and everything that volumes need."""
    names = NODES[: draw(st.integers(1, len(NODES)))]
    objects: list[NodeBuilder | Raw] = [draw(nodes(name)) for name in names]
    for name in names:
        if draw(st.booleans()):
            migrated = draw(some((GCE, EBS), 2))
            limit = draw(st.none() | st.integers(0, 2))
            objects.append(csi_node(name, *migrated, csi_example_com=limit, pd_csi_storage_gke_io=limit))
    topologies = [
        {"matchLabelExpressions": [{"key": ZONE, "values": values}]}
        for values in draw(st.lists(st.lists(zones, min_size=1, max_size=2), max_size=2))
    ]
    objects += [
        storage_class("wait", allowedTopologies=topologies),
        storage_class("static", provisioner="kubernetes.io/no-provisioner"),
        storage_class("gce", provisioner=GCE),
        storage_class("now", "Immediate"),
        csi_driver(storageCapacity=draw(st.booleans()), preventPodSchedulingIfMissing=draw(st.booleans())),
    ]
    objects += [draw(volumes(f"v{at}")) for at in range(draw(st.integers(0, 4)))]
    objects += [draw(claims(f"c{at}")) for at in range(3)]
    for at in range(draw(st.integers(0, 2))):
        topology = draw(st.none() | st.dictionaries(st.just(ZONE), zones))
        objects.append(csi_capacity(f"k{at}", topology, capacity=draw(sizes)))
    objects += [attachment(f"a{at}", draw(st.sampled_from(NODES)), f"v{at}") for at in range(draw(st.integers(0, 2)))]
    return objects


@st.composite
def crowded(draw: st.DrawFn) -> list[NodeBuilder | Raw]:
    """Two nodes, claims that all wait, and a few volumes that they may have to share."""
    objects: list[NodeBuilder | Raw] = [make_node(name).label("disk", name) for name in NODES[:2]]
    objects.append(storage_class("wait", provisioner=draw(st.sampled_from(("", "csi.example.com")))))
    objects.append(
        storage_class("other", allowedTopologies=topology_of(draw(st.lists(st.sampled_from(NODES[:2]), max_size=2))))
    )
    objects += [csi_driver(storageCapacity=True), csi_capacity("k", {"disk": "n0"}, capacity=draw(sizes))]
    some_class = st.sampled_from(("wait", "wait", "wait", "other"))
    for at in range(3):
        selected = draw(st.sampled_from((None, None, None, "n0")))
        annotations = {} if selected is None else {"volume.kubernetes.io/selected-node": selected}
        objects.append(claim(f"c{at}", draw(some_class), size=draw(sizes), metadata={"annotations": annotations}))
    for at in range(draw(st.integers(1, 4))):
        meant = draw(st.sampled_from((None, None, "c0", "c1")))
        spec = {} if meant is None else {"claimRef": {"name": meant, "namespace": "default"}}
        there = draw(st.none() | st.sampled_from(NODES[:2]))
        on = None if there is None else {"matchExpressions": [{"key": "disk", "operator": "In", "values": [there]}]}
        objects.append(volume(f"v{at}", draw(some_class), size=draw(sizes), on=on, spec=spec))
    return objects


def topology_of(names: list[str]) -> list[Raw]:
    return [{"matchLabelExpressions": [{"key": "disk", "values": [name]}]} for name in names]


@given(objects=crowded(), names=st.lists(st.sampled_from(("c0", "c1", "c2")), min_size=2, max_size=4))
def test_claims_that_share_volumes_find_the_same_at_once_as_alone(
    objects: list[NodeBuilder | Raw], names: list[str]
) -> None:
    pod = make_pod()
    for name in names:
        pod = pod.claim(name)

    compare(bench_of(volume_binding.ENTRY, objects, [], gates=False), pod)


def bench_of(entry: Any, objects: list[NodeBuilder | Raw], placed: list[PodBuilder], *, gates: bool) -> StorageBench:
    names = [each.get("metadata.name") for each in objects if isinstance(each, NodeBuilder)]
    at = [pod.node(names[index % len(names)]) for index, pod in enumerate(placed)]
    features = {"StorageCapacityScoring": gates, "VolumeLimitScaling": gates}
    return StorageBench(entry, *objects, pods=tuple(at), gates=features)


@given(
    objects=storage(),
    placed=st.tuples(pods("p0"), pods("p1"), pods("p2")),
    pod=pods("pod"),
    later=pods("later"),
    gates=st.booleans(),
)
def test_filter_nodes_equals_filter(
    objects: list[NodeBuilder | Raw], placed: tuple[PodBuilder, ...], pod: PodBuilder, later: PodBuilder, *, gates: bool
) -> None:
    """Also after pods came and went."""
    for entry in ENTRIES:
        bench = bench_of(entry, objects, list(placed), gates=gates)
        compare(bench, pod)
        table = bench.table
        table.add_pod(table.infos[0], later.obj())
        for gone in list(table.infos[-1].pods)[:1]:
            table.remove_pod(table.infos[-1], gone)
        compare(bench, pod)


def compare(bench: StorageBench, pod: PodBuilder) -> None:
    state, info, table = CycleState(), pod.obj(), bench.table
    _, status = bench.plugin.pre_filter(state, info, table)
    if status is not None:
        return
    at_once = bench.plugin.filter_nodes(state, info, table, slice(0, len(table)))
    for row, node in enumerate(table.infos):
        alone, found = bench.plugin.filter(state, info, node), at_once.status(row)
        assert (code_of(alone), alone and alone.message) == (code_of(found), found and found.message), node.name


@given(objects=storage(), pod=pods("pod"))
def test_what_is_found_on_a_node_fits_together(objects: list[NodeBuilder | Raw], pod: PodBuilder) -> None:
    """Each volume goes to one claim, each waiting claim gets one thing, and what it gets is big enough and not another's."""
    bench, state, info = bench_of(volume_binding.ENTRY, objects, [], gates=False), CycleState(), pod.obj()
    _, status = bench.plugin.pre_filter(state, info, bench.table)
    if status is not None:
        return
    own = bench.plugin._storage
    claims_of_pod = own.claims_of(info.pod)
    for node in bench.table.infos:
        found = find_pod_volumes(own, claims_of_pod, node.node)
        if not isinstance(found, PodVolumes):
            continue
        taken = [each.volume.metadata.name for each in found.static]
        served = [each.claim for each in found.static] + [each.claim for each in found.provisions]
        assert len(taken) == len(set(taken))
        assert sorted(each.metadata.name for each in served) == sorted(
            each.metadata.name for each in claims_of_pod.waiting
        )
        for each in found.static:
            assert each.volume.spec.claim_ref is None or is_bound_to(each.volume, each.claim)
            assert not storage_capacity(each.volume) < requested_storage(each.claim)


@given(objects=storage(), pod=pods("pod"))
def test_reserve_and_unreserve_leave_nothing_behind(objects: list[NodeBuilder | Raw], pod: PodBuilder) -> None:
    bench, info = bench_of(volume_binding.ENTRY, objects, [], gates=False), pod.obj()
    own = bench.plugin._storage
    before = list(own.volumes), list(own.claims)
    for node in bench.table.infos:
        state = CycleState()
        _, status = bench.plugin.pre_filter(state, info, bench.table)
        if status is None and bench.plugin.filter(state, info, node) is None:
            assert bench.plugin.reserve(state, info, node.name) is None
            bench.plugin.unreserve(state, info, node.name)
    assert (list(own.volumes), list(own.claims)) == before
