"""TaintNodesByCondition: a node begins its life as not ready; the node lifecycle controller finds out better.

Mirrors: plugin/pkg/admission/nodetaint/admission.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_KEY: Final = "node.kubernetes.io/not-ready"
_EFFECT: Final = "NoSchedule"


def _admit(attributes: Attributes, _core: Core) -> None:
    node = attributes.obj
    if attributes.operation != "CREATE" or node is None:
        return
    spec = node.setdefault("spec", {})
    taints: list[dict[str, Any]] = spec.get("taints") or []
    if not any(taint.get("key") == _KEY and taint.get("effect") == _EFFECT for taint in taints):
        spec["taints"] = [*taints, {"key": _KEY, "effect": _EFFECT}]


TAINT_NODES_BY_CONDITION: Final = Admission(
    "TaintNodesByCondition", mutate=_admit, resources=("nodes",), subresources=("",), repeats=True
)
