"""From a path to a resource and a verb, or to the right one of the many ways of not being found.

    /api/v1/…, /apis/KNOWN/…    no such resource: Status 404; no such method: Status 405
    /apis/UNKNOWN/…             text, "404 page not found"

What can be done at a path is worked out once per resource, so that a request costs a few look-ups.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go and go-restful's router (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from schedlab.apimachinery.errors import (
    StatusError,
    new_bad_request,
    new_generic_server_response,
    new_method_not_supported,
    new_not_found,
)
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.gvk import GroupResource, GroupVersion
from schedlab.apimachinery.names import check_path_segment_name
from schedlab.apimachinery.resources import ResourceType, Subresource
from schedlab.apiserver.negotiation import LIST_MEDIA_TYPES, MEDIA_TYPES, check_patch_route, check_route
from schedlab.apiserver.request import Request
from schedlab.apiserver.request_info import RequestInfo
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.resource import Resource

_COLLECTION: Final = {"list": "GET", "create": "POST", "deletecollection": "DELETE"}
_ITEM: Final = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
_SUBRESOURCE: Final = {"get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
_PREFIXES: Final = ("/api/", "/apis/")
_LOG_MEDIA_TYPES: Final = ("text/plain", *MEDIA_TYPES)


@dataclass(frozen=True, slots=True)
class Route:
    """A verb on a resource or subresource."""

    resource: Resource
    verb: str
    sub: Subresource | None = None
    produces: tuple[str, ...] = MEDIA_TYPES
    #: The path itself asks for a watch.
    is_watch: bool = False

    @property
    def type(self) -> ResourceType:
        return self.resource.type


@dataclass(slots=True)
class _Paths:
    """What can be done at the paths of one resource: HTTP method to route."""

    namespaced: bool
    collection: dict[str, Route] = field(default_factory=dict)
    everywhere: dict[str, Route] = field(default_factory=dict)
    item: dict[str, Route] = field(default_factory=dict)
    subresources: dict[str, dict[str, Route]] = field(default_factory=dict)
    watch: dict[str, Route] = field(default_factory=dict)


def not_found() -> StatusError:
    """The answer for a path under a known prefix."""
    return new_generic_server_response(404, "")


def method_not_allowed() -> StatusError:
    """The answer to a method that a path does not have."""
    return new_generic_server_response(405, "")


class Router:
    """Finds the route of a request among the served resources."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._paths: dict[GroupVersion, dict[str, _Paths]] = {}
        custom: set[str] = set()
        built_in: set[str] = set()
        for resource in resources:
            versions = self._paths.setdefault(resource.type.group_version, {})
            versions[resource.type.resource] = _paths(resource)
            (custom if isinstance(resource, CustomResource) else built_in).add(resource.type.group)
        self._groups = frozenset(version.group for version in self._paths)
        #: Groups in which paths that lead nowhere are not known at all.
        self._custom_groups = frozenset(custom - built_in)

    def knows_group(self, group: str) -> bool:
        return group in self._groups

    def find(self, request: Request) -> Route | None:
        """Return the route, None for a path that is not ours at all; raises StatusError 404, 405, 406, 415."""
        info = request.info
        if not request.path.startswith(_PREFIXES) or (info.group and not self.knows_group(info.group)):
            return None
        found = self._paths.get(GroupVersion(info.group, info.version), {}).get(info.resource)
        methods = {} if found is None else _methods(found, info)
        route = methods.get(request.method)
        if route is None:
            if info.group in self._custom_groups:
                _refuse_custom(found, info, methods)
                return None
            raise method_not_allowed() if methods else not_found()
        if request.method == "PATCH" and not isinstance(route.resource, CustomResource):
            check_patch_route(request.content_type)
        check_route(request.accept, route.produces)
        if wrong := check_path_segment_name(info.name):
            raise new_bad_request(f"Name parameter invalid: {quote(info.name)}: {';'.join(wrong)}")
        return route


def _refuse_custom(found: _Paths | None, info: RequestInfo, methods: Mapping[str, Route]) -> None:
    """Refuse what a custom resource does not have; what is not one at all is left alone."""
    group = GroupResource(info.group, info.resource)
    if methods:
        raise new_method_not_supported(group, info.verb)
    if found is not None and info.subresource and found.namespaced is bool(info.namespace):
        raise new_not_found(group, info.name)


def _methods(paths: _Paths, info: RequestInfo) -> Mapping[str, Route]:
    """Return the routes of one path by method."""
    in_namespace = bool(info.namespace) and info.resource != "namespaces"
    if in_namespace and not paths.namespaced:
        return {}
    count = len(info.parts)
    if info.is_path_verb:
        allowed = info.verb == "watch" and (count == 1 or (count == 2 and in_namespace is paths.namespaced))
        return paths.watch if allowed else {}
    if count == 1:
        return paths.everywhere if paths.namespaced and not in_namespace else paths.collection
    if paths.namespaced and not in_namespace:
        return {}
    if count == 2:
        return paths.item
    if count > 3 and info.subresource != "proxy":
        return {}
    return paths.subresources.get(info.subresource, {})


def _paths(resource: Resource) -> _Paths:
    entry = resource.type
    made = _Paths(entry.namespaced)
    for verb in entry.verbs:
        if verb in _COLLECTION:
            produces = LIST_MEDIA_TYPES if verb == "list" else MEDIA_TYPES
            made.collection[_COLLECTION[verb]] = Route(resource, verb, produces=produces)
        elif verb in _ITEM:
            made.item[_ITEM[verb]] = Route(resource, verb)
        elif verb == "watch":
            made.watch["GET"] = Route(resource, "list", produces=LIST_MEDIA_TYPES, is_watch=True)
    if "GET" in made.collection:
        made.everywhere["GET"] = made.collection["GET"]
    for sub in entry.subresources:
        produces = _LOG_MEDIA_TYPES if sub.name == "log" else MEDIA_TYPES
        made.subresources[sub.name] = {_SUBRESOURCE[verb]: Route(resource, verb, sub, produces) for verb in sub.verbs}
    return made
