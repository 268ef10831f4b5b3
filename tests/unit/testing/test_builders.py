"""Fluent builders of pods, nodes and tables."""

from schedlab.scheduler.framework.types import ImageState
from schedlab.testing.builders import make_cache, make_node, make_pod, make_table, term


def test_builder_never_changes() -> None:
    """A common base can be kept, and what `dict` returns belongs to the caller."""
    base = make_pod("base").req(cpu="1")
    one = base.name("one").label("app", "x")
    base.dict()["spec"]["containers"].clear()

    assert (base.obj().name, one.obj().name) == ("base", "one")
    assert base.obj().labels == {}
    assert base.obj().requests == one.obj().requests == {"cpu": 1000}


def test_pod_is_built_in_every_form() -> None:
    pod = make_pod("p", "ns").toleration("gpu", operator="Exists").node_affinity(term(("zone", "In", ["a"])))

    assert pod.dict()["metadata"] == {"name": "p", "namespace": "ns", "uid": "uid-ns/p"}
    assert pod.view().spec.tolerations[0].operator == "Exists"
    assert pod.obj().key == "ns/p"
    assert pod.get("spec.affinity.nodeAffinity") is not None
    assert pod.get("spec.nothing.here", 7) == 7


def test_containers_add_up() -> None:
    """Sidecars and host ports included; a pod without containers gets an empty one."""
    pod = make_pod().req(cpu="1").container("a:1", limits={"cpu": "2"}, hostPorts=[80]).init_container(sidecar=True)

    view = pod.view()
    assert [container.name for container in view.spec.containers] == ["c0", "c1"]
    assert view.spec.init_containers[0].restart_policy == "Always"
    assert pod.obj().host_ports == (("0.0.0.0", "TCP", 80),)
    assert len(make_pod().view().spec.containers) == 1


def test_every_method_sets_its_field() -> None:
    pod = (
        make_pod()
        .uid("u")
        .namespace("ns")
        .annotations({"a": "b"})
        .created("2026-01-01T00:00:00Z")
        .owner("ReplicaSet", "rs")
        .terminating()
        .overhead(cpu="1")
        .resources({"cpu": "1"}, {"cpu": "2"})
        .node("n")
        .scheduler_name("s")
        .priority(3)
        .preemption_policy("Never")
        .scheduling_gates("g")
        .node_selector({"zone": "a"})
        .preferred_node_affinity(1, term(("zone", "Exists", [])))
        .pod_affinity("zone", {"app": "x"})
        .pod_anti_affinity("zone", {"app": "x"})
        .preferred_pod_affinity(2, "zone", {"app": "x"})
        .preferred_pod_anti_affinity(3, "zone", {"app": "x"})
        .spread_constraint(1, "zone", {"app": "x"})
        .claim("c")
        .host_port(80, "UDP", "10.0.0.1")
        .phase("Running")
        .start_time("2026-01-01T00:00:00Z")
        .nominated_node("m")
        .condition("Ready")
    ).view()
    spec, status, metadata = pod.spec, pod.status, pod.metadata

    assert (metadata.uid, metadata.namespace, metadata.annotations) == ("u", "ns", {"a": "b"})
    owner = metadata.controller()
    assert owner is not None
    assert (owner.kind, owner.name) == ("ReplicaSet", "rs")
    assert metadata.deletion_timestamp == metadata.creation_timestamp == status.start_time == "2026-01-01T00:00:00Z"
    assert spec.resources is not None
    assert (spec.overhead, spec.resources.requests, spec.resources.limits) == ({"cpu": "1"}, {"cpu": "1"}, {"cpu": "2"})
    assert (spec.node_name, spec.scheduler_name, spec.priority, spec.preemption_policy) == ("n", "s", 3, "Never")
    assert (spec.scheduling_gates[0].name, spec.node_selector) == ("g", {"zone": "a"})
    assert spec.affinity is not None
    for affinity, weight in ((spec.affinity.pod_affinity, 2), (spec.affinity.pod_anti_affinity, 3)):
        assert affinity is not None
        assert affinity.required_during_scheduling_ignored_during_execution[0].topology_key == "zone"
        assert affinity.preferred_during_scheduling_ignored_during_execution[0].weight == weight
    assert spec.topology_spread_constraints[0].when_unsatisfiable == "DoNotSchedule"
    claim = spec.volumes[0].persistent_volume_claim
    assert claim is not None
    assert claim.claim_name == "c"
    assert (spec.containers[0].ports[0].host_ip, spec.containers[0].ports[0].protocol) == ("10.0.0.1", "UDP")
    assert (status.phase, status.nominated_node_name, status.conditions[0].type) == ("Running", "m", "Ready")


def test_node_has_pods_and_images() -> None:
    node = make_node("n").zone("a", "r").capacity(cpu="2", pods="5").image("app:1", size=7).condition("Ready")
    info = node.obj(make_pod("p").req(cpu="1"))

    assert info.node.metadata.labels == {
        "kubernetes.io/hostname": "n",
        "topology.kubernetes.io/zone": "a",
        "topology.kubernetes.io/region": "r",
    }
    assert (info.allocatable.milli_cpu, info.requested.milli_cpu, len(info.pods)) == (2000, 1000, 1)
    assert info.image_states == {"app:1": ImageState(7, 1)}
    assert info.node.status.capacity == info.node.status.allocatable == {"cpu": "2", "pods": "5"}


def test_table_has_the_pods_on_the_nodes_they_name() -> None:
    nodes = make_node("a").taint("t"), make_node("b").unschedulable().declared_features("F")
    table = make_table(*nodes, pods=[make_pod("p").node("b")])

    assert (table.names, table.pod_count.tolist()) == (["a", "b"], [0, 1])
    assert table.unschedulable.tolist() == [False, True]
    assert make_cache(*nodes).node_count == 2
