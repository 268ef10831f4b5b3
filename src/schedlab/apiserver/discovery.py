"""Discovery: which groups, versions and resources this server has, in the old and in the aggregated form.

    GET /api, /apis                      versions and groups; with Accept …;as=APIGroupDiscoveryList everything at once
    GET /apis/GROUP                      one group
    GET /api/v1, /apis/GROUP/VERSION     the resources of one version

Everything is made from the set of served resources and kept until that set changes. Aggregated answers carry an ETag
of their content, so that clients can ask again for free.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/discovery and discovery/aggregated (v1.36)
Differs: answers are JSON or YAML, never protobuf.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

import orjson

from schedlab.apimachinery.gvk import GroupVersion
from schedlab.apimachinery.resources import Resources, ResourceType, Subresource

AggregatedVersion: TypeAlias = Literal["v2", "v2beta1"]

_AGGREGATED_KIND: Final = "APIGroupDiscoveryList"
AGGREGATED_GROUP: Final = "apidiscovery.k8s.io"


def aggregated_version(group: str, version: str, kind: str) -> AggregatedVersion | None:
    """Say which aggregated form a media type asks for, None when it asks for something else."""
    if group == AGGREGATED_GROUP and kind == _AGGREGATED_KIND:
        if version == "v2":
            return "v2"
        if version == "v2beta1":
            return "v2beta1"
    return None


def aggregated_content_type(version: AggregatedVersion) -> str:
    """The media type of an aggregated answer, as the client asked for it."""
    return f"application/json;g={AGGREGATED_GROUP};v={version};as={_AGGREGATED_KIND}"


class Discovery:
    """The discovery documents of one set of resources; `address` is where clients are told to find the server."""

    def __init__(self, resources: Resources, address: str) -> None:
        self.resources = resources
        self.address = address
        self._aggregated: dict[tuple[bool, AggregatedVersion], tuple[bytes, bytes]] = {}
        self._lists: dict[GroupVersion, dict[str, Any]] = {}

    # --- the old form ------------------------------------------------------------------------------------------------

    def core_versions(self) -> dict[str, Any]:
        """Answer GET /api."""
        return {
            "kind": "APIVersions",
            "versions": [version.version for version in self.resources.group_versions("")],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": self.address}],
        }

    def groups(self) -> dict[str, Any]:
        """Answer GET /apis."""
        groups = [self._group(group) for group in self.resources.groups() if group]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> dict[str, Any] | None:
        """Answer GET /apis/GROUP, None when there is no such group."""
        if not name or not self.resources.group_versions(name):
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> dict[str, Any]:
        versions = [
            {"groupVersion": str(version), "version": version.version}
            for version in self.resources.group_versions(name)
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resource_list(self, group_version: GroupVersion) -> dict[str, Any] | None:
        """Answer GET /apis/GROUP/VERSION, None when it is not served."""
        found = self._lists.get(group_version)
        if found is None:
            types = self.resources.of(group_version)
            if not types:
                return None
            found = {"kind": "APIResourceList"}
            if group_version.group:
                found["apiVersion"] = "v1"
            found["groupVersion"] = str(group_version)
            found["resources"] = [entry for one in types for entry in _legacy_entries(one)]
            self._lists[group_version] = found
        return found

    # --- the aggregated form -----------------------------------------------------------------------------------------

    def aggregated(self, version: AggregatedVersion, *, core: bool) -> tuple[bytes, bytes]:
        """Answer GET /api (`core`) or /apis in the aggregated form: the JSON and its ETag."""
        found = self._aggregated.get((core, version))
        if found is None:
            document = self._aggregated_document(version, core=core)
            body = orjson.dumps(document)
            # As upstream, the tag is of the content, so that both forms of one content share it.
            digest = hashlib.sha512(orjson.dumps(document["items"])).hexdigest().upper()
            found = self._aggregated[core, version] = (body, f'"{digest}"'.encode())
        return found

    def _aggregated_document(self, version: AggregatedVersion, *, core: bool) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        for group in self.resources.groups():
            if (group == "") is not core:
                continue
            versions = [
                {
                    "version": one.version,
                    "resources": [_aggregated_entry(entry) for entry in self.resources.of(one)],
                    "freshness": "Current",
                }
                for one in self.resources.group_versions(group)
            ]
            items.append({"metadata": {"name": group} if group else {}, "versions": versions})
        return {
            "kind": _AGGREGATED_KIND,
            "apiVersion": f"{AGGREGATED_GROUP}/{version}",
            "metadata": {},
            "items": items,
        }


def _legacy_entries(entry: ResourceType) -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {
        "name": entry.resource,
        "singularName": entry.singular,
        "namespaced": entry.namespaced,
        "kind": entry.kind,
        "verbs": list(entry.verbs),
    }
    if entry.short_names:
        found["shortNames"] = list(entry.short_names)
    if entry.categories:
        found["categories"] = list(entry.categories)
    if entry.is_stored:
        found["storageVersionHash"] = entry.storage_version_hash
    yield found
    for sub in entry.subresources:
        yield _legacy_subresource(entry, sub)


def _legacy_subresource(entry: ResourceType, sub: Subresource) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": f"{entry.resource}/{sub.name}",
        "singularName": "",
        "namespaced": entry.namespaced,
    }
    if sub.gvk.group_version != entry.group_version:
        found["group"] = sub.gvk.group
        found["version"] = sub.gvk.version
    found["kind"] = sub.gvk.kind
    found["verbs"] = list(sub.verbs)
    return found


def _aggregated_entry(entry: ResourceType) -> dict[str, Any]:
    found: dict[str, Any] = {
        "resource": entry.resource,
        "responseKind": {"group": "", "version": "", "kind": entry.kind},
        "scope": "Namespaced" if entry.namespaced else "Cluster",
        "singularResource": entry.singular,
        "verbs": list(entry.verbs),
    }
    if entry.short_names:
        found["shortNames"] = list(entry.short_names)
    if entry.categories:
        found["categories"] = list(entry.categories)
    if entry.subresources:
        found["subresources"] = [_aggregated_subresource(entry, sub) for sub in entry.subresources]
    return found


def _aggregated_subresource(entry: ResourceType, sub: Subresource) -> dict[str, Any]:
    foreign = sub.gvk.group_version != entry.group_version
    return {
        "subresource": sub.name,
        "responseKind": {
            "group": sub.gvk.group if foreign else "",
            "version": sub.gvk.version if foreign else "",
            "kind": sub.gvk.kind,
        },
        "verbs": list(sub.verbs),
    }
