"""Counts of pods per node: right from the start, kept right by every change, bounded in number."""

import pytest

from schedlab.apimachinery.selectors import Selector, everything, from_label_selector, nothing
from schedlab.scheduler.framework.pod_index import (
    EMPTY_MAX,
    LabelBuckets,
    PodIndex,
    PodQuery,
    PodTerm,
    required_labels,
)
from tests.unit.scheduler.plugins.little_cluster import LittleCluster, make_node, make_pod

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def selector(key: str, operator: str, *values: str) -> Selector:
    return from_label_selector({"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]})


def app(name: str, namespace: str = "default", *, terminating: bool = True) -> PodQuery:
    return PodQuery((PodTerm((namespace,), selector("app", "In", name)),), terminating=terminating)


def three_nodes() -> LittleCluster:
    nodes = [make_node("n1", {"zone": "a"}), make_node("n2", {"zone": "b"}), make_node("n3", {"zone": "a"})]
    pods = [
        make_pod("p1", {"app": "web"}, node="n1"),
        make_pod("p2", {"app": "web"}, node="n3"),
        make_pod("p3", {"app": "web"}, node="n3", metadata=DELETED),
        make_pod("p4", {"app": "db"}, node="n3"),
        make_pod("p5", {"app": "web"}, node="n3", namespace="other"),
    ]
    return LittleCluster(nodes, pods)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(app("web"), [1, 0, 2], id="namespace and selector must match"),
        pytest.param(app("web", terminating=False), [1, 0, 1], id="terminating pods can be left out"),
        pytest.param(app("web", "other"), [0, 0, 1], id="another namespace, other pods"),
        pytest.param(app("web", "nowhere"), [0, 0, 0], id="a namespace without pods"),
        pytest.param(PodQuery((PodTerm(None, everything()),)), [1, 0, 4], id="everything everywhere"),
        pytest.param(PodQuery((PodTerm(None, nothing()),)), [0, 0, 0], id="nothing"),
        pytest.param(
            PodQuery((PodTerm(("default", "other"), selector("app", "In", "web", "db")),)),
            [1, 0, 4],
            id="several namespaces and values",
        ),
        pytest.param(
            PodQuery((PodTerm(None, selector("app", "Exists")), PodTerm(None, selector("app", "NotIn", "web")))),
            [0, 0, 1],
            id="all terms must match",
        ),
    ],
)
def test_counts(query: PodQuery, expected: list[int]) -> None:
    """A query counts the pods that match all of its terms, node by node."""
    index = PodIndex.of(three_nodes().table)

    assert index.per_node(query).tolist() == expected


def test_counts_follow_pods() -> None:
    """A pod that comes, changes or goes is counted as it is, whether its labels were seen before or not."""
    cluster = three_nodes()
    index = PodIndex.of(cluster.table)
    index.per_node(app("web"))
    index.per_node(app("new"))
    cluster.place(make_pod("p6", {"app": "web"}, node="n2"))
    cluster.place(make_pod("p7", {"app": "new"}, node="n2"))
    cluster.cache.update_pod(make_pod("p1", {"app": "new"}, node="n1"))
    cluster.cache.remove_pod(make_pod("p2", node="n3"))

    assert index.per_node(app("web")).tolist() == [0, 1, 1]
    assert index.per_node(app("new")).tolist() == [1, 1, 0]


def test_counts_follow_nodes() -> None:
    """Rows move with their nodes; pods of a node that left are forgotten; a node that returns brings its pods."""
    cluster = three_nodes()
    index = PodIndex.of(cluster.table)
    index.per_node(app("web"))
    cluster.cache.remove_node(cluster.info("n1").node)
    cluster.cache.set_node(make_node("n0"))
    cluster.cache.refresh()

    assert dict(zip(cluster.table.names, index.per_node(app("web")).tolist(), strict=True)) == {
        "n2": 0,
        "n3": 2,
        "n0": 0,
    }

    cluster.cache.set_node(make_node("n1"))
    cluster.cache.refresh()

    assert index.per_node(app("web"))[cluster.table.row_of["n1"]] == 1


def test_copy_goes_its_own_way() -> None:
    """A copy of the table has the same counts; what happens there is not seen here, and the other way round."""
    cluster = three_nodes()
    here = PodIndex.of(cluster.table)
    here.per_node(app("web"))
    fork = cluster.cache.copy()
    there = PodIndex.of(fork.table)
    assert there is not here
    assert there.per_node(app("web")).tolist() == [1, 0, 2]
    fork.add_pod(make_pod("p6", {"app": "web"}, node="n2"))
    fork.add_pod(make_pod("p7", {"app": "new"}, node="n2"))
    cluster.cache.remove_pod(make_pod("p1", node="n1"))

    assert there.per_node(app("web")).tolist() == [1, 1, 2]
    assert there.per_node(app("new")).tolist() == [0, 1, 0]
    assert there.per_node(app("db")).tolist() == [0, 0, 1]
    assert here.per_node(app("web")).tolist() == [0, 0, 2]
    assert here.per_node(app("new")).tolist() == [0, 0, 0]


