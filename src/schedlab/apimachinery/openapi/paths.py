"""Operations of the served resources, as OpenAPI v3 path items.

Clients look at few things here: which kind a path is about, which query parameters an operation takes (kubectl asks
for fieldValidation and dryRun before it uses them), which bodies. The rest is kept short.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go (v1.36)
Differs: parameters and answers carry no prose.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.openapi.schemas import META
from schedlab.apimachinery.resources import ResourceType, Subresource

PathItem = dict[str, Any]

JSON: Final = "application/json"
OBJECT_TYPES: Final = (JSON, "application/yaml", "application/vnd.kubernetes.protobuf")
WATCH_TYPES: Final = (
    *OBJECT_TYPES,
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
)
PATCH_TYPES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)

_WRITE: Final = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_PATCH: Final = {**_WRITE, "force": "boolean"}
_DELETE: Final = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}
_LIST: Final = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
#: Subresources that are connections, with the methods they take.
_CONNECT: Final[Mapping[str, tuple[str, ...]]] = {
    "attach": ("get", "post"),
    "exec": ("get", "post"),
    "portforward": ("get", "post"),
    "proxy": ("get", "put", "post", "delete", "options", "head", "patch"),
}
_METHODS: Final = {"get": "get", "update": "put", "patch": "patch", "create": "post", "delete": "delete"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    method: str
    action: str
    verb: str
    gvk: GroupVersionKind
    query: Mapping[str, str]
    body: str = ""
    answer: str = ""
    media_types: tuple[str, ...] = OBJECT_TYPES


def operations_of(entry: ResourceType) -> Iterator[tuple[str, list[Operation]]]:
    """All paths of a resource with their operations."""
    base = entry.path
    parent = f"{base}/namespaces/{{namespace}}" if entry.namespaced else base
    collection, item = f"{parent}/{entry.resource}", f"{parent}/{entry.resource}/{{name}}"
    if entry.namespaced and "list" in entry.verbs:
        yield f"{base}/{entry.resource}", [_list(entry)]
    yield from _present(collection, _collection(entry))
    yield from _present(item, _item(entry))
    for sub in entry.subresources:
        yield from _subresource(sub, f"{item}/{sub.name}")
    if "watch" in entry.verbs:
        yield from _watches(entry, base)


def _present(path: str, operations: Iterable[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    found = list(operations)
    if found:
        yield path, found


def _kind(entry: ResourceType) -> str:
    return f"{entry.group}/{entry.version}/{entry.kind}"


def _list(entry: ResourceType) -> Operation:
    answer = f"{entry.group}/{entry.version}/{entry.list_kind}"
    return Operation("get", "list", "list", entry.gvk, _LIST, answer=answer, media_types=WATCH_TYPES)


def _collection(entry: ResourceType) -> Iterator[Operation]:
    if "list" in entry.verbs:
        yield _list(entry)
    if "create" in entry.verbs:
        yield Operation("post", "post", "create", entry.gvk, _WRITE, body=_kind(entry), answer=_kind(entry))
    if "deletecollection" in entry.verbs:
        query = {**_DELETE, **{name: kind for name, kind in _LIST.items() if name != "watch"}}
        yield _delete(entry, "deletecollection", query)


def _delete(entry: ResourceType, action: str, query: Mapping[str, str]) -> Operation:
    answer = _kind(entry) if action == "delete" and entry.resource in _ANSWERED_WITH_OBJECT else META + "Status"
    return Operation("delete", action, action, entry.gvk, query, body=META + "DeleteOptions", answer=answer)


#: Resources whose delete answers with the object.
_ANSWERED_WITH_OBJECT: Final = frozenset(
    ("pods", "services", "serviceaccounts", "persistentvolumes", "persistentvolumeclaims", "resourcequotas")
)


def _item(entry: ResourceType) -> Iterator[Operation]:
    kind = _kind(entry)
    if "get" in entry.verbs:
        yield Operation("get", "get", "read", entry.gvk, {}, answer=kind)
    if "update" in entry.verbs:
        yield Operation("put", "put", "replace", entry.gvk, _WRITE, body=kind, answer=kind)
    if "delete" in entry.verbs:
        yield _delete(entry, "delete", _DELETE)
    if "patch" in entry.verbs:
        yield Operation("patch", "patch", "patch", entry.gvk, _PATCH, body=META + "Patch", answer=kind)


def _subresource(sub: Subresource, path: str) -> Iterator[tuple[str, list[Operation]]]:
    methods = _CONNECT.get(sub.name)
    if methods is not None:
        connections = [Operation(method, "connect", "connect", sub.gvk, {"path": "string"}) for method in methods]
        yield path, connections
        if sub.name == "proxy":
            yield f"{path}/{{path}}", connections
        return
    kind = "" if sub.name == "log" else f"{sub.gvk.group}/{sub.gvk.version}/{sub.gvk.kind}"
    operations = []
    for verb in ("get", "update", "create", "patch"):
        if verb in sub.verbs:
            method = _METHODS[verb]
            query = {"get": {}, "patch": _PATCH}.get(verb, _WRITE)
            body = "" if verb == "get" else META + "Patch" if verb == "patch" else kind
            name = {"get": "read", "update": "replace"}.get(verb, verb)
            operations.append(Operation(method, method, name, sub.gvk, query, body=body, answer=kind))
    yield path, operations


def _watches(entry: ResourceType, base: str) -> Iterator[tuple[str, list[Operation]]]:
    event = META + "WatchEvent"
    every = Operation("get", "watchlist", "watch", entry.gvk, {}, answer=event, media_types=WATCH_TYPES)
    one = Operation("get", "watch", "watch", entry.gvk, {}, answer=event, media_types=WATCH_TYPES)
    yield f"{base}/watch/{entry.resource}", [every]
    parent = f"{base}/watch"
    if entry.namespaced:
        parent += "/namespaces/{namespace}"
        yield f"{parent}/{entry.resource}", [every]
    yield f"{parent}/{entry.resource}/{{name}}", [one]
