"""What plugins may say of themselves so as to be asked less: a wrong claim is a wrong decision.

`helpers.claims.says` asks; `schedlab.testing.check_plugin` finds claims that are wrong.

Mirrors: nothing; upstream asks every plugin about every pod and node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from schedlab.scheduler.framework.interface import Plugin, PreBindPlugin, ReservePlugin

if TYPE_CHECKING:
    from schedlab.scheduler.framework.interface import CycleState
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import PodInfo


class RowLocalPlugin(Plugin, Protocol):
    """A plugin with array forms whose verdicts and raw scores are kept for the next pods that are made alike."""

    def is_row_local(self, pod: PodInfo) -> bool:
        """Whether filter and score of a node depend on nothing but the pod's facts and the node's row, for such pods.

        The row is the NodeInfo and what the table and its columns have in that row; it is asked about again when
        `NodeTable.generation` of the row has grown or rows have moved. Other pods, other nodes, other objects of the
        cluster and the time must not count, nor anything of the pod that is not in its facts: its name, labels,
        annotations or priority.

        An attribute `is_of_amounts = True` says more: of the node nothing counts but `NodeInfo.amounts()`, so that what
        was said of one node holds for all with the same amounts.
        """


class TellingPlugin(Plugin, Protocol):
    """A filter with an array form whose verdicts are kept for the next pods that are made alike.

    Other than those of a row-local one they may depend on all of the cluster, because it tells when they change.
    """

    def changed_verdicts(
        self, state: CycleState, pod: PodInfo, table: NodeTable, since: object | None
    ) -> tuple[object, Sequence[int] | None]:
        """Return a mark of now, and rows that have all whose verdict differs from that at the mark `since`.

        It is asked after pre_filter, for pods with the same facts. None stands for all rows; there is no mark the first
        time.
        """


class PodLocalPlugin(Plugin, Protocol):
    """A plugin whose pre_filter and pre_score are asked once for pods that are made alike."""

    def is_pod_local(self, pod: PodInfo) -> bool:
        """Whether pre_filter and pre_score depend on nothing but the pod's facts, for such pods.

        What they write into the state is then shared by all these pods, and must not be changed afterwards.

        Of other pods a method `skips(pod, table)` may say that both would skip them now, whatever nodes are feasible.
        """


class ReserveLessPlugin(ReservePlugin, Protocol):
    """A plugin that has nothing to keep account of for some pods."""

    def reserves_nothing(self, pod: PodInfo) -> bool:
        """Whether reserve does nothing but succeed for pods with the same facts; then it is not asked about them."""


class PreBindLessPlugin(PreBindPlugin, Protocol):
    """A plugin that has no work before the binding of some pods."""

    def pre_binds_nothing(self, pod: PodInfo) -> bool:
        """Whether pre_bind_pre_flight skips all pods with the same facts; then it is not asked about them."""