def test_queries_are_bounded() -> None:
    """The query that was not asked for the longest is dropped, and right again when it is asked for once more."""
    cluster = three_nodes()
    index = cluster.table.column("small", lambda: PodIndex(cluster.table, queries_max=2))
    index.per_node(app("web"))
    dropped = index.per_domain(app("db"), "zone")
    index.per_node(app("web"))
    assert dropped.is_current
    index.per_node(app("new"))
    assert not dropped.is_current
    cluster.place(make_pod("p6", {"app": "db"}, node="n2"))

    assert list(index._counts) == [app("web"), app("new")]
    assert index.per_node(app("db")).tolist() == [0, 1, 1]
    assert list(index._counts) == [app("new"), app("db")]


def test_little_is_left_of_pods_that_are_gone() -> None:
    """Few classes without pods are kept, the last to be empty; the others are dropped with all that was noted about them."""
    cluster = three_nodes()
    index = PodIndex.of(cluster.table)
    index.per_node(app("web"))
    for pod in list(cluster.cache.pods()):
        cluster.cache.remove_pod(pod)
    for number in range(2 * EMPTY_MAX):
        pod = make_pod("p", {"app": str(number)}, node="n2")
        cluster.place(pod)
        cluster.cache.remove_pod(pod)
    kept = [{"app": str(number)} for number in range(EMPTY_MAX, 2 * EMPTY_MAX)]

    assert [each.kind.labels for each in index._classes.values()] == kept
    assert list(index._by_label) == [label for labels in kept for label in labels.items()]
    assert index.per_node(app("web")).tolist() == [0, 0, 0]


def test_a_class_that_was_empty_counts_again() -> None:
    """Pods that come back to a class keep it, however many others are empty since."""
    cluster = three_nodes()
    index = PodIndex.of(cluster.table)
    index.per_node(app("db"))
    cluster.cache.remove_pod(make_pod("p4", node="n3"))
    cluster.place(make_pod("p6", {"app": "db"}, node="n1"))
    for number in range(2 * EMPTY_MAX):
        pod = make_pod("p", {"app": str(number)}, node="n2")
        cluster.place(pod)
        cluster.cache.remove_pod(pod)
    cluster.place(make_pod("p7", {"app": "db"}, node="n2"))

    assert index.per_node(app("db")).tolist() == [1, 1, 0]


def test_new_labels_change_what_they_matter_to() -> None:
    """A pod with other labels is counted in and out where queries tell it from before, and changes nothing elsewhere."""
    cluster = three_nodes()
    index = PodIndex.of(cluster.table)
    same = index.per_domain(app("db"), "zone")
    tiers = [PodQuery((PodTerm(None, selector("tier", "In", tier)),)) for tier in "xy"]
    for query in tiers:
        index.per_node(query)
    cluster.cache.update_pod(make_pod("p4", {"app": "db", "tier": "x"}, node="n3"))
    assert [index.per_node(query).tolist() for query in tiers] == [[0, 0, 1], [0, 0, 0]]
    cluster.cache.update_pod(make_pod("p4", {"app": "db", "tier": "y"}, node="n3"))

    assert [index.per_node(query).tolist() for query in tiers] == [[0, 0, 0], [0, 0, 1]]
    assert index.per_domain(app("db"), "zone") is same
    assert (same.changes.count, index.per_node(app("db")).tolist()) == (0, [0, 0, 1])


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        (("app", "In", "a"), (("app", "a"),)),
        (("app", "In", "a", "b", "a"), (("app", "a"), ("app", "b"))),
        (("app", "NotIn", "a"), ()),
        (("app", "Exists"), ()),
    ],
)
def test_required_labels(requirement: tuple[str, ...], expected: tuple[tuple[str, str], ...]) -> None:
    """Only a requirement for certain values tells which labels a match must have."""
    assert required_labels(selector(*requirement)) == expected


def test_buckets_find_what_may_match() -> None:
    """Labels find selectors that ask for one of them and those that ask for no certain label, each once."""
    buckets: LabelBuckets[str] = LabelBuckets()
    kept = {
        "one": selector("app", "In", "a"),
        "two": selector("app", "In", "a", "b"),
        "any": selector("app", "Exists"),
        "other": selector("app", "In", "c"),
    }
    for name, each in kept.items():
        buckets.add(each, name)

    assert list(buckets.candidates({"app": "a", "tier": "x"})) == ["one", "two", "any"]
    for name, each in kept.items():
        buckets.remove(each, name)
    assert list(buckets.candidates({"app": "a"})) == []
