"""The OpenAPI documents of a server.

Mirrors: k8s.io/kube-openapi/pkg/{handler3,builder3,handler} (v1.36)
Differs: the hash in the index covers what a document is made from, not its text, so that the index can be given out
before any document is made. The v2 document exists as JSON only.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from schedlab.apimachinery.gvk import GroupVersion
from schedlab.apimachinery.openapi.custom import CustomSchemas
from schedlab.apimachinery.openapi.paths import (
    OBJECT_TYPES,
    PATCH_TYPES,
    Operation,
    PathItem,
    operations_of,
)
from schedlab.apimachinery.openapi.schemas import META, SchemaTable
from schedlab.apimachinery.resources import Resources, ResourceType

_COMPONENTS: Final = "#/components/schemas/"
_DEFINITIONS: Final = "#/definitions/"
_METHOD_NAMES: Final = ("get", "put", "post", "delete", "options", "head", "patch")

#: Documents that tell of no resource: path of the document, path of its one operation, type of the answer.
_OTHERS: Final = {
    ".well-known/openid-configuration": ("/.well-known/openid-configuration/", ""),
    "openid/v1/jwks": ("/openid/v1/jwks/", ""),
    "version": ("/version/", "io.k8s.apimachinery.pkg.version.Info"),
}


@functools.cache
def _table() -> SchemaTable:
    return SchemaTable()


class _Used(dict[str, None]):
    """The definitions that a document refers to."""

    def __init__(self, schemas: CustomSchemas) -> None:
        super().__init__()
        self.schemas = schemas


class OpenAPI:
    """Documents of one set of resources; each is made once, when it is first asked for.

    `custom` holds the schemas of the resources that are not built in; None is for one without a schema.
    """

    def __init__(
        self, resources: Resources, version: str, custom: Mapping[ResourceType, Mapping[str, Any] | None] | None = None
    ) -> None:
        self._resources = resources
        self._custom = custom or {}
        self._version = version
        self._documents: dict[str, bytes] = {}
        self._roots = dict(self._list_roots())

    def _list_roots(self) -> Iterator[tuple[str, GroupVersion | str | None]]:
        """Every v3 document by its path: a group version, a group, or something else."""
        yield from dict.fromkeys(_OTHERS).items()
        for group in self._resources.groups():
            prefix = f"apis/{group}" if group else "api"
            yield prefix, group
            for group_version in self._resources.group_versions(group):
                yield f"{prefix}/{group_version.version}", group_version
        yield "apis", ""

    @functools.cached_property
    def index(self) -> bytes:
        """The answer to `/openapi/v3`."""
        return orjson.dumps(
            {
                "paths": {
                    path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._hash(path)}"}
                    for path in sorted(self._roots)
                }
            }
        )

    def _hash(self, path: str) -> str:
        root = self._roots[path]
        made_from = repr(root)
        if isinstance(root, GroupVersion):
            own = self._resources.of(root)
            made_from = repr([own, *(self._custom.get(entry) for entry in own if entry in self._custom)])
        return hashlib.sha512(f"{self._version} {path} {made_from}".encode()).hexdigest().upper()

    @functools.cached_property
    def _schemas(self) -> CustomSchemas:
        return CustomSchemas(_table(), self._custom)

    def etag(self, path: str) -> str:
        """Entity tag of a document, without making it; raises KeyError."""
        return f'"{self._hash(path)}"'

    def v3(self, path: str) -> bytes | None:
        """The document at `/openapi/v3/PATH`, such as `api/v1` or `apis/apps/v1`; None when there is none."""
        if path not in self._roots:
            return None
        if path not in self._documents:
            self._documents[path] = orjson.dumps(self._make(path))
        return self._documents[path]

    def _make(self, path: str) -> dict[str, Any]:
        root = self._roots[path]
        group_version = root if isinstance(root, GroupVersion) else None
        paths: dict[str, PathItem] = {}
        used = _Used(self._schemas)
        if group_version is not None:
            paths[f"/{path}/"] = _about(f"/{path}", META + "APIResourceList", used)
            for entry in self._resources.of(group_version):
                for url, operations in operations_of(entry):
                    paths[url] = _path_item(url, operations, used)
        elif path in _OTHERS:
            url, answer = _OTHERS[path]
            paths[url] = _about(url.rstrip("/"), answer, used)
        else:
            kind = {"api": "APIVersions", "apis": "APIGroupList"}.get(path, "APIGroup")
            paths[f"/{path}/"] = _about(f"/{path}", META + kind, used)
        components: dict[str, Any] = {"securitySchemes": {"BearerToken": _BEARER}}
        if used:
            components["schemas"] = {
                name: self._schemas.render(name, 3, group_version) for name in self._schemas.closure(used)
            }
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self._version},
            "paths": dict(sorted(paths.items())),
            "components": components,
        }

    @functools.cached_property
    def v2(self) -> bytes:
        """The answer to `/openapi/v2`."""
        paths: dict[str, PathItem] = {}
        used = _Used(self._schemas)
        for entry in self._resources:
            for url, operations in operations_of(entry):
                paths[url] = _as_v2(_path_item(url, operations, used))
        return orjson.dumps(
            {
                "swagger": "2.0",
                "info": {"title": "Kubernetes", "version": self._version},
                "paths": dict(sorted(paths.items())),
                "definitions": {name: self._schemas.render(name, 2) for name in self._schemas.closure(used)},
                "securityDefinitions": {"BearerToken": _BEARER},
                "security": [{"BearerToken": []}],
            }
        )


_BEARER: Final = {
    "type": "apiKey",
    "description": "Bearer Token authentication",
    "name": "authorization",
    "in": "header",
}


def _about(url: str, answer: str, used: _Used) -> PathItem:
    """A path that describes the server itself."""
    name = _definition(answer, used)
    schema = {"$ref": _COMPONENTS + name} if name else {"type": "string"}
    tag = url.strip("/").split("/")[1 if url.startswith("/apis/") else 0]
    return {
        "get": {
            "operationId": f"get{_camel(tag)}{'APIResources' if answer.endswith('ResourceList') else ''}",
            "responses": {"200": {"description": "OK", "content": {kind: {"schema": schema} for kind in OBJECT_TYPES}}},
            "tags": [tag],
        }
    }


def _definition(name: str, used: _Used) -> str:
    """Turn `group/version/Kind` into the name of a definition and note that it is used."""
    if "/" in name:
        group, version, kind = name.split("/")
        name = used.schemas.name_of(group, version, kind)
    if name:
        used[name] = None
    return name


def _path_item(url: str, operations: Iterable[Operation], used: _Used) -> PathItem:
    item: PathItem = {operation.method: _operation(url, operation, used) for operation in operations}
    names = [part[1:-1] for part in url.split("/") if part.startswith("{")]
    item["parameters"] = [_parameter(name, "string", place="path") for name in names]
    item["parameters"].append(_parameter("pretty", "string"))
    return item


def _parameter(name: str, kind: str, place: str = "query") -> dict[str, Any]:
    out: dict[str, Any] = {"name": name, "in": place, "schema": {"type": kind, "uniqueItems": True}}
    if place == "path":
        out["required"] = True
    return out


def _operation(url: str, operation: Operation, used: _Used) -> dict[str, Any]:
    out: dict[str, Any] = {
        "description": f"{operation.verb} {operation.gvk.kind}",
        "operationId": _operation_id(url, operation),
    }
    if operation.query:
        out["parameters"] = [_parameter(name, kind) for name, kind in sorted(operation.query.items())]
    if operation.body:
        schema = {"$ref": _COMPONENTS + _definition(operation.body, used)}
        kinds: tuple[str, ...] = PATCH_TYPES if operation.method == "patch" else ("*/*",)
        if used.schemas.is_custom(operation.gvk):
            kinds = tuple(kind for kind in kinds if "strategic" not in kind)
        out["requestBody"] = {"content": {kind: {"schema": schema} for kind in kinds}}
        out["requestBody"]["required"] = operation.method != "delete"
    answer = _definition(operation.answer, used)
    schema = {"$ref": _COMPONENTS + answer} if answer else {"type": "string"}
    media_types = operation.media_types if answer else ("*/*",)
    ok = {"description": "OK", "content": {kind: {"schema": schema} for kind in media_types}}
    out["responses"] = {"200": ok, "401": {"description": "Unauthorized"}}
    if operation.method in ("post", "put", "patch") and operation.action != "connect":
        out["responses"]["201"] = {**ok, "description": "Created"}
    out["tags"] = [
        url.split("/")[2].partition(".")[0] + "_" + url.split("/")[3] if url.startswith("/apis/") else "core_v1"
    ]
    out["x-kubernetes-action"] = operation.action
    gvk = operation.gvk
    out["x-kubernetes-group-version-kind"] = {"group": gvk.group, "kind": gvk.kind, "version": gvk.version}
    return out


def _operation_id(url: str, operation: Operation) -> str:
    """Name an operation after what it does: readCoreV1NamespacedPodStatus."""
    parts = url.strip("/").split("/")
    group, version = ("core", parts[1]) if parts[0] == "api" else (parts[1].partition(".")[0], parts[2])
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    verb = operation.verb
    if operation.action == "connect":
        verb += operation.method.capitalize()
    if operation.action == "deletecollection":
        group = f"{group}/collection"
        verb = "delete"
    prefix = "".join(_camel(part) for part in group.split("/")[:1]) + _camel(version)
    collection = "Collection" if operation.action == "deletecollection" else ""
    namespaced = "Namespaced" if "{namespace}" in rest else ""
    last = rest[-1]
    tail = ""
    if not last.startswith("{") and "{name}" in rest:
        tail = _camel(last)
    elif last == "{path}":
        tail = "ProxyWithPath"
    many = "List" if operation.action == "watchlist" else ""
    every = "ForAllNamespaces" if operation.action in ("list", "watchlist") and _spans_namespaces(rest, url) else ""
    return f"{verb}{prefix}{collection}{namespaced}{operation.gvk.kind}{tail}{many}{every}"


def _spans_namespaces(rest: list[str], url: str) -> bool:
    return "{namespace}" not in rest and "/namespaces" not in url


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in text.replace("-", ".").split("."))


def _as_v2(item: PathItem) -> PathItem:
    """Rewrite a v3 path item for Swagger 2.0."""
    out: PathItem = {"parameters": [_parameter_v2(one) for one in item["parameters"]]}
    for method in _METHOD_NAMES:
        if method in item:
            out[method] = _operation_v2(item[method])
    return out


def _parameter_v2(parameter: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in parameter.items() if key != "schema"}
    return {**rest, **parameter["schema"]}


def _operation_v2(operation: dict[str, Any]) -> dict[str, Any]:
    out = {key: value for key, value in operation.items() if key != "requestBody"}
    parameters = [_parameter_v2(one) for one in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body:
        kinds = list(body["content"])
        schema = _reference_v2(next(iter(body["content"].values()))["schema"])
        parameters.append({"name": "body", "in": "body", "required": body["required"], "schema": schema})
        out["consumes"] = kinds
    out["parameters"] = parameters
    out["produces"] = list(operation["responses"]["200"]["content"])
    out["schemes"] = ["https"]
    out["responses"] = {code: _response_v2(answer) for code, answer in operation["responses"].items()}
    return out


def _response_v2(answer: dict[str, Any]) -> dict[str, Any]:
    out = {"description": answer["description"]}
    if "content" in answer:
        out["schema"] = _reference_v2(next(iter(answer["content"].values()))["schema"])
    return out


def _reference_v2(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"$ref": _DEFINITIONS + schema["$ref"].removeprefix(_COMPONENTS)}
    return schema
