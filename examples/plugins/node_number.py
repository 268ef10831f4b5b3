"""NodeNumber: prefers the nodes whose name ends with the same digit as the pod's.

    schedlab up --nodes 5 --plugin examples/plugins/node_number.py:NodeNumber

A pod `web-3` gives 10 to `node-3` and 0 to the others; with `reverse` it is the other way round. Names that end with
something else than a digit get 0. docs/guides/write-a-plugin.md writes it step by step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedlab.scheduler.framework import CycleState, NodeInfo, NodeTable, PodInfo, Status

MATCH_SCORE = 10


class NodeNumber:
    """Scores 10 when the last digits of pod and node match."""

    name = "NodeNumber"

    @dataclass
    class Args:
        """`reverse` prefers the nodes whose digit is another one."""

        reverse: bool = False

    def __init__(self, args: Args) -> None:
        self._reverse = args.reverse

    def pre_score(self, state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]) -> Status | None:
        """Keep the digit of the pod."""
        state.write(self.name, last_digit(pod.name))
        return None

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        """Compare it with the node's."""
        mine, theirs = state.read(self.name), last_digit(node.name)
        if mine is None or theirs is None:
            return 0, None
        return MATCH_SCORE if (mine == theirs) != self._reverse else 0, None


def last_digit(name: str) -> int | None:
    """Return the digit at the end of a name, if there is one."""
    return int(name[-1]) if name[-1:].isdecimal() else None
