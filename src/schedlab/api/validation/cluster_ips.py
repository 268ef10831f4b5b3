"""Checks of the addresses of services inside the cluster, and of the families of addresses they are of.

Mirrors: pkg/apis/core/validation/validation.go (ValidateServiceClusterIPsRelatedFields,
validateUpgradeDowngradeClusterIPs, validateUpgradeDowngradeIPFamilies) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.api.validation.common import one_of
from schedlab.apimachinery import field, ip
from schedlab.apimachinery.field import ErrorList, Path

NONE: Final = "None"

_IPS: Final = Path("spec", "clusterIPs")
_FAMILIES: Final = Path("spec", "ipFamilies")
_POLICY: Final = Path("spec", "ipFamilyPolicy")
_KNOWN_FAMILIES: Final = ("IPv4", "IPv6")
_KNOWN_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIXED: Final = "may not change once set"


def is_headless(spec: Mapping[str, Any]) -> bool:
    """Whether a service has no address on purpose."""
    return spec.get("clusterIPs") == [NONE]


def validate_cluster_ips(spec: Mapping[str, Any], before: Mapping[str, Any], *, strict: bool) -> ErrorList:
    """Check addresses, families and policy; `before` is the stored spec, empty for a new service."""
    if spec.get("type") == "ExternalName":
        return []
    first, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families, policy = spec.get("ipFamilies") or (), spec.get("ipFamilyPolicy")
    errors = _validate_first(first, addresses)
    for i, family in enumerate(families):
        errors += one_of(family, _KNOWN_FAMILIES, _FAMILIES.index(i))
        if family in families[:i]:
            errors.append(field.duplicate(_FAMILIES.index(i), family))
    if policy is not None:
        errors += one_of(policy, _KNOWN_POLICIES, _POLICY)
    malformed = _validate_addresses(addresses, before.get("clusterIPs") or (), strict=strict)
    errors += malformed
    if len(addresses) > 2:
        errors.append(field.invalid(_IPS, addresses, "may only hold up to 2 values"))
    return errors if malformed else errors + _validate_families(addresses, families)


def _validate_first(first: str, addresses: Sequence[str]) -> ErrorList:
    """The single address and the first of the list are the same."""
    if not first:
        detail = "must be empty when `clusterIP` is not specified"
        return [field.invalid(_IPS, addresses, detail)] if addresses else []
    if not addresses:
        return [field.required(_IPS)]
    return [] if addresses[0] == first else [field.invalid(_IPS, addresses, "first value must match `clusterIP`")]


def _validate_addresses(addresses: Sequence[str], known: Sequence[str], *, strict: bool) -> ErrorList:
    errors: ErrorList = []
    for i, address in enumerate(addresses):
        if i == 0 and address == NONE:
            if len(addresses) > 1:
                errors.append(field.invalid(_IPS, addresses, "'None' must be the first and only value"))
            continue
        errors += ip.check_ip_legacy(_IPS.index(i), address, strict=strict, old_values=known)
    return errors


def _validate_families(addresses: Sequence[str], families: Sequence[str]) -> ErrorList:
    errors: ErrorList = []
    if len(addresses) > 1 and len(dict.fromkeys(map(ip.is_ipv6, addresses))) < 2:
        errors.append(field.invalid(_IPS, addresses, "may specify no more than one IP for each IP family"))
    if NONE in addresses:
        return errors
    for i, (address, family) in enumerate(zip(addresses, families, strict=False)):
        own = "IPv6" if ip.is_ipv6(address) else "IPv4"
        if family in _KNOWN_FAMILIES and family != own:
            detail = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            errors.append(field.invalid(_IPS.index(i), address, detail))
    return errors


def validate_cluster_ips_update(spec: Mapping[str, Any], before: Mapping[str, Any]) -> ErrorList:
    """First addresses and families stay; second ones may come and go."""
    if "ExternalName" in (spec.get("type"), before.get("type")):
        return []
    headless, was_headless = is_headless(spec), is_headless(before)
    errors: ErrorList = []
    if not (headless and was_headless):
        errors += _validate_list_update(spec, before, "clusterIPs")
    if not headless and not was_headless:
        errors += _validate_list_update(spec, before, "ipFamilies")
    return errors


def _validate_list_update(spec: Mapping[str, Any], before: Mapping[str, Any], key: str) -> ErrorList:
    now, then = spec.get(key) or [], before.get(key) or []
    addresses = spec.get("clusterIPs")
    path = Path("spec", key)
    if len(now) == len(then):
        changed = [i for i, value in enumerate(then) if value != now[i]]
        return [field.invalid(path.index(i if key == "clusterIPs" else 0), now, _FIXED) for i in changed]
    errors: ErrorList = []
    if then and now and now[0] != then[0]:
        errors.append(field.invalid(path.index(0), addresses, _FIXED))
    if len(now) > len(then):
        return errors
    what = "clusterIP" if key == "clusterIPs" else "ipFamily"
    if not addresses:
        errors.insert(0, field.invalid(path.index(0), spec.get(key), f"primary {what} can not be unset"))
    policy = spec.get("ipFamilyPolicy")
    if len(now) == 1 and policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {what}"
        errors.append(field.invalid(_POLICY, policy, detail))
    return errors
