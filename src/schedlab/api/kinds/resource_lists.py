"""Sums over lists of quantities, as defaults and checks need them.

Mirrors: pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList),
staging/src/k8s.io/component-helpers/resource/helpers.go (Aggregate…) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from schedlab.api.rules.resource_names import is_native_resource
from schedlab.apimachinery.quantity import MILLI, Quantity, parse_cached

#: Resource name to quantity text.
ResourceList: TypeAlias = dict[str, str]


def round_up(resources: ResourceList | None) -> None:
    """Round quantities finer than a thousandth up, in place."""
    if not resources:
        return
    for name, text in resources.items():
        if text[-1] in "nu" or "e-" in text:
            resources[name] = str(parse_cached(text).round_up(MILLI))


def aggregate(spec: Mapping[str, Any], key: str) -> dict[str, Quantity]:
    """Add up the `requests` or `limits` of the containers: what the pod needs at its hungriest moment."""
    totals: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(totals, _amounts(container, key))
    sidecars: dict[str, Quantity] = {}
    peaks: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        own = _amounts(container, key)
        if container.get("restartPolicy") == "Always":
            _add(totals, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            own = dict(own)
            _add(own, sidecars)
        _raise(peaks, own)
    _raise(totals, peaks)
    return totals


def _amounts(container: Mapping[str, Any], key: str) -> dict[str, Quantity]:
    resources = (container.get("resources") or {}).get(key) or {}
    return {name: parse_cached(text) for name, text in resources.items()}


def _add(totals: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        totals[name] = totals[name] + amount if name in totals else amount


def _raise(totals: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in totals or amount > totals[name]:
            totals[name] = amount


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def allows_overcommit(name: str) -> bool:
    return is_native_resource(name) and not is_huge_page(name)


def is_pod_level(name: str) -> bool:
    """Whether a resource can be given to a pod as a whole."""
    return name in ("cpu", "memory") or is_huge_page(name)
