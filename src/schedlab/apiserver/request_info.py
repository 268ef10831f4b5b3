"""What a request asks for, read from its method, path and query: verb, group, version, resource, namespace, name.

    /api/{version}/{resource}[/{name}[/{subresource}]]
    /api/{version}/namespaces/{namespace}/{resource}[/{name}[/{subresource}]]
    /apis/{group}/{version}/…          the same for named groups
    /api/{version}/watch/…             the old form of watches
    anything else                      a path of its own, verb = method

Authorization looks at nothing else, so that it decides before it is known whether the resource exists.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

from schedlab.apimachinery import field_selectors
from schedlab.apimachinery.names import check_path_segment_name
from schedlab.apimachinery.selectors import SelectorError

#: Query parameters: every value of each, in order.
Query: TypeAlias = Mapping[str, tuple[str, ...]]

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_NAMESPACE_SUBRESOURCES: Final = frozenset(("status", "finalize"))
_PATH_VERBS: Final = frozenset(("proxy", "watch"))
_COLLECTION_VERBS: Final = frozenset(("list", "watch", "deletecollection"))


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """One request; for paths outside the API only `path` and `verb` are set."""

    path: str
    verb: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    #: The segments from the resource on: more than three when something follows the subresource.
    parts: tuple[str, ...] = ()
    #: The verb stands in the path, as in /api/v1/watch/pods.
    is_path_verb: bool = False
    #: What a read or deletion of a collection selects by fields, as it was sent.
    field_selector: str = ""


@lru_cache(maxsize=1024)
def parse_query(query_string: bytes) -> Query:
    """Read a query as Go's url.ParseQuery does: pairs with a semicolon or a broken escape are left out."""
    found: dict[str, tuple[str, ...]] = {}
    for pair in query_string.split(b"&"):
        if not pair or b";" in pair:
            continue
        raw_key, _, raw_value = pair.partition(b"=")
        key, value = _unescape(raw_key), _unescape(raw_value)
        if key is not None and value is not None:
            found[key] = (*found.get(key, ()), value)
    return found


def _unescape(raw: bytes) -> str | None:
    if b"%" not in raw:
        return raw.replace(b"+", b" ").decode("utf-8", "replace")
    plain = raw.replace(b"+", b" ")
    for part in plain.split(b"%")[1:]:
        if len(part) < 2 or not _is_hexadecimal(part[:2]):
            return None
    return unquote_to_bytes(plain).decode("utf-8", "replace")


def _is_hexadecimal(digits: bytes) -> bool:
    return all(digit in b"0123456789abcdefABCDEF" for digit in digits)


def to_bool(text: str) -> bool:
    """Read a boolean parameter: everything but `false` and `0` is true, even nothing."""
    return text != "0" and text.lower() != "false"


def read_request_info(method: str, path: str, query: Query) -> RequestInfo:
    """Say what a request asks for; raises ValueError for a verb in the path without a resource."""
    segments = path.strip("/").split("/")
    prefix = segments[0]
    start = 1 if prefix == "api" else 2 if prefix == "apis" else 0
    if not start or len(segments) < start + 2:
        return RequestInfo(path, method.lower())
    group = segments[1] if start == 2 else ""
    version = segments[start]
    parts = segments[start + 1 :]
    verb = _VERBS.get(method, "")
    is_path_verb = parts[0] in _PATH_VERBS
    if is_path_verb:
        if len(parts) < 2:
            raise ValueError(f"unable to determine kind and namespace from url, {path}")
        verb = parts[0]
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    if not name:
        if verb == "get":
            verb, name = _collection_read(query)
        elif verb == "delete":
            verb = "deletecollection"
    selector = query.get("fieldSelector", ("",))[0] if verb in _COLLECTION_VERBS else ""
    place = (namespace, parts[0], subresource, name)
    return RequestInfo(path, verb, True, group, version, *place, tuple(parts), is_path_verb, selector)


def _collection_read(query: Query) -> tuple[str, str]:
    """Tell a list from a watch; a selector of one name makes that the name, so that access to it can be granted."""
    if not query:
        return "list", ""
    verb = "watch" if "watch" in query and to_bool(query["watch"][0]) else "list"
    text = query.get("fieldSelector", ("",))[0]
    if not text:
        return verb, ""
    try:
        name = field_selectors.parse(text).required_value("metadata.name") or ""
    except SelectorError:
        return verb, ""
    return verb, "" if check_path_segment_name(name) else name
