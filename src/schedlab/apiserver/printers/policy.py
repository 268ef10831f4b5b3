"""The columns of pod disruption budgets.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part


def _budget_cells(budget: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(budget, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return (
        name_of(budget),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        part(budget, "status").get("disruptionsAllowed", 0),
        age(budget, now_ns),
    )


POD_DISRUPTION_BUDGETS: Final = Printer(
    (
        NAME,
        Column("Min Available", description="The minimum number of pods that must be available."),
        Column("Max Unavailable", description="The maximum number of pods that may be unavailable."),
        Column(
            "Allowed Disruptions",
            "integer",
            description="Calculated number of pods that may be disrupted at this time.",
        ),
        AGE,
    ),
    _budget_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {"poddisruptionbudgets": POD_DISRUPTION_BUDGETS}
