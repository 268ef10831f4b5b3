"""Every score says the same of all nodes at once as of each node alone."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, Status, code_of
from schedlab.scheduler.plugins.registry import IN_TREE
from tests.property.clusters import Bench, Draw, benches


@given(bench=benches(), data=st.data())
def test_score_nodes_equals_score(bench: Bench, data: st.DataObject) -> None:
    """Of any rows in any order, and still after the cluster changed."""
    for plugin in with_array_form(bench):
        check(plugin, bench, data.draw)
    bench.change(data.draw)
    for plugin in with_array_form(bench):
        check(plugin, bench, data.draw)


def with_array_form(bench: Bench) -> list[Any]:
    """Every registered plugin that has both forms: a new one is covered the day it is registered."""
    plugins = [bench.framework.plugin(name) for name in IN_TREE]
    return [plugin for plugin in plugins if hasattr(plugin, "score_nodes")]


def check(plugin: Any, bench: Bench, draw: Draw) -> None:
    table, state = bench.scheduler.cache.table, CycleState()
    chosen = draw(st.permutations(range(len(table))))[: draw(st.integers(1, len(table)))]
    rows = np.array(chosen, np.int64)
    if hasattr(plugin, "pre_filter") and code_of(plugin.pre_filter(state, bench.pod, table)[1]) not in (
        Code.SUCCESS,
        Code.SKIP,
    ):
        return
    if hasattr(plugin, "pre_score") and plugin.pre_score(state, bench.pod, table, rows) is not None:
        return
    one_by_one = [plugin.score(state, bench.pod, table.infos[row]) for row in rows]

    at_once = plugin.score_nodes(state, bench.pod, table, rows)

    if isinstance(at_once, Status):
        assert all(status is not None and status.message == at_once.message for _, status in one_by_one), plugin.name
    else:
        assert at_once.dtype == np.int64, plugin.name
        assert one_by_one == [(score, None) for score in at_once.tolist()], plugin.name
