"""Where a node is."""

import pytest

from schedlab.api.rules.topology import zone_key
from schedlab.api.views.core import Node
from schedlab.api.views.meta import ObjectMeta


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "a"}, ":\x00:a"),
        ({"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a"}, "r:\x00:a"),
        ({"topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": "b"}, ":\x00:b"),
        ({"topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": ""}, ""),
        ({"failure-domain.beta.kubernetes.io/region": "r"}, "r:\x00:"),
    ],
)
def test_zone_key_is_region_and_zone(labels: dict[str, str], key: str) -> None:
    """A beta label wins over the stable one, even when it is empty."""
    assert zone_key(Node(metadata=ObjectMeta(labels=labels))) == key
