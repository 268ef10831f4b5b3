"""The columns of priority classes.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, Cell, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import shows


def _priority_class_cells(priority_class: Object, now_ns: int) -> Sequence[Cell]:
    return (
        name_of(priority_class),
        priority_class.get("value", 0),
        bool(priority_class.get("globalDefault")),
        age(priority_class, now_ns),
        priority_class.get("preemptionPolicy") or "",
    )


PRIORITY_CLASSES: Final = Printer(
    (
        NAME,
        shows("Value", "scheduling.v1.PriorityClass", "value", "integer"),
        shows("Global-Default", "scheduling.v1.PriorityClass", "globalDefault", "boolean"),
        AGE,
        shows("PreemptionPolicy", "scheduling.v1.PriorityClass", "preemptionPolicy"),
    ),
    _priority_class_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {"priorityclasses": PRIORITY_CLASSES}
