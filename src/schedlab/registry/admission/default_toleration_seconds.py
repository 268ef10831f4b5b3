"""DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or unreachable.

Mirrors: plugin/pkg/admission/defaulttolerationseconds/admission.go (v1.36)
Differs: the five minutes cannot be changed.
"""

from __future__ import annotations

from typing import Any, Final

from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.core import Core

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300


def _admit(attributes: Attributes, _core: Core) -> None:
    if attributes.obj is None:
        return
    spec = attributes.obj["spec"]
    tolerations: list[dict[str, Any]] = spec.get("tolerations") or []
    missing = [key for key in _TAINTS if not any(_tolerates(toleration, key) for toleration in tolerations)]
    if missing:
        spec["tolerations"] = tolerations + [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS} for key in missing
        ]


def _tolerates(toleration: dict[str, Any], key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


DEFAULT_TOLERATION_SECONDS: Final = Admission(
    "DefaultTolerationSeconds", mutate=_admit, resources=("pods",), subresources=("",), repeats=True
)
