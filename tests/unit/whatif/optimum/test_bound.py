"""What is counted for a bound, what stays where it is, and what is said of it."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import pytest

from schedlab import Cluster
from schedlab.kernel.errors import SchedlabError
from schedlab.testing import make_node, make_pod
from schedlab.testing.builders import NodeBuilder, PodBuilder
from schedlab.whatif.optimum.reading import read_problem

pytest.importorskip("ortools")
HOST = "kubernetes.io/hostname"


def node(name: str, cpu: str = "4", pods: str = "10") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="8Gi", pods=pods)


def pod(name: str, cpu: str = "1") -> PodBuilder:
    return make_pod(name).label("app", "web").req(cpu=cpu)


def ran(*objects: Any) -> Cluster:
    cluster = Cluster(*objects)
    cluster.run("1m")
    return cluster


def test_spread_out_pods_would_fit_on_fewer_nodes() -> None:
    found = ran(*(node(f"n{n}") for n in range(4)), *(pod(f"p{n}") for n in range(8))).bound("nodes")

    assert (found.achieved, found.bound, found.best, found.proven, found.exact) == (4, 2, 2, True, True)
    assert (found.pods, found.nodes, found.groups, found.classes) == (8, 4, 1, 1)
    assert len(found.placement) == 8
    assert len(set(found.placement.values())) == 2


def test_a_pod_too_many_is_proven_to_have_no_place() -> None:
    found = ran(node("n", cpu="3"), *(pod(f"p{n}") for n in range(4))).bound("pods")

    assert (found.pods, found.achieved, found.bound, found.proven) == (4, 3, 3, True)
    assert found.placement == {}


def test_a_policy_that_wastes_room_is_shown_by_a_better_placement() -> None:
    """Two small pods go to two nodes, and then no node has room for the large one."""
    cluster = Cluster(node("a", cpu="2"), node("b", cpu="2"), pod("s1"), pod("s2"))
    cluster.run("1m")
    cluster.apply(pod("large", cpu="2"))
    cluster.run("1m")
    found = cluster.bound("pods")

    assert (found.achieved, found.bound, found.best) == (2, 3, 3)
    assert found.placement["default/s1"] == found.placement["default/s2"] != found.placement["default/large"]


def test_pods_of_daemon_sets_stay_and_use_no_node() -> None:
    container = {"name": "agent", "image": "agent", "resources": {"requests": {"cpu": "2"}}}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
    cluster = ran(*(node(f"n{n}") for n in range(3)), daemons)
    cluster.apply(*(pod(f"p{n}") for n in range(3)))
    cluster.run("1m")
    found = cluster.bound("nodes")

    # Beside its daemon each node has room for two.
    assert (found.pods, found.achieved, found.bound) == (6, 3, 2)
    assert {*found.placement} == {f"default/p{n}" for n in range(3)}


def test_pods_of_other_schedulers_hold_their_nodes() -> None:
    foreign = pod("f").scheduler_name("other").node("n1")
    found = ran(node("n0"), node("n1"), foreign, pod("p")).bound("nodes")

    assert (found.achieved, found.bound, found.placement) == (2, 1, {"default/p": "n1"})


def test_pods_that_wait_for_gates_are_not_counted() -> None:
    assert ran(node("n"), pod("p"), pod("g").scheduling_gates("later")).bound("pods").pods == 1


def test_a_pod_may_stay_where_filters_would_not_let_it_go() -> None:
    """On a node that is cordoned now and has too little: nothing that is can be impossible."""
    cluster = ran(node("n0"), pod("big", cpu="3"))
    cluster.apply(node("n0", cpu="1"), node("n1", cpu="2"), pod("p"))
    cluster.cordon("n0")
    cluster.run("1m")
    found = cluster.bound("nodes")

    assert (cluster.node_of("big"), cluster.node_of("p")) == ("n0", "n1")
    assert (found.achieved, found.bound, found.proven) == (2, 2, True)


def test_demands_that_are_left_out_are_named() -> None:
    cluster = ran(node("n"), pod("p").pod_affinity(HOST, {"app": "web"}), pod("c").claim("data"))

    assert {"required pod affinity", "volumes"} <= set(cluster.bound("pods").left_out)


def test_what_pods_do_not_keep_any_more_is_left_out() -> None:
    """Labels that change after placing can break anti-affinity and spreading."""
    cluster = ran(
        node("a"),
        node("b"),
        pod("one").pod_anti_affinity(HOST, {"app": "db"}),
        pod("two").spread_constraint(1, HOST, {"app": "web"}),
    )
    assert cluster.bound("nodes").left_out == ["spread constraints that count pods or leave out nodes of other kinds"]
    beside = cluster.node_of("one")
    cluster.apply(make_pod("other").label("app", "cache").node(beside))
    cluster.patch("pod/other", {"metadata": {"labels": {"app": "db"}}})
    found = cluster.bound("nodes")

    assert "anti-affinity and host ports that pods do not keep now" in found.left_out
    assert found.bound <= found.achieved


def test_a_filter_that_is_not_known_is_named() -> None:
    class Picky:
        name = "Picky"

        def filter(self, _state: object, _pod: object, _node: object) -> None:
            return None

    profile = {"plugins": {"filter": {"enabled": [{"name": "Picky"}]}}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    cluster = Cluster(node("n"), pod("p"), config=config, plugins=[Picky])
    cluster.run("1m")

    assert cluster.bound("nodes").left_out == ["the filter Picky"]


def test_equal_pods_and_nodes_are_looked_at_together() -> None:
    nodes = [node(f"n{n}").zone("ab"[n % 2]) for n in range(40)]
    cluster = ran(*nodes, *(pod(f"p{n}", cpu="500m") for n in range(100)))
    problem = read_problem(cluster.simulation)

    # Nobody asks about zones, so the nodes are of one kind.
    assert (len(problem.groups), len(problem.classes())) == (1, 1)
    found = cluster.bound("nodes")
    assert (found.achieved, found.bound, found.best) == (40, 13, 13)


def test_the_same_question_has_the_same_answer() -> None:
    cluster = ran(
        *(node(f"n{n}", cpu=str(3 + n % 3)) for n in range(12)),
        *(pod(f"p{n}", cpu=f"{300 + 170 * (n % 7)}m") for n in range(40)),
    )
    first, second = (cluster.bound("nodes", time_limit="2s") for _ in range(2))

    assert first == second
    assert first.repeatable
    assert first.bound <= first.best <= first.achieved


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"goal": "zones"}, "'zones' is no goal"),
        ({"goal": "nodes", "time_limit": 0}, "0 s is no time to search"),
        ({"goal": "nodes", "time_limit": "48h"}, "172800 s is no time to search"),
        ({"goal": "nodes", "time_limit": "soon"}, "soon"),
    ],
)
def test_mistakes(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(SchedlabError) as found:
        Cluster().bound(**arguments)
    assert words in str(found.value)
    assert found.value.hint


def test_an_empty_cluster_needs_nothing() -> None:
    for goal in ("nodes", "pods"):
        found = Cluster().bound(goal)
        assert (found.achieved, found.bound, found.proven) == (0, 0, True)


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("ortools"):
            raise ImportError(name)
        return original(name, *rest)

    for name in [
        one
        for one in sys.modules
        if one.startswith(("ortools", "schedlab.whatif.optimum.model", "schedlab.whatif.optimum.search"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SchedlabError, match="needs OR-tools") as found:
        Cluster().bound("nodes")
    assert found.value.hint == "install it: pip install 'schedlab[optimum]'"
