"""The scheduler cache under random histories: the table always equals one that is made anew from what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from schedlab.scheduler.cache.cache import SchedulerCache
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.types import NodeInfo, PodInfo
from schedlab.testing.builders import NodeBuilder, make_node, make_pod

NODE_NAMES = ("a", "b", "c", "d")
ZONES = ("", "z1", "z2")


def node_of(name: str, zone: str, cpu: int, image: int) -> NodeBuilder:
    node = make_node(name).capacity(cpu=str(cpu), memory="8Gi", pods="10").label("size", str(cpu))
    if image:
        node.image(f"i:{image}", size=image)
    return node.zone(zone) if zone else node


nodes = st.builds(node_of, st.sampled_from(NODE_NAMES), st.sampled_from(ZONES), st.integers(1, 4), st.integers(0, 2))


class CacheMachine(RuleBasedStateMachine):
    """Adds, changes and removes nodes and pods in any order that the API allows."""

    pods = Bundle("pods")
    assumed = Bundle("assumed")

    def __init__(self) -> None:
        super().__init__()
        self.cache = SchedulerCache()
        self.cache.table.label("size")
        self.nodes: dict[str, NodeBuilder] = {}
        self.count = 0

    def new_pod(self, cpu: int, port: int) -> Any:
        self.count += 1
        pod = make_pod(f"p{self.count}").req(cpu=f"{cpu}00m")
        # No two pods share a port: the first of them to go would free it, which no table made anew can know.
        return pod.host_port(10 * self.count + port) if port else pod

    @rule(node=nodes)
    def set_node(self, node: NodeBuilder) -> None:
        view = node.view()
        self.nodes[view.metadata.name] = node
        self.cache.set_node(view)

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        if name in self.nodes:
            self.cache.remove_node(self.nodes.pop(name).view())

    @rule(target=pods, name=st.sampled_from(NODE_NAMES), cpu=st.integers(0, 9), port=st.integers(0, 2))
    def add_pod(self, name: str, cpu: int, port: int) -> Any:
        pod = self.new_pod(cpu, port).node(name)
        self.cache.add_pod(pod.obj())
        return pod

    @rule(target=assumed, name=st.sampled_from(NODE_NAMES), cpu=st.integers(0, 9))
    def assume(self, name: str, cpu: int) -> Any:
        pod = self.new_pod(cpu, 0)
        return pod, self.cache.assume_pod(pod.obj(), name)

    @rule(both=consumes(assumed))
    def forget(self, both: tuple[Any, PodInfo]) -> None:
        self.cache.forget_pod(both[1])

    @rule(target=pods, both=consumes(assumed), name=st.sampled_from(NODE_NAMES))
    def confirm(self, both: tuple[Any, PodInfo], name: str) -> Any:
        pod = both[0].node(name)
        self.cache.add_pod(pod.obj())
        return pod

    @rule(target=pods, pod=consumes(pods), cpu=st.integers(0, 9))
    def update_pod(self, pod: Any, cpu: int) -> Any:
        pod.label("changed", str(cpu)).set("spec.containers", [])
        pod.req(cpu=f"{cpu}00m")
        self.cache.update_pod(pod.obj())
        return pod

    @rule(target=pods, pod=consumes(pods), phase=st.sampled_from(("Pending", "Running")))
    def renew_pod(self, pod: Any, phase: str) -> Any:
        """A change of status and labels that asks for the same."""
        self.cache.update_pod(pod.phase(phase).label("phase", phase).obj())
        return pod

    @rule(pod=consumes(pods))
    def remove_pod(self, pod: Any) -> None:
        self.cache.remove_pod(pod.obj())

    @rule()
    def refresh(self) -> None:
        self.cache.refresh()
        check_table(self.cache, self.nodes)

    @rule()
    def fork(self) -> None:
        other = self.cache.copy()
        self.cache.refresh()
        other.refresh()
        check_table(other, self.nodes)
        for attribute in ("requested", "allocatable", "pod_count"):
            assert np.array_equal(getattr(other.table, attribute), getattr(self.cache.table, attribute))

    @invariant()
    def pods_are_on_their_nodes(self) -> None:
        on_nodes = [pod for info in self.cache._infos.values() for pod in info.pods]
        assert sorted(pod.uid for pod in on_nodes) == sorted(pod.uid for pod in self.cache.pods())


def check_table(cache: SchedulerCache, nodes: dict[str, NodeBuilder]) -> None:
    """Compare with a table of fresh infos in the same order."""
    table = cache.table
    assert sorted(table.names) == sorted(nodes)
    infos = []
    for name in table.names:
        info = NodeInfo(nodes[name].view())
        known = cache.node_info(name)
        assert known is not None
        for pod in known.pods:
            info.add_pod(pod)
        infos.append(info)
    fresh = NodeTable()
    fresh.reorder(infos)
    for attribute in ("non_zero_requested", "allowed_pods", "pod_count", "unschedulable"):
        assert np.array_equal(getattr(table, attribute), getattr(fresh, attribute)), attribute
    for attribute in ("requested", "allocatable"):
        mine, theirs = getattr(table, attribute), getattr(fresh, attribute)
        for index, resource in enumerate(fresh.resource_names):
            assert np.array_equal(mine[table.resource_index(resource)], theirs[index]), resource
    sizes = table.label("size")
    texts = sizes.values.values()
    assert [texts[value] for value in sizes.ids.tolist()] == [info.node.metadata.labels["size"] for info in table.infos]
    assert [sorted(info.used_ports.used()) for info in table.infos] == [sorted(i.used_ports.used()) for i in infos]


TestCacheMachine = CacheMachine.TestCase
TestCacheMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
