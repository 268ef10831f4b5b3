"""Selectors of devices: CEL expressions over the driver, attributes and capacities of one device.

Attributes and capacities are grouped by domain; a name without one is in the driver's. A domain that a device has
nothing of is an empty map, so that `device.attributes["a.example"].b` fails for want of `b` and not of the domain.

Mirrors: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go (v1.36).
Differs: a missing domain is put in when an expression fails for want of it; from then on `in` finds it there, too.
No cost is estimated; attributes that are lists (an alpha feature) are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from schedlab.apimachinery import cel
from schedlab.apimachinery.cel import CelError, Environment, Expression, NoSuchKeyError
from schedlab.apimachinery.semver import SemverError

if TYPE_CHECKING:
    from schedlab.api.views.resource import Device, DeviceAttribute

_BY_DOMAIN: Final = cel.map_of(cel.STRING, cel.map_of(cel.STRING, cel.DYN))
_ENVIRONMENT: Final = Environment(
    "device",
    {
        "driver": cel.STRING,
        "allowMultipleAllocations": cel.BOOL,
        "attributes": _BY_DOMAIN,
        "capacity": cel.map_of(cel.STRING, cel.map_of(cel.STRING, cel.QUANTITY)),
    },
)
_RESULTS: Final = ("BOOL", "DYN", "")
# How often domains are put in for one device and expression; more than a device can have attributes.
_DOMAINS_MAX: Final = 64

_TYPE_NAMES: Final = {"BOOL": "bool", "DOUBLE": "double", "INT": "int", "STRING": "string", "UINT": "uint"}
_NOT_CONVERTED: Final = {
    "int": "unsupported type conversion from 'int' to bool",
    "string": "unsupported native conversion from string to 'bool'",
}


class DeviceFacts:
    """What expressions may know of one device."""

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._device = device
        self._value: dict[str, Any] | None = None
        self._bound: Any = None

    def bound(self) -> Any:
        """Return the device as expressions want it; CelError when one of its attributes cannot be used."""
        if self._bound is None:
            self._value = self._make()
            self._bound = _ENVIRONMENT.bind(self._value)
        return self._bound

    def bound_with(self, domains: Sequence[str]) -> Any:
        """Return the device with further domains that nothing is of."""
        assert self._value is not None
        value = dict(self._value)
        for name in ("attributes", "capacity"):
            value[name] = {**{domain: {} for domain in domains}, **value[name]}
        return _ENVIRONMENT.bind(value)

    def has_domain(self, domain: str) -> bool:
        """Whether there is something of the domain among attributes and among capacities."""
        assert self._value is not None
        return domain in self._value["attributes"] and domain in self._value["capacity"]

    def _make(self) -> dict[str, Any]:
        device = self._device
        attributes = {name: _attribute(name, each) for name, each in device.attributes.items()}
        capacity = {name: cel.quantity_value(each.value) for name, each in device.capacity.items()}
        return {
            "driver": self._driver,
            "allowMultipleAllocations": device.allow_multiple_allocations,
            "attributes": self._by_domain(attributes),
            "capacity": self._by_domain(capacity),
        }

    def _by_domain(self, values: Mapping[str, object]) -> dict[str, dict[str, object]]:
        groups: dict[str, dict[str, object]] = {}
        for name, value in values.items():
            first, has_domain, rest = name.partition("/")
            domain, key = (first, rest) if has_domain else (self._driver, first)
            groups.setdefault(domain, {})[key] = value
        return groups


def _attribute(name: str, attribute: DeviceAttribute) -> object:
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    try:
        return cel.semver_value(attribute.version_value)
    except SemverError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from None


@lru_cache(maxsize=1024)
def compile_selector(expression: str) -> Expression:
    """Compile a selector; CelError, in upstream's words, when that fails."""
    try:
        compiled = _ENVIRONMENT.compile(expression)
    except CelError as error:
        raise CelError(f"compilation failed: {error}") from None
    if compiled.kind not in _RESULTS:
        found = _TYPE_NAMES.get(compiled.kind, compiled.kind)
        raise CelError(f"must evaluate to bool or the unknown type, not {found}")
    return compiled


def device_matches(expression: Expression, device: DeviceFacts) -> bool:
    """Whether a selector holds for a device; CelError when it cannot be said."""
    value, kind = _evaluate(expression, device)
    if isinstance(value, bool):
        return value
    name = _TYPE_NAMES.get(kind, kind)
    cause = _NOT_CONVERTED.get(name, f"type conversion error from '{name}' to 'bool'")
    raise CelError(f"CEL result of type {name} could not be converted to bool: {cause}")


def _evaluate(expression: Expression, device: DeviceFacts) -> tuple[object, str]:
    bound, domains = device.bound(), list[str]()
    while True:
        try:
            return expression.evaluate(bound)
        except NoSuchKeyError as error:
            # The key may be that of an attribute; then the expression fails for want of it once more.
            if device.has_domain(error.key) or error.key in domains or len(domains) == _DOMAINS_MAX:
                raise
            domains.append(error.key)
            bound = device.bound_with(domains)
