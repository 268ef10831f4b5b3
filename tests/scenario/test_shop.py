"""The shop of examples/ under the pytest plugin: where its pods go, and that they stay where a change must not move them."""

from __future__ import annotations

import pytest

from schedlab import Cluster
from schedlab.testing import Expect, make_pod
from tests.architecture.source_tree import REPOSITORY

SHOP = REPOSITORY / "examples" / "shop"

pytestmark = pytest.mark.cluster(files=SHOP)


def test_every_decision_of_the_shop(cluster: Cluster, expect: Expect) -> None:
    """The golden file is renewed with --update-decisions; read the diff, and keep it if you understand it."""
    cluster.run()

    expect(cluster).decisions("golden/shop.decisions")


def test_data_is_kept_on_its_nodes(cluster: Cluster, expect: Expect) -> None:
    """Nodes for data are tainted: what does not tolerate that goes elsewhere, however empty they are."""
    cluster.run()

    expect(make_pod("guest").req(cpu="100m")).on().not_on(label="pool=data")


def test_a_pod_that_is_too_large_for_every_node_waits(cluster: Cluster, expect: Expect) -> None:
    """It waits for cpu, and says so; nothing is evicted for it."""
    cluster.run()
    before = {pod["metadata"]["name"] for pod in cluster.objects("pods")}

    expect(make_pod("giant").req(cpu="1000")).pending(reason="Insufficient cpu", plugin="NodeResourcesFit")
    assert before < {pod["metadata"]["name"] for pod in cluster.objects("pods")}
