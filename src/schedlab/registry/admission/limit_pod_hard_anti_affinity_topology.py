"""LimitPodHardAntiAffinityTopology: pods may keep others away from their node only, not from a whole zone.

Off by default.

Mirrors: plugin/pkg/admission/antiaffinity/admission.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core

_HOSTNAME: Final = "kubernetes.io/hostname"


def _validate(attributes: Attributes, _core: Core) -> None:
    if attributes.obj is None:
        return
    affinity = (attributes.obj["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        key = term["topologyKey"]
        if key != _HOSTNAME:
            raise forbidden(
                attributes,
                "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey "
                f"{key} but only key {_HOSTNAME} is allowed",
            )


LIMIT_POD_HARD_ANTI_AFFINITY_TOPOLOGY: Final = Admission(
    "LimitPodHardAntiAffinityTopology", validate=_validate, resources=("pods",), subresources=("",), repeats=True
)
