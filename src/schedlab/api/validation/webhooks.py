"""Checks of how a webhook is called.

Mirrors: staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

_FORM: Final = "; desired format: https://host[/path]"


def validate_url(url: str, path: Path) -> ErrorList:
    """An https URL with a host and nothing else but a path."""
    parts = _split(url)
    if isinstance(parts, str):
        return [field.required(path, f"url must be a valid URL: {parts}{_FORM}")]
    errors: ErrorList = []
    if parts.scheme != "https":
        errors.append(field.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        errors.append(field.invalid(path, host, f"host must be specified{_FORM}"))
    if at:
        errors.append(field.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(field.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(field.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _split(url: str) -> SplitResult | str:
    """Return the parts of a URL, or Go's words for what is wrong with it."""
    if any(char < " " or char == "\x7f" for char in url):
        return f"parse {quote(url)}: net/url: invalid control character in URL"
    if url.startswith(":"):
        return f"parse {quote(url)}: missing protocol scheme"
    first = url.partition("/")[0]
    scheme, colon, _rest = first.partition(":")
    if colon and not (scheme[:1].isalpha() and all(char.isalnum() or char in "+-." for char in scheme)):
        return f"parse {quote(url)}: first path segment in URL cannot contain colon"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        port_text = url.partition("://")[2].partition("/")[0].rpartition(":")[2]
        return f"parse {quote(url)}: invalid port {quote(f':{port_text}')} after host"
    del port
    return parts


def validate_service(service: Mapping[str, Any], path: Path, *, default_port: int = 443) -> ErrorList:
    """A service, its port, and a path of segments that are subdomains."""
    errors = [field.required(path.child(key)) for key in ("name", "namespace") if not service.get(key)]
    port = service.get("port", default_port)
    if problems := names.check_port_number(port):
        errors.append(field.invalid(path.child("port"), port, f"port is not valid: {', '.join(problems)}"))
    return errors + _validate_path(service.get("path") or "", path.child("path"))


def _validate_path(text: str, path: Path) -> ErrorList:
    if text in ("", "/"):
        return []
    if text == "//":
        return [field.invalid(path, text, "segment[0] may not be empty")]
    errors: ErrorList = []
    if not text.startswith("/"):
        errors.append(field.invalid(path, text, "must start with a '/'"))
    for i, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(field.invalid(path, text, f"segment[{i}] may not be empty"))
            continue
        found = names.check_dns1123_subdomain(step)
        errors += [field.invalid(path, text, f"segment[{i}]: {message}") for message in found]
    return errors
