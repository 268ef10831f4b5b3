"""Objects and lists of the registry as answers, in the form that the client asked for.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import NotAcceptable, Status, StatusError, new_status
from schedlab.apimachinery.table import DEFAULT
from schedlab.apiserver import printers
from schedlab.apiserver.answers import Answer, object_answer
from schedlab.apiserver.encoding import (
    ObjectEncoder,
    Show,
    custom_list,
    items_per_piece,
    partial_encoder,
    partial_list,
    shown,
    whole,
    whole_list,
)
from schedlab.apiserver.negotiation import Form
from schedlab.apiserver.options import read_include_object
from schedlab.apiserver.request import Request
from schedlab.apiserver.routing import Route
from schedlab.apiserver.tables import TableEncoder
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.request import ObjectList

#: Go packages of the internal types, where they are not called as the first part of the group.
_INTERNAL_PACKAGES = {"": "core", "events.k8s.io": "core", "rbac.authorization.k8s.io": "rbac"}


@dataclass(slots=True)
class Pieces:
    """An answer whose body comes in pieces, so that a big list neither stalls others nor needs to be joined."""

    body: Iterator[bytes]
    content_type: bytes = b"application/json"
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


def one(request: Request, route: Route, obj: StoredObject, form: Form, status: int = 200) -> Answer:
    """Answer with one object."""
    return object_answer(encoder(request, route, form)(obj), form, status)


def status_answer(status: Status, form: Form, code: int = 200) -> Answer:
    """Answer with a Status, which has no other form."""
    return object_answer(orjson.dumps(status), form, code)


def encoder(request: Request, route: Route, form: Form) -> ObjectEncoder:
    """Return what makes the bytes of one object; raises NotAcceptable for forms that only lists have."""
    if not form.transform:
        return shown(whole, _show(route))
    if form.transform == "PartialObjectMetadata":
        return shown(partial_encoder(form.api_version), _show(route))
    if form.transform == "Table":
        return table(request, route, form).one
    go_type = _internal_type(route, route.type.kind)
    raise _not_acceptable(f"you requested {form.transform}, but the requested object is not a list ({go_type})")


def several(request: Request, route: Route, objects: ObjectList, form: Form) -> Answer | Pieces:
    """Answer with a list."""
    if not form.transform:
        encode = custom_list if isinstance(route.resource, CustomResource) else whole_list
        body = encode(objects, route.type.list_kind, route.type.api_version, _show(route))
    elif form.transform == "PartialObjectMetadataList":
        body = partial_list(objects, form.api_version, _show(route))
    elif form.transform == "Table":
        body = table(request, route, form).list(objects)
    else:
        go_type = _internal_type(route, route.type.list_kind)
        raise _not_acceptable(f"you requested {form.transform}, but the requested object is a list ({go_type})")
    if len(objects.items) <= items_per_piece(_show(route)) or form.pretty or form.encoding == "yaml":
        return object_answer(b"".join(body), form)
    return Pieces(body, form.content_type)


def table(request: Request, route: Route, form: Form) -> TableEncoder:
    """Return the encoder of Tables of this resource."""
    printer = printers.find(route.type.full_name, "" if route.sub is None else route.sub.name)
    if isinstance(route.resource, CustomResource) and printer is DEFAULT:
        printer = route.resource.printer
    include = read_include_object(request.query)
    return TableEncoder(printer, request.clock, form.api_version, include, _show(route))


def _show(route: Route) -> Show | None:
    """Return what derives values of the resource, None where nothing is derived."""
    return route.resource.shown if route.resource.overlays else None


def _internal_type(route: Route, kind: str) -> str:
    """Name the Go type that kube-apiserver works with inside."""
    group = route.type.group
    return f"*{_INTERNAL_PACKAGES.get(group, group.partition('.')[0])}.{kind}"


def _not_acceptable(message: str) -> StatusError:
    return NotAcceptable(new_status("Failure", code=406, reason="NotAcceptable", message=message))
