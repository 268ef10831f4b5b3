"""Every filter says the same of all nodes at once as of each node alone."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import code_of
from schedlab.scheduler.plugins.registry import IN_TREE
from tests.property.clusters import Bench, Draw, benches


@given(bench=benches(), data=st.data())
def test_filter_nodes_equals_filter(bench: Bench, data: st.DataObject) -> None:
    """On any slice of rows, and still after the cluster changed."""
    for plugin in with_array_form(bench):
        check(plugin, bench, data.draw)
    bench.change(data.draw)
    for plugin in with_array_form(bench):
        check(plugin, bench, data.draw)


def with_array_form(bench: Bench) -> list[Any]:
    """Every registered plugin that has both forms: a new one is covered the day it is registered."""
    plugins = [bench.framework.plugin(name) for name in IN_TREE]
    return [plugin for plugin in plugins if hasattr(plugin, "filter_nodes")]


def check(plugin: Any, bench: Bench, draw: Draw) -> None:
    table, state = bench.scheduler.cache.table, CycleState()
    if hasattr(plugin, "pre_filter"):
        _, status = plugin.pre_filter(state, bench.pod, table)
        if status is not None:
            return
    first = draw(st.integers(0, len(table)))
    last = draw(st.integers(first, len(table)))

    at_once = plugin.filter_nodes(state, bench.pod, table, slice(first, last))

    assert len(at_once.code) == len(at_once.reason) == last - first
    for index, info in enumerate(table.infos[first:last]):
        expected, found = plugin.filter(state, bench.pod, info), at_once.status(index)
        assert code_of(expected) == code_of(found), (plugin.name, info.name)
        assert (expected and expected.message) == (found and found.message), (plugin.name, info.name)
