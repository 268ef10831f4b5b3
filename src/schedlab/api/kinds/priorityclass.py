"""Priority classes.

Mirrors: pkg/registry/scheduling/priorityclass/strategy.go, pkg/apis/scheduling/{validation,v1}/*.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy, bump_generation
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.api.validation.common import one_of
from schedlab.apimachinery import field, names
from schedlab.apimachinery.field import ErrorList, Path

#: The highest value that a class of a user's may have.
HIGHEST_USER_VALUE: Final = 1_000_000_000
SYSTEM_PREFIX: Final = "system-"
SYSTEM_VALUES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}

_POLICIES: Final = ("Never", "PreemptLowerPriority")


def _default(priority: Object, _context: Context) -> None:
    priority.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _prepare(priority: Object, _context: Context) -> None:
    priority["metadata"]["generation"] = 1


def _validate(priority: Object, _context: Context) -> ErrorList:
    metadata, value = priority["metadata"], priority.get("value", 0)
    errors = meta.validate(metadata, names.name_is_dns_subdomain, namespaced=False)
    name = metadata.get("name", "")
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_class_error(priority):
            detail = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            )
            errors.append(field.forbidden(Path("metadata", "name"), detail))
    elif value > HIGHEST_USER_VALUE:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_VALUE}"
        errors.append(field.forbidden(Path("value"), detail))
    policy = priority.get("preemptionPolicy")
    if policy is not None:
        errors += one_of(policy, _POLICIES, Path("preemptionPolicy"))
    return errors


def _system_class_error(priority: Object) -> str:
    """Say how a class with a system name differs from the system's."""
    name = priority["metadata"]["name"]
    if name not in SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if priority.get("value", 0) != SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_VALUES[name]}"
    if priority.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def _prepare_update(new: Object, old: Object, _context: Context) -> None:
    bump_generation(new, old)


def _validate_update(new: Object, old: Object, _context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    if new.get("value", 0) != old.get("value", 0):
        errors.append(field.forbidden(Path("value"), "may not be changed in an update."))
    policy = Path("preemptionPolicy")
    return errors + meta.validate_immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), policy)


PRIORITY_CLASS: Final = Strategy(
    resource="priorityclasses.scheduling.k8s.io",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    default=_default,
    prepare=_prepare,
)
