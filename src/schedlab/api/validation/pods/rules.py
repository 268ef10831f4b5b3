"""What the checks of pods depend on besides the pod.

Mirrors: pkg/apis/core/validation/validation.go (PodValidationOptions),
pkg/api/pod/util.go (GetValidationOptionsFromPodMeta) (v1.36)
Differs: an object that was stored under other feature gates gets no exceptions when it is updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.field import Path

Spec: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PodRules:
    """Feature gates, and whether a whole pod is checked rather than the template of some other kind."""

    features: FeatureGates
    is_pod: bool = False


def each_container(spec: Spec, path: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield every container of a pod with its path: init, regular, ephemeral."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        containers = spec.get(key)
        if containers:
            own = path.child(key)
            for i, container in enumerate(containers):
                yield container, own.index(i)
