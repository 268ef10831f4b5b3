"""Handlers that write: create, update, patch, delete, delete a collection.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch,delete}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.api.object import Object
from schedlab.apimachinery import body as bodies
from schedlab.apimachinery import json_reader, negotiate, strict
from schedlab.apimachinery.body import Body, decode_value
from schedlab.apimachinery.errors import new_unsupported_media_type
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.patch.request import PatchType
from schedlab.apimachinery.schema import Struct, builtin
from schedlab.apiserver import results
from schedlab.apiserver.answers import Answer
from schedlab.apiserver.decoding import decode_request_body, read_configuration, strict_warnings
from schedlab.apiserver.durability import settle
from schedlab.apiserver.negotiation import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    PATCH_TYPES,
    STRATEGIC_PATCH,
    Form,
    body_media_type,
)
from schedlab.apiserver.options import read_delete_query, read_list_query, read_write_options, to_delete_options
from schedlab.apiserver.reading import ReadHandlers
from schedlab.apiserver.request import Request
from schedlab.apiserver.results import Pieces
from schedlab.apiserver.routing import Route
from schedlab.registry.custom.resource import CustomResource
from schedlab.registry.registry import Registry
from schedlab.registry.request import DeleteOptions, WriteOptions, Written
from schedlab.registry.resource import SCALE

_PATCH_KINDS: Final[Mapping[str, PatchType]] = {
    JSON_PATCH: "json",
    MERGE_PATCH: "merge",
    STRATEGIC_PATCH: "strategic",
}
#: Without a Go type nobody knows how to merge lists.
_CUSTOM_PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_DELETE_OPTIONS: Final = GroupVersionKind("", "v1", "DeleteOptions")


class WriteHandlers:
    """Answers requests that change objects."""

    def __init__(self, registry: Registry, reading: ReadHandlers) -> None:
        self._registry = registry
        self._reading = reading

    async def create(self, route: Route, request: Request) -> Answer:
        """Store a new object."""
        form = request.output_form()
        media_type = body_media_type(request.content_type)
        text = await request.body()
        options = read_write_options(request, "CreateOptions")
        written = json_reader.read_compact(text) if media_type == negotiate.JSON else None
        name, namespace = route.resource.name, request.info.namespace
        if isinstance(written, dict):

            def decode() -> Object:
                body = decode_value(written, text, _expected(route), schema_of(route))
                return check_decoded(body, _expected(route), options).object

            stored = self._registry.create_written(name, written, namespace, options, decode)
        else:
            decoded = self._decode(text, media_type, route, options)
            stored = self._registry.create(name, decoded.object, namespace, options)
        await settle(self._registry, stored.revision)
        return results.one(request, route, stored, form, 201)

    async def update(self, route: Route, request: Request) -> Answer:
        """Replace an object, or what a subresource stands for."""
        form = request.output_form()
        text = await request.body()
        options = read_write_options(request, "UpdateOptions")
        decoded = self._decode(text, body_media_type(request.content_type), route, options)
        info = request.info
        written = self._registry.update(
            route.resource.name, info.name, decoded.object, _namespace(request), options, _subresource(route)
        )
        return await self._written(request, route, written, form)

    async def patch(self, route: Route, request: Request) -> Answer:
        """Change an object by a patch, or apply a configuration to it."""
        media_type = request.content_type.partition(";")[0]
        custom = isinstance(route.resource, CustomResource) and _subresource(route) != SCALE
        allowed = _CUSTOM_PATCH_TYPES if custom else PATCH_TYPES
        if media_type not in allowed:
            raise new_unsupported_media_type(allowed)
        form = request.output_form()
        text = await request.body()
        apply = media_type == APPLY_PATCH
        options = read_write_options(request, "PatchOptions", apply=apply)
        name, target, place = request.info.name, route.resource.name, _namespace(request)
        if apply:
            configuration = read_configuration(text, options)
            written = self._registry.apply(target, name, configuration, place, options, _subresource(route))
        else:
            kind = _PATCH_KINDS[media_type]
            written = self._registry.patch(target, name, kind, text, place, options, _subresource(route))
        return await self._written(request, route, written, form)

    async def _written(self, request: Request, route: Route, written: Written, form: Form) -> Answer:
        await settle(self._registry, written.object.revision)
        return results.one(request, route, written.object, form, 201 if written.created else 200)

    def _decode(self, text: bytes, media_type: Any, route: Route, options: WriteOptions) -> Body:
        return decode_checked(text, media_type, _expected(route), schema_of(route), options)

    # --- deletion ----------------------------------------------------------------------------------------------------

    async def delete(self, route: Route, request: Request) -> Answer:
        """Delete an object, or mark it for deletion."""
        form = request.output_form()
        options = await self._delete_options(request)
        _warn_of_orphans(route, request, options)
        info = request.info
        deletion = self._registry.delete(route.resource.name, info.name, _namespace(request), options)
        await settle(self._registry, self._registry.revision)
        # Only who uses the old way to ask for dependents to go as well is told that it takes a while.
        code = 202 if not deletion.immediate and options.orphan_dependents is False else 200
        if deletion.object is not None:
            return results.one(request, route, deletion.object, form, code)
        assert deletion.status is not None, "a deletion is answered with the object or a Status"
        return results.status_answer(deletion.status, form, code)

    async def delete_collection(self, route: Route, request: Request) -> Answer | Pieces:
        """Delete all objects that a list would show."""
        form = request.output_form()
        query = read_list_query(request.query)
        selection = self._reading.selection(route.resource, request, query)
        options = await self._delete_options(request)
        _warn_of_orphans(route, request, options)
        found = self._registry.delete_collection(route.resource.name, _namespace(request), selection, options)
        await settle(self._registry, self._registry.revision)
        return results.several(request, route, found, form)

    async def _delete_options(self, request: Request) -> DeleteOptions:
        """Read DeleteOptions from the body, or from the query when there is none."""
        text = await request.body()
        if not text:
            return to_delete_options(read_delete_query(request.query), request.user)
        schema = builtin().find(_DELETE_OPTIONS)
        assert schema is not None, "DeleteOptions are part of the API"
        media_type = body_media_type(request.content_type)
        decoded = decode_request_body(text, media_type, _DELETE_OPTIONS, schema)
        return to_delete_options(decoded.object, request.user)


def _warn_of_orphans(route: Route, request: Request, options: DeleteOptions) -> None:
    """Tell who does not say what becomes of the dependents, where they stay."""
    if options.propagation_policy is None and options.orphan_dependents is None:
        request.warnings.append(route.resource.strategy.orphan_warning)


def decode_checked(
    text: bytes, media_type: Any, expected: GroupVersionKind, schema: Struct, options: WriteOptions
) -> Body:
    """Decode a body and do what fieldValidation asks for; raises BadRequest."""
    return check_decoded(decode_request_body(text, media_type, expected, schema), expected, options)


def check_decoded(decoded: Body, expected: GroupVersionKind, options: WriteOptions) -> Body:
    """Do with a decoded body what fieldValidation asks for; raises BadRequest."""
    directive: strict.Directive = options.field_validation
    options.warnings.extend(strict_warnings(bodies.check_strict(decoded, directive, expected.kind)))
    bodies.check_version(decoded, expected.group_version)
    return decoded


def schema_of(route: Route) -> Struct:
    """Return the schema of what is sent to a route."""
    expected = _expected(route)
    if expected == route.type.gvk:
        return route.resource.schema
    found = builtin().find(expected)
    assert found is not None, f"there is no schema of {expected}"
    return found


def _expected(route: Route) -> GroupVersionKind:
    return route.type.gvk if route.sub is None else route.sub.gvk


def _namespace(request: Request) -> str:
    info = request.info
    return "" if info.resource == "namespaces" else info.namespace


def _subresource(route: Route) -> str:
    return "" if route.sub is None else route.sub.name
