"""PodTopologyLabels: a pod gets the zone and the region of its node as labels, unless it has its own.

Mirrors: plugin/pkg/admission/podtopologylabels/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_LABELS: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def _admit(attributes: Attributes, core: Core) -> None:
    if attributes.operation != "CREATE" or attributes.obj is None:
        return
    if not core.features.enabled("PodTopologyLabelsAdmission"):
        return
    if attributes.subresource == "":
        node_name = attributes.obj["spec"].get("nodeName", "")
    else:
        target = attributes.obj.get("target", {})
        node_name = target.get("name", "") if target.get("kind") == "Node" else ""
    node = core.find("nodes", "", node_name) if node_name else None
    if node is None:
        return
    labels = node.labels
    copied = {key: labels[key] for key in _LABELS if key in labels}
    if copied:
        metadata = attributes.obj["metadata"]
        metadata["labels"] = {**copied, **metadata.get("labels", {})}


POD_TOPOLOGY_LABELS: Final = Admission(
    "PodTopologyLabels", mutate=_admit, resources=("pods",), subresources=("", "binding"), repeats=True
)
