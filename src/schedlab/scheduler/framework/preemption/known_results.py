"""What dry runs came to on the nodes of a table, kept until a node or its pods change.

Preemptors that were made alike look at the same nodes again and again, and few nodes change in between.

Differs: upstream tries every node anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.pod_facts import PodFacts
    from schedlab.scheduler.framework.preemption.dry_run import Result
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_KEY: Final = "known-results"
_KINDS_MAX: Final = 4


class KnownResults:
    """Results by node name, of the kinds of preemptors that came last. A Column."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        # By the facts of preemptors and the filters that skip them.
        self._kinds: dict[tuple[PodFacts, frozenset[str]], dict[str, Result]] = {}

    @classmethod
    def of(cls, table: NodeTable) -> KnownResults:
        """Return the column of a table."""
        return table.column(_KEY, lambda: cls(table))

    def for_pods(self, facts: PodFacts, skip: frozenset[str]) -> dict[str, Result]:
        """Return what is known for preemptors with these facts when filters of the names `skip` do not run; whoever finds
        out more may add it.
        """
        kind = facts, skip
        found = self._kinds.pop(kind, None)
        self._kinds[kind] = found = {} if found is None else found
        if len(self._kinds) > _KINDS_MAX:
            del self._kinds[next(iter(self._kinds))]
        return found

    def _forget(self, name: str) -> None:
        for known in self._kinds.values():
            known.pop(name, None)

    # --- Column ---

    def reorder(self, old_rows: NDArray[np.int64]) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._kinds.clear()

    def set_node(self, row: int, info: NodeInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._forget(info.name)

    def add_pod(self, row: int, pod: PodInfo) -> None:  # noqa: ARG002 - see Column
        """See Column."""
        self._forget(self._table.names[row])

    remove_pod = add_pod
