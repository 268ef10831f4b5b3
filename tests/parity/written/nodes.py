"""Which nodes a pod's own words leave."""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.testing.builders import make_node, make_pod
from tests.parity.written.building import Json, case, places


def cases() -> Iterator[Json]:
    """The cases."""
    named = {"key": "metadata.name", "operator": "In", "values": ["n2"]}
    yield case(
        "node-affinity-names",
        "nodeaffinity/node_affinity.go: PreFilter: all fields of a term name the same node",
        [make_node(name).capacity(cpu="4").dict() for name in ("n1", "n2")],
        places(make_pod("p").node_affinity({"matchFields": [named, named]}), "n2"),
        nodes=("n1", "n2"),
    )
