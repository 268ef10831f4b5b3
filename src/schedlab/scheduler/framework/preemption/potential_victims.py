"""The pods of a node that a preemptor outranks, the most important first, kept until the node's pods change.

Dry runs look at the same nodes again and again, and few nodes change in between.

Differs: upstream sorts the pods of each node anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from schedlab.scheduler.framework.preemption.importance import most_important_first

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_KEY: Final = "potential-victims"


@dataclass(frozen=True, slots=True)
class Ranked:
    """The pods of a node below a priority, in order.

    Whoever has not started is as young as whoever starts now; the order `is_lasting` unless somebody starts later.
    """

    priority: int
    pods: tuple[PodInfo, ...]
    is_lasting: bool


class PotentialVictims:
    """Of each node what was asked for last. A Column."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._known: dict[str, Ranked] = {}

    @classmethod
    def of(cls, table: NodeTable) -> PotentialVictims:
        """Return the column of a table."""
        return table.column(_KEY, lambda: cls(table))

    def below(self, priority: int, node: NodeInfo, now_ns: int) -> Ranked:
        """Return the pods of a node of the table that have a lower priority."""
        found = self._known.get(node.name)
        if found is None or found.priority != priority:
            pods = most_important_first([pod for pod in node.pods if pod.priority < priority], now_ns)
            found = Ranked(priority, tuple(pods), all((pod.started_ns or 0) <= now_ns for pod in pods))
            if found.is_lasting:
                self._known[node.name] = found
        return found

    # --- Column ---

    def reorder(self, old_rows: NDArray[np.int64]) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        row_of = self._table.row_of
        self._known = {name: ranked for name, ranked in self._known.items() if name in row_of}

    def set_node(self, row: int, info: NodeInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._known.pop(info.name, None)

    def add_pod(self, row: int, pod: PodInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._known.pop(self._table.names[row], None)

    remove_pod = add_pod
