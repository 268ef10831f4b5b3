"""Checks of names of certificate signers and of bundles of trusted certificates.

Mirrors: pkg/apis/core/validation/names.go, pkg/apis/certificates/types.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schedlab.api.validation.meta import ANNOTATIONS_SIZE_MAX
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote

_DAY: Final = 24 * 60 * 60
_DOMAIN_LENGTH_MAX: Final = 253
_NAME_LENGTH_MAX: Final = _DOMAIN_LENGTH_MAX + 63 + 1


def validate_signer_name(name: str, path: Path) -> ErrorList:
    """A domain, a slash and names in it: example.com/my-signer."""
    if not name:
        return [field.required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [field.invalid(path, name, detail)]
    domain, own = segments
    errors: ErrorList = []
    if names.byte_length(domain) > _DOMAIN_LENGTH_MAX:
        errors.append(field.too_long(path, _DOMAIN_LENGTH_MAX))
    labels = domain.split(".")
    wrong = next((label for label in labels if names.check_dns1123_label(label)), None)
    if wrong is not None:
        errors += _label_errors(domain, wrong, names.check_dns1123_label(wrong), path)
    if len(labels) < 2:
        detail = "should be a domain with at least two segments separated by dots"
        errors.append(field.invalid(path, domain, detail))
    wrong = next((label for label in own.split(".") if names.check_dns1123_subdomain(label)), None)
    if wrong is not None:
        errors += _label_errors(own, wrong, names.check_dns1123_subdomain(wrong), path)
    if names.byte_length(own) > _NAME_LENGTH_MAX:
        errors.append(field.too_long(path, _NAME_LENGTH_MAX))
    return errors


def _label_errors(segment: str, label: str, found: list[str], path: Path) -> ErrorList:
    return [field.invalid(path, segment, f"validating label {quote(label)}: {text}") for text in found]


def check_bundle_name(name: str) -> list[str]:
    """Messages about the name of a bundle; what is before the last colon names its signer."""
    signer, colon, own = name.rpartition(":")
    if not colon:
        return names.name_is_dns_subdomain(name)
    if "/" in signer:  # a name with a slash cannot begin with the name of a signer, where colons stand for slashes
        prefix = signer.replace("/", ":") + ":"
        return [f"ClusterTrustBundle for signerName {signer.replace(':', '/')} must be named with prefix {prefix}"]
    if not signer:
        return ['ClusterTrustBundle without signer name must not have ":" in its name']
    return names.name_is_dns_subdomain(own)


def validate_user_annotations(annotations: Mapping[str, str], path: Path) -> ErrorList:
    errors: ErrorList = []
    for key in annotations:
        errors += names.check_domain_prefixed_key(path, key.lower())
    size = sum(names.byte_length(key) + names.byte_length(value) for key, value in annotations.items())
    return [*errors, field.too_long(path, ANNOTATIONS_SIZE_MAX)] if size > ANNOTATIONS_SIZE_MAX else errors


def expiration_seconds_max(signer: str) -> int:
    """Return the longest life of a certificate, which is short for those of Kubernetes' own signers."""
    host = signer.partition("/")[0]
    return _DAY if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 91 * _DAY
