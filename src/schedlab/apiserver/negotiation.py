"""Which form an answer takes: JSON or YAML, the object itself, a Table, or its metadata only.

The rules are `apimachinery.negotiate`'s; here their results become forms and are remembered, because clients send the
same few headers all the time.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/installer.go (Consumes and Produces of routes) (v1.36)
Differs: an answer is never protobuf: who accepts nothing else gets JSON, which all of them read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from schedlab.apimachinery import negotiate
from schedlab.apimachinery.errors import new_generic_server_response
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.negotiate import FixedRestrictions, MediaType, Negotiated, ResourceRestrictions

Encoding: TypeAlias = Literal["json", "yaml"]
Transform: TypeAlias = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
#: Custom resources have no Go type whose tags a strategic merge could follow.
CUSTOM_PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)

MEDIA_TYPES: Final = tuple(negotiate.names(negotiate.MEDIA_TYPES))
#: What routes of collections say that they produce.
LIST_MEDIA_TYPES: Final = (*MEDIA_TYPES, *negotiate.stream_names(negotiate.MEDIA_TYPES))

_RESOURCE: Final = ResourceRestrictions()
_TRANSFORMS: Final[tuple[Transform, ...]] = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_DISCOVERY: Final = FixedRestrictions(
    frozenset(
        (
            None,
            GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"),
            GroupVersionKind("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList"),
        )
    )
)


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an answer; `version` is that of meta.k8s.io for transformed ones."""

    encoding: Encoding = "json"
    transform: Transform = ""
    version: str = "v1"
    pretty: bool = False

    @property
    def content_type(self) -> bytes:
        return b"application/yaml" if self.encoding == "yaml" else b"application/json"

    @property
    def api_version(self) -> str:
        return f"meta.k8s.io/{self.version}"

    def prettier(self) -> Form:
        """Return the same form for people."""
        return replace(self, pretty=True)


PLAIN: Final = Form()


def _form(agreed: Negotiated) -> Form:
    encoding: Encoding = "yaml" if agreed.media_type == negotiate.YAML else "json"
    target = agreed.target
    if target is None:
        return Form(encoding, pretty=agreed.is_pretty)
    [transform] = [kind for kind in _TRANSFORMS if kind == target.kind]
    return Form(encoding, transform, target.version, agreed.is_pretty)


@lru_cache(maxsize=256)
def output_form(accept: str) -> Form:
    """Choose the form of a resource's answer; raises NotAcceptable."""
    return _form(negotiate.negotiate_output(accept, _RESOURCE))


@lru_cache(maxsize=256)
def stream_form(accept: str) -> Form:
    """Choose the form of watch events; raises NotAcceptable."""
    return _form(negotiate.negotiate_stream(accept, _RESOURCE))


@lru_cache(maxsize=256)
def error_form(accept: str) -> Form:
    """Choose the form of an error; one that cannot be shown as asked for is indented JSON."""
    agreed = negotiate.negotiate(accept, negotiate.NO_TRANSFORM)
    return PLAIN.prettier() if agreed is None else _form(agreed)


@lru_cache(maxsize=256)
def fixed_form(accept: str) -> Form:
    """Choose the form of a document that has no other type than its own; raises NotAcceptable."""
    return _form(negotiate.negotiate_output(accept, negotiate.NO_TRANSFORM))


@lru_cache(maxsize=256)
def discovery_target(accept: str) -> GroupVersionKind | None:
    """Say which aggregated discovery document a client asks for; None is the old form."""
    agreed = negotiate.negotiate(accept, _DISCOVERY)
    return None if agreed is None else agreed.target


@lru_cache(maxsize=256)
def body_media_type(content_type: str) -> MediaType:
    """Say which format a body is in; raises UnsupportedMediaType."""
    return negotiate.negotiate_input(content_type)


@lru_cache(maxsize=256)
def check_route(accept: str, produces: tuple[str, ...]) -> None:
    """Refuse an Accept header that a route can produce nothing of."""
    negotiate.check_route(accept, produces, "")


@lru_cache(maxsize=256)
def check_patch_route(content_type: str) -> None:
    """Refuse a patch of a type that the routes of built-in resources do not consume."""
    wanted = [alternative.partition(";")[0].strip() for alternative in content_type.split(",")]
    if not any(media in PATCH_TYPES for media in wanted):
        raise new_generic_server_response(415, "", server_message="415: Unsupported Media Type")
