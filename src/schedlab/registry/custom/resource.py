"""The resources that a definition gives: one for each version that is served.

Mirrors: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/{customresource_handler,
customresource_discovery_controller}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.validation.definitions.walking import Schema
from schedlab.apimachinery.gvk import GroupVersion, GroupVersionKind
from schedlab.apimachinery.resources import ResourceType, Subresource
from schedlab.apimachinery.table import DEFAULT, Printer
from schedlab.registry.custom.printer import make_printer
from schedlab.registry.custom.scaling import read_rules, selector_path
from schedlab.registry.custom.strategy import Version, make_strategy
from schedlab.registry.custom.types import CustomType
from schedlab.registry.resource import Resource, make_resource

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_READ_WRITE: Final = ("get", "patch", "update")


@dataclass(frozen=True)
class CustomResource(Resource):
    """A version of a custom resource."""

    openapi: Schema | None = None
    printer: Printer = DEFAULT
    #: What users are told when they use a version that will go.
    deprecation: str = ""
    is_served: bool = True


def is_true(definition: Mapping[str, Any], condition: str) -> bool:
    """Say whether a condition of a definition is true."""
    conditions = definition["status"].get("conditions") or ()
    return any(one.get("type") == condition and one.get("status") == "True" for one in conditions)


def make_resources(definition: Mapping[str, Any]) -> Iterator[CustomResource]:
    """Make the resources of all served versions, and of the stored one."""
    versions = definition["spec"]["versions"]
    stored = next(version["name"] for version in versions if version.get("storage"))
    for version in versions:
        if version.get("served") or version.get("storage"):
            yield _make(definition, version, stored)


def _make(definition: Mapping[str, Any], version: Mapping[str, Any], stored: str) -> CustomResource:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    gvk = GroupVersionKind(spec["group"], version["name"], names["kind"])
    full_name = f"{names['plural']}.{spec['group']}"
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    rules = Version(
        gvk,
        namespaced=spec["scope"] == "Namespaced",
        schema=schema or {},
        has_status=subresources.get("status") is not None,
        scale=None if scale is None else read_rules(scale, _api_versions(spec)),
        selector=() if scale is None else selector_path(scale),
        selectable=tuple(field["jsonPath"] for field in version.get("selectableFields") or ()),
        is_terminating=is_true(definition, "Terminating"),
    )
    name = full_name if version["name"] == stored else f"{names['plural']}.{version['name']}.{spec['group']}"
    entry = _type(definition, rules, GroupVersion(spec["group"], stored))
    made = make_resource(entry, make_strategy(name, full_name, stored, rules), CustomType(gvk, rules.schema))
    return CustomResource(
        made.type,
        made.strategy,
        made.schema,
        made.managers,
        openapi=schema,
        printer=make_printer(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(version, gvk),
        is_served=bool(version.get("served")),
    )


def _api_versions(spec: Mapping[str, Any]) -> list[str]:
    return [f"{spec['group']}/{version['name']}" for version in spec["versions"]]


def _type(definition: Mapping[str, Any], rules: Version, stored: GroupVersion) -> ResourceType:
    names, gvk = definition["status"]["acceptedNames"], rules.gvk
    subresources = []
    if rules.scale is not None:
        subresources.append(Subresource("scale", _SCALE, _READ_WRITE))
    if rules.has_status:
        subresources.append(Subresource("status", gvk, _READ_WRITE))
    return ResourceType(
        group=gvk.group,
        version=gvk.version,
        resource=names["plural"],
        singular=names.get("singular", ""),
        kind=names["kind"],
        namespaced=rules.namespaced,
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(subresources),
        storage_group_version=None if stored == gvk.group_version else stored,
        list_name=names.get("listKind", ""),
    )


def _deprecation(version: Mapping[str, Any], gvk: GroupVersionKind) -> str:
    if not version.get("deprecated"):
        return ""
    warning: str = version.get("deprecationWarning") or f"{gvk.group}/{gvk.version} {gvk.kind} is deprecated"
    return warning
