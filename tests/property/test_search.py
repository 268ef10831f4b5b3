"""The search for feasible nodes equals a walk from node to node."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import NodeStatuses, Status, error, unresolvable, unschedulable
from schedlab.scheduler.runtime.filtering import FilterRun
from schedlab.testing.builders import make_node, make_pod, make_table

NODES_MAX = 230
TABLE = make_table(*(make_node(f"n{index}") for index in range(NODES_MAX)))
VERDICTS = (None, unschedulable("no"), unresolvable("never"), error("broken"))
POD = make_pod("p").obj()


class Drawn:
    """A filter whose verdict on row i is drawn."""

    def __init__(self, name: str, verdicts: list[int], *, array: bool) -> None:
        self.name = name
        self.verdicts = [VERDICTS[number] for number in verdicts]
        if array:
            self.filter_nodes = self._filter_nodes

    def filter(self, _state: object, _pod: object, node: Any) -> Status | None:
        verdict: Status | None = self.verdicts[node.row % len(self.verdicts)]
        return verdict

    def _filter_nodes(self, _state: object, _pod: object, table: Any, rows: slice) -> NodeStatuses:
        return NodeStatuses.of([self.filter(None, None, info) for info in table.infos[rows]])


class NoNominations:
    """Nobody is nominated."""

    def node_names(self) -> tuple[str, ...]:
        return ()


def walk(filters: list[Drawn], rows: list[int], wanted: int) -> tuple[list[int], list[int], dict[int, str], bool]:
    """Return visited rows, feasible rows, who turned down which row, and whether an error ended it."""
    visited: list[int] = []
    feasible: list[int] = []
    failed: dict[int, str] = {}
    for row in rows:
        visited.append(row)
        name, status = next(
            ((f.name, s) for f in filters if (s := f.filter(None, None, TABLE.infos[row])) is not None), ("", None)
        )
        if status is None:
            if len(feasible) == wanted:
                return visited, feasible, failed, False
            feasible.append(row)
        elif not status.rejected:
            return visited, feasible, failed, True
        else:
            failed[row] = name
    return visited, feasible, failed, False


drawn = st.lists(st.sampled_from((0, 0, 0, 0, 1, 2)), min_size=1, max_size=60)
with_errors = st.lists(st.sampled_from((0, 0, 0, 0, 0, 0, 1, 2, 3)), min_size=1, max_size=200)


@given(
    st.lists(st.tuples(drawn | with_errors, st.booleans()), min_size=1, max_size=3),
    st.integers(0, NODES_MAX - 1),
    st.integers(1, NODES_MAX),
    st.none() | st.lists(st.integers(0, NODES_MAX - 1), min_size=1, max_size=50, unique=True),
)
def test_search_equals_a_walk(
    verdicts: list[tuple[list[int], bool]], start: int, wanted: int, some: list[int] | None
) -> None:
    filters = [Drawn(f"F{index}", numbers, array=array) for index, (numbers, array) in enumerate(verdicts)]
    run = FilterRun(filters, lambda *_: None, CycleState(), POD, TABLE, NoNominations())  # type: ignore[arg-type]
    if some is None:
        order = [(start + step) % NODES_MAX for step in range(NODES_MAX)]
        search = run.search(wanted, start)
    else:
        offset = start % len(some)
        order = [*some[offset:], *some[:offset]]
        search = run.search_rows(np.array(some, np.int64), wanted, start)

    visited, feasible, failed, ended = walk(filters, order, wanted)

    assert search.rows.tolist() == visited
    assert (search.error is not None) is ended
    assert search.feasible.tolist() == feasible
    names = {
        row: run.names[plugin]
        for row, plugin, code in zip(
            search.rows.tolist(), search.verdicts.plugin.tolist(), search.verdicts.code.tolist(), strict=True
        )
        if code in {2, 3}
    }
    assert names == failed
