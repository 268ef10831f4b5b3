"""Who is measured, and when."""

from __future__ import annotations

import pytest

from schedlab.client.resource_metrics import Usage
from schedlab.kernel.clock import SECOND_NS
from tests.support.usage import Metered


@pytest.fixture
def metered() -> Metered:
    return Metered()


def test_every_fifteen_seconds(metered: Metered) -> None:
    """A pod is there from the first measurement after its start; in between nothing changes."""
    metered.plane.run_for(5)
    metered.add_pod("p")
    metered.plane.run_for(9)
    early = metered.cpu("p")
    metered.plane.run_for(1)
    first = metered.measurements.pod("p", "default")
    metered.plane.run_for(14)
    same = metered.measurements.pod("p", "default")
    metered.plane.run_for(1)
    next_one = metered.measurements.pod("p", "default")

    assert early == {}
    assert first is not None
    assert first == same
    assert next_one is not None
    assert (next_one.measured_ns - first.measured_ns, first.window_ns) == (15 * SECOND_NS, 15 * SECOND_NS)


def test_nodes_use_what_their_pods_use(metered: Metered) -> None:
    """Pods that ended use nothing; nodes without a living kubelet are not measured, nor are their pods."""
    metered.plane.node("n2")
    for name in ("p", "q", "ended"):
        metered.add_pod(name, annotations={"kwok.x-k8s.io/usage-cpu": "1", "kwok.x-k8s.io/usage-memory": "1Gi"})
    metered.plane.finish("ended")
    lost = {"metadata": {"name": "lost"}, "spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "i"}]}}
    metered.plane.create("pods", lost)
    metered.start("lost")
    metered.plane.run_for(15)
    nodes = {each.node.name: each.usage for each in metered.measurements.nodes()}

    assert nodes == {"n1": Usage(2 * 10**9, 2 * 2**30)}
    assert sorted(each.pod.name for each in metered.measurements.pods()) == ["p", "q"]
    assert (metered.measurements.node("n2"), metered.measurements.node("n3")) == (None, None)
    assert metered.measurements.pods("kube-system") == []
