"""Network policies.

Mirrors: pkg/registry/networking/networkpolicy/strategy.go,
pkg/apis/networking/{v1/defaults,validation/validation}.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from schedlab.api.kinds.plain import first_generation
from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import messages
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.ip import CIDR, check_cidr_legacy, cidr_warnings, parse_cidr
from schedlab.apimachinery.selectors import validate_label_selector

_SPEC: Final = Path("spec")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_TYPES: Final = ("Ingress", "Egress")
#: The lists of rules, and the list of peers in each of their rules.
_DIRECTIONS: Final = (("ingress", "from"), ("egress", "to"))


def _default(policy: Object, _context: Context) -> None:
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction, _peers in _DIRECTIONS:
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")


def _blocks(spec: Object) -> Iterator[tuple[Mapping[str, Any], Path]]:
    """Yield every address block with its path."""
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            for j, peer in enumerate(rule.get(peers) or ()):
                if peer.get("ipBlock") is not None:
                    path = _SPEC.child(direction).index(i).child(peers).index(j)
                    yield peer["ipBlock"], path.child("ipBlock")


def _cidrs(spec: Object) -> list[str]:
    return [cidr for block, _path in _blocks(spec) for cidr in (block.get("cidr", ""), *(block.get("except") or ()))]


def _validate(policy: Object, context: Context) -> ErrorList:
    errors = meta.validate(policy["metadata"], names.name_is_dns_subdomain, namespaced=True)
    errors += _validate_spec(policy["spec"], (), context)
    if not errors:
        _warn(policy["spec"], context)
    return errors


def _validate_spec(
    spec: Object, known: Collection[str], context: Context, *, allow_invalid_values: bool = False
) -> ErrorList:
    """Check a spec; `known` are addresses that may be malformed because they are stored already."""
    errors = validate_label_selector(
        spec.get("podSelector"), _SPEC.child("podSelector"), allow_invalid_values=allow_invalid_values
    )
    for direction, peers in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or ()):
            path = _SPEC.child(direction).index(i)
            for j, port in enumerate(rule.get("ports") or ()):
                errors += _validate_port(port, path.child("ports").index(j))
            for j, peer in enumerate(rule.get(peers) or ()):
                own = path.child(peers).index(j)
                errors += _validate_peer(peer, own, allow_invalid_values=allow_invalid_values)
    strict = context.features.enabled("StrictIPCIDRValidation")
    for block, path in _blocks(spec):
        errors += _validate_block(block, path, known, strict=strict)
    types, path = spec.get("policyTypes") or [], _SPEC.child("policyTypes")
    if len(types) > len(_TYPES):
        errors.append(field.invalid(path, types, "may not specify more than two policyTypes"))
        return errors
    return errors + [
        field.not_supported(path.index(i), kind, _TYPES) for i, kind in enumerate(types) if kind not in _TYPES
    ]


def _validate_port(port: Mapping[str, Any], path: Path) -> ErrorList:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    errors: ErrorList = []
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(field.not_supported(path.child("protocol"), protocol, _PROTOCOLS))
    own = path.child("endPort")
    if isinstance(number, int):
        errors += messages(path.child("port"), number, names.check_port_number(number))
        if end is not None and end < number:
            errors.append(field.invalid(own, number, "must be greater than or equal to `port`"))
        return errors if end is None else errors + messages(own, end, names.check_port_number(end))
    if end is not None:
        problem = "not specified" if number is None else "non-numeric"
        errors.append(field.invalid(own, end, f"may not be specified when `port` is {problem}"))
    return errors if number is None else errors + messages(path.child("port"), number, names.check_port_name(number))


def _validate_peer(peer: Mapping[str, Any], path: Path, *, allow_invalid_values: bool) -> ErrorList:
    selectors = [key for key in ("podSelector", "namespaceSelector") if peer.get(key) is not None]
    errors: ErrorList = []
    for key in selectors:
        errors += validate_label_selector(peer[key], path.child(key), allow_invalid_values=allow_invalid_values)
    block = peer.get("ipBlock")
    if block is None and not selectors:
        errors.append(field.required(path, "must specify a peer"))
    if block is not None and selectors:
        errors.append(field.forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _validate_block(block: Mapping[str, Any], path: Path, known: Collection[str], *, strict: bool) -> ErrorList:
    cidr = block.get("cidr", "")
    if not cidr:
        return [field.required(path.child("cidr"))]
    errors = check_cidr_legacy(path.child("cidr"), cidr, strict=strict, old_values=known)
    whole = parse_cidr(cidr)
    if whole is None:
        return errors
    for i, text in enumerate(block.get("except") or ()):
        own = path.child("except").index(i)
        errors += check_cidr_legacy(own, text, strict=strict, old_values=known)
        part = parse_cidr(text)
        if part is not None and not _is_part(part, whole):
            errors.append(field.invalid(own, text, "must be a strict subset of `cidr`"))
    return errors


def _is_part(part: CIDR, whole: CIDR) -> bool:
    """Whether a network lies within a bigger one."""
    if part.address.version != whole.address.version or part.prefix_length <= whole.prefix_length:
        return False
    return CIDR(part.network_address, whole.prefix_length).network_address == whole.network_address


def _warn(spec: Object, context: Context) -> None:
    for block, path in _blocks(spec):
        context.warnings.extend(cidr_warnings(path.child("cidr"), block.get("cidr", "")))
        for i, text in enumerate(block.get("except") or ()):
            context.warnings.extend(cidr_warnings(path.child("except").index(i), text))


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old, "spec")


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    spec, before = new["spec"], old["spec"]
    lax = bool(validate_label_selector(before.get("podSelector"), _SPEC))
    errors += _validate_spec(spec, _cidrs(before), context, allow_invalid_values=lax)
    if not errors:
        _warn(spec, context)
    return errors


NETWORK_POLICY: Final = Strategy(
    resource="networkpolicies.networking.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=first_generation,
)
