"""What is known of a node's potential victims follows its pods."""

from schedlab.scheduler.framework.preemption.potential_victims import PotentialVictims
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod

NOW = 1_767_225_600_000_000_000


def below(cluster: LittleCluster, priority: int, node: str = "n1", now_ns: int = NOW) -> list[tuple[str, int]]:
    """Name and cpu of each pod, in order."""
    ranked = PotentialVictims.of(cluster.table).below(priority, cluster.info(node), now_ns)
    return [(pod.name, pod.request.milli_cpu) for pod in ranked.pods]


def test_follows_pods_and_nodes() -> None:
    """Pods come, change and go; their node changes, leaves and comes back."""
    cluster = LittleCluster([make_node("n1"), make_node("n2")])
    cluster.place(make_pod("p1", node="n1", priority=1, requests={"cpu": "1"}))
    assert below(cluster, 9) == [("p1", 1000)]
    assert below(cluster, 9, "n2") == []

    cluster.place(make_pod("p2", node="n1", priority=2, requests={"cpu": "2", "example.com/x": "7"}))
    assert below(cluster, 9) == [("p2", 2000), ("p1", 1000)]

    cluster.cache.update_pod(make_pod("p2", node="n1", priority=0, requests={"cpu": "2"}))
    assert below(cluster, 9) == [("p1", 1000), ("p2", 2000)]
    assert below(cluster, 1) == [("p2", 2000)]

    cluster.cache.remove_node(cluster.info("n1").node)
    cluster.cache.refresh()
    cluster.cache.remove_pod(make_pod("p2", node="n1"))
    cluster.cache.set_node(make_node("n1", {"zone": "a"}))
    cluster.cache.refresh()
    assert below(cluster, 9) == [("p1", 1000)]


def test_a_start_in_the_future_counts_once_it_is_past() -> None:
    """Who has not started is as young as who starts now: older than who starts later, younger than who did before."""
    cluster = LittleCluster([make_node("n1")])
    later = {"startTime": "2026-01-01T00:00:10Z"}
    cluster.place(make_pod("later", node="n1", priority=1, status=later))
    cluster.place(make_pod("waits", node="n1", priority=1))

    assert [name for name, _ in below(cluster, 9)] == ["waits", "later"]
    assert [name for name, _ in below(cluster, 9, now_ns=NOW + 20_000_000_000)] == ["later", "waits"]


def test_a_copy_goes_its_own_way() -> None:
    cluster = LittleCluster([make_node("n1")], [make_pod("p1", node="n1", priority=1)])
    assert below(cluster, 9) == [("p1", 0)]
    fork = cluster.cache.copy()
    fork.add_pod(make_pod("p2", node="n1", priority=2))

    there = PotentialVictims.of(fork.table).below(9, fork.table.infos[0], NOW)
    assert [pod.name for pod in there.pods] == ["p2", "p1"]
    assert below(cluster, 9) == [("p1", 0)]
