"""How kube-apiserver prints objects that it holds inside: in bad values of errors, and in diffs.

Inside it uses other types than on the wire: names as in Go, another order of fields, and nothing left out. The table
of these types is compiled beforehand (tools/generate_internal_types.py).

Mirrors: pkg/apis/core/types.go, pkg/apis/core/v1/conversion.go (pod specs),
staging/src/k8s.io/apimachinery/pkg/util/diff/diff.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import difflib
import functools
import importlib.resources
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery import gojson
from schedlab.apimachinery.gojson import Verbatim

_ZERO: Final[Mapping[str, Any]] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "intstr.IntOrString": 0,
    "resource.Quantity": "0",
}
#: Types that print as on the wire, with the order of their fields.
_WIRE_ORDER: Final[Mapping[str, Sequence[str]]] = {
    "metav1.LabelSelector": ("matchLabels", "matchExpressions"),
    "metav1.ObjectMeta": (
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ),
}
#: Fields of a pod spec that are inside the security context.
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
#: Types that have one of two forms on the wire and fields for both inside.
_UNIONS: Final[Mapping[str, Callable[[Any], Mapping[str, Any]]]] = {
    "apiextensions.JSONSchemaPropsOrArray": lambda value: (
        {"jSONSchemas": value} if isinstance(value, list) else {"schema": value}
    ),
    "apiextensions.JSONSchemaPropsOrBool": lambda value: (
        {"allows": value} if isinstance(value, bool) else {"allows": True, "schema": value}
    ),
    "apiextensions.JSONSchemaPropsOrStringArray": lambda value: (
        {"property": value} if isinstance(value, list) else {"schema": value}
    ),
}
_DIFF_CONTEXT: Final = 3


@functools.cache
def _types() -> dict[str, list[tuple[str, str, str]]]:
    text = importlib.resources.files("schedlab.api").joinpath("internal_types.json").read_text()
    return {name: [tuple(row) for row in rows] for name, rows in json.loads(text).items()}


def internal_text(kind: str, value: Any) -> Verbatim:
    """Return the JSON text of a value in canonical wire form; `kind` is a Go type ("core.Taint", "[]core.Taint")."""
    return Verbatim(gojson.marshal(_render(kind, value), sort_keys=False))


def internal_diff(kind: str, old: Any, new: Any) -> str:
    """Return a unified diff of two values, as kube-apiserver shows what a forbidden update would change."""
    lines = difflib.unified_diff(_lines(kind, old), _lines(kind, new), n=_DIFF_CONTEXT)
    return "".join(list(lines)[2:])


def _lines(kind: str, value: Any) -> list[str]:
    text = json.dumps(_render(kind, value), indent=1, ensure_ascii=False)
    escaped = gojson.escape_html(text.encode()).decode()
    return [f"{line}\n" for line in escaped.split("\n")]


def _render(kind: str, value: Any) -> Any:
    if kind.startswith("*"):
        return None if value is None else _render(kind[1:], value)
    if kind.startswith("[]"):
        return None if value is None else [_render(kind[2:], entry) for entry in value]
    if kind.startswith("map:"):
        return None if value is None else {key: _render(kind[4:], value[key]) for key in sorted(value)}
    if kind in _WIRE_ORDER:
        return _render_wire(kind, value or {})
    fields = _types().get(kind)
    if fields is None:
        return _ZERO.get(kind) if value is None else value
    if kind == "core.PodSpec":
        value = _inside(value or {})
    if kind in _UNIONS:
        value = _UNIONS[kind](value)
    return _render_struct(fields, value or {})


def _render_struct(fields: Sequence[tuple[str, str, str]], value: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, wire_name, kind in fields:
        if name:
            shown[name] = _render(kind, value.get(wire_name))
        else:  # embedded
            shown.update(_render(kind, value.get("metadata") if kind == "metav1.ObjectMeta" else value))
    return shown


def _render_wire(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _sorted(value[key]) for key in _WIRE_ORDER[kind] if value.get(key) not in (None, "", 0, [], {})}


def _sorted(value: Any) -> Any:
    """Put the keys of a map in order; other values stay."""
    return {key: value[key] for key in sorted(value)} if isinstance(value, Mapping) else value


def _inside(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    moved = {key: spec[key] for key in _HOST_FIELDS if key in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **moved}}
