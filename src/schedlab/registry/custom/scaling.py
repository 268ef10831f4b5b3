"""Where a definition says that replicas of its objects are found.

Mirrors: scaleFromCustomResource in staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedlab.api.kinds.scales import ScaleRules


def read_rules(source: Mapping[str, Any], api_versions: Iterable[str]) -> ScaleRules:
    """Read the scale subresource of a version; the versions of a definition share the place of the replicas."""
    wanted, selector = _steps(source["specReplicasPath"]), _steps(source.get("labelSelectorPath") or "")

    def select(obj: Mapping[str, Any]) -> str:
        found = find_value(obj, selector) if selector else None
        return found if isinstance(found, str) else ""

    field = tuple(f"f:{step}" for step in wanted)
    paths = dict.fromkeys(api_versions, field)
    return ScaleRules(paths, select, wanted, _steps(source["statusReplicasPath"]), is_custom=True)


def selector_path(source: Mapping[str, Any]) -> Sequence[str]:
    """Return the steps to the text of the selector, none when there is no selector."""
    return _steps(source.get("labelSelectorPath") or "")


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()


def find_value(obj: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value at the end of a path, None when there is none."""
    found: Any = obj
    for step in path:
        if not isinstance(found, dict) or step not in found:
            return None
        found = found[step]
    return found
