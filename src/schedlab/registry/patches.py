"""Patching objects: JSON patch, merge patch, strategic merge patch, server-side apply.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.api.object import Object
from schedlab.apimachinery.errors import new_conflict, new_not_found
from schedlab.apimachinery.patch import request as patching
from schedlab.registry import metadata as metadata_rules
from schedlab.registry.core import Core
from schedlab.registry.request import WriteOptions, Written
from schedlab.registry.resource import Resource
from schedlab.registry.writes import Writer


class Patcher:
    """Changes objects by patches."""

    def __init__(self, core: Core, writer: Writer) -> None:
        self._core = core
        self._writer = writer

    def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        patch_type: patching.PatchType,
        body: patching.PatchBody,
        options: WriteOptions,
        subresource: str = "",
    ) -> Written:
        """Change a stored object by a patch."""
        resource.update_strategy(subresource)

        def make(old: Object | None) -> Object:
            if old is None:
                raise new_not_found(resource.group_resource, name)
            patched = patching.apply(
                old, patch_type, body, resource.type.gvk, resource.schema, options.field_validation
            )
            options.warnings.extend(patched.warnings)
            obj = patched.object
            resource.strategy.default(obj, self._core.context(options))
            obj = resource.managers[subresource].update(old, obj, options.manager, self._core.now())
            self._match(resource, obj, name, namespace)
            return obj

        patch = (patch_type, body)
        return self._writer.replace(resource, name, namespace, make, options, subresource=subresource, patch=patch)

    def apply(
        self,
        resource: Resource,
        name: str,
        namespace: str,
        configuration: Mapping[str, Any],
        options: WriteOptions,
        subresource: str = "",
    ) -> Written:
        """Bring an object to what a manager wants of it; a missing one is created."""
        resource.update_strategy(subresource)
        managers = resource.managers[subresource]

        def make(old: Object | None) -> Object:
            obj = managers.apply(old, configuration, options.field_manager, self._core.now(), force=options.force)
            resource.strategy.default(obj, self._core.context(options))
            if old is None and obj["metadata"].get("uid"):
                uid = obj["metadata"]["uid"]
                cause = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise new_conflict(resource.group_resource, name, cause)
            self._match(resource, obj, name, namespace)
            return obj

        return self._writer.replace(resource, name, namespace, make, options, subresource=subresource, may_create=True)

    def _match(self, resource: Resource, obj: Object, name: str, namespace: str) -> None:
        metadata_rules.match_namespace(obj["metadata"], namespace if resource.namespaced else "")
        metadata_rules.match_name(obj["metadata"], name, namespace)
