"""What the printers of several API groups share.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.table import AGE, NAME, NONE, UNSET, Cell, Column, Object, Printer, age, name_of

CONTAINERS: Final = Column("Containers", description="Names of each container in the template.", priority=1)
IMAGES: Final = Column("Images", description="Images referenced by each container in the template.", priority=1)


def shows(name: str, kind: str, field: str, column_type: str = "string", priority: int = 0) -> Column:
    """Return a column that is described by a field of a built-in type: `apps.v1.DeploymentStatus`."""
    return Column(name, column_type, field=(f"io.k8s.api.{kind}", field), priority=priority)


def part(obj: Object, *keys: str) -> Mapping[str, Any]:
    """Return an object inside of an object; an absent one is empty."""
    for key in keys:
        obj = obj.get(key) or {}
    return obj


def pod_spec(obj: Object) -> Mapping[str, Any]:
    """Return the spec of a workload's pod template."""
    return part(obj, "spec", "template", "spec")


def container_cells(spec: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names and the images of a pod's containers."""
    containers: Sequence[Mapping[str, Any]] = spec.get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def labels_text(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def has_true_condition(obj: Object, condition_type: str) -> bool:
    """Whether the first condition of a type is True."""
    for condition in part(obj, "status").get("conditions") or ():
        if condition.get("type") == condition_type:
            return bool(condition.get("status") == "True")
    return False


def with_more(items: Iterable[str], shown_max: int = 3) -> str:
    """Join the first few items and tell how many are left out."""
    listed = list(items)
    text = ",".join(listed[:shown_max])
    if len(listed) > shown_max:
        return f"{text} + {len(listed) - shown_max} more..."
    return text or UNSET


def _name_and_age_cells(obj: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(obj), age(obj, now_ns)


#: Kinds that show nothing of their own.
NAME_AND_AGE: Final = Printer((NAME, AGE), _name_and_age_cells)
