"""Where a node is: the labels that name its zone and region.

Mirrors: staging/src/k8s.io/component-helpers/node/topology/helpers.go and the well-known labels of api/core/v1 (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.views.core import Node

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ZONE_BETA: Final = "failure-domain.beta.kubernetes.io/zone"
REGION_BETA: Final = "failure-domain.beta.kubernetes.io/region"


def zone_key(node: Node) -> str:
    """Return a text that is unique per zone of a region, "" for a node that is in none; beta labels win."""
    labels = node.metadata.labels
    zone = labels[ZONE_BETA] if ZONE_BETA in labels else labels.get(ZONE, "")
    region = labels[REGION_BETA] if REGION_BETA in labels else labels.get(REGION, "")
    # The null character keeps apart names that hold a colon.
    return f"{region}:\x00:{zone}" if region or zone else ""
