"""What plugins say of their verdicts and scores in numbers comes to the verdicts and scores themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedlab.decisions.combinations import combinations
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code, Status, code_of
from schedlab.scheduler.plugins.registry import IN_TREE
from tests.property.clusters import Bench, Draw, benches
from tests.support import plain_facts
from tests.support.plain_facts import host_ports
from tests.support.plain_manifests import HostPort, Sight


def plugins_with(bench: Bench, method: str) -> list[Any]:
    """Every registered plugin that has the method: a new one is covered the day it is registered."""
    plugins = [bench.framework.plugin(name) for name in IN_TREE]
    return [plugin for plugin in plugins if hasattr(plugin, method)]


@given(bench=benches())
def test_every_filter_and_score_is_explained(bench: Bench) -> None:
    for plugin in plugins_with(bench, "filter"):
        assert hasattr(plugin, "explain_filter"), plugin.name
    for plugin in plugins_with(bench, "score"):
        assert hasattr(plugin, "explain_score"), plugin.name
        assert hasattr(plugin, "explain_normalized") == hasattr(plugin, "normalize_score"), plugin.name


@given(bench=benches(), data=st.data())
def test_a_node_fits_when_every_fact_does(bench: Bench, data: st.DataObject) -> None:
    for plugin in plugins_with(bench, "explain_filter"):
        check_filter(plugin, bench)
    bench.change(data.draw)
    for plugin in plugins_with(bench, "explain_filter"):
        check_filter(plugin, bench)


def check_filter(plugin: Any, bench: Bench) -> None:
    table, state = bench.scheduler.cache.table, CycleState()
    if hasattr(plugin, "pre_filter") and plugin.pre_filter(state, bench.pod, table)[1] is not None:
        return
    for info in table.infos:
        facts = plugin.explain_filter(state, bench.pod, info)

        verdict = plugin.filter(state, bench.pod, info)
        assert all(fact.fits for fact in facts) == (code_of(verdict) == Code.SUCCESS), (plugin.name, info.name, facts)


@given(bench=benches(), data=st.data())
def test_every_number_and_name_of_a_fact_is_true(bench: Bench, data: st.DataObject) -> None:
    """Worked out again from the manifests alone."""
    check_facts(bench, {})
    before = ports_of_pods(bench)
    bench.change(data.draw)
    after = ports_of_pods(bench)
    returned = {
        node: {port for name in pods.keys() - after[node].keys() for port in pods[name]}
        - {*after[node].get("later", ())}
        for node, pods in before.items()
    }
    check_facts(bench, returned)


def ports_of_pods(bench: Bench) -> dict[str, dict[str, list[HostPort]]]:
    """Return the host ports of every pod on every node."""
    infos = bench.scheduler.cache.table.infos
    return {info.name: {pod.name: host_ports(msgspec.to_builtins(pod.pod)) for pod in info.pods} for info in infos}


def check_facts(bench: Bench, returned: Mapping[str, set[HostPort]]) -> None:
    table = bench.scheduler.cache.table
    nodes = [msgspec.to_builtins(info.node) for info in table.infos]
    pods = {info.name: [msgspec.to_builtins(pod.pod) for pod in info.pods] for info in table.infos}
    sight = Sight(msgspec.to_builtins(bench.pod.pod), nodes, pods, returned=returned)
    for plugin in plugins_with(bench, "explain_filter"):
        state = CycleState()
        if hasattr(plugin, "pre_filter") and plugin.pre_filter(state, bench.pod, table)[1] is not None:
            continue
        for info, node in zip(table.infos, nodes, strict=True):
            facts = plugin.explain_filter(state, bench.pod, info)
            told = [{"text": fact.text, "fits": fact.fits, **fact.values} for fact in facts]
            plain_facts.check(sight, node, plugin.name, told)


@given(bench=benches(), data=st.data())
def test_formulas_come_to_the_scores(bench: Bench, data: st.DataObject) -> None:
    for plugin in plugins_with(bench, "explain_score"):
        check_score(plugin, bench, data.draw)
    bench.change(data.draw)
    for plugin in plugins_with(bench, "explain_score"):
        check_score(plugin, bench, data.draw)


def check_score(plugin: Any, bench: Bench, draw: Draw) -> None:
    table, state, pod = bench.scheduler.cache.table, CycleState(), bench.pod
    chosen = draw(st.permutations(range(len(table))))[: draw(st.integers(1, len(table)))]
    rows = np.array(chosen, np.int64)
    if hasattr(plugin, "pre_filter") and code_of(plugin.pre_filter(state, pod, table)[1]) not in (
        Code.SUCCESS,
        Code.SKIP,
    ):
        return
    if hasattr(plugin, "pre_score") and plugin.pre_score(state, pod, table, rows) is not None:
        return
    raw = plugin.score_nodes(state, pod, table, rows) if hasattr(plugin, "score_nodes") else scores(plugin, bench, rows)
    if isinstance(raw, Status):
        return

    formulas = [plugin.explain_score(state, pod, table.infos[row]) for row in chosen]

    assert [formula.value for formula in formulas] == raw.tolist(), (plugin.name, formulas)
    if hasattr(plugin, "explain_scores"):
        assert plugin.explain_scores(state, pod, table, rows) == formulas, plugin.name
    if hasattr(plugin, "normalize_score"):
        steps = [plugin.explain_normalized(state, pod, rows, raw.copy(), at) for at in range(len(rows))]
        normalized = raw.copy()
        plugin.normalize_score(state, pod, rows, normalized)
        assert [step.value for step in steps] == normalized.tolist(), (plugin.name, steps)


def scores(plugin: Any, bench: Bench, rows: Any) -> Any:
    state, table = CycleState(), bench.scheduler.cache.table
    return np.array([plugin.score(state, bench.pod, table.infos[row])[0] for row in rows], np.int64)


@given(bench=benches(), data=st.data())
def test_nodes_that_look_alike_to_a_plugin_are_explained_alike(bench: Bench, data: st.DataObject) -> None:
    for plugin in plugins_with(bench, "name"):
        check_alike(plugin, bench)
    bench.change(data.draw)
    for plugin in plugins_with(bench, "name"):
        check_alike(plugin, bench)


def check_alike(plugin: Any, bench: Bench) -> None:
    table, state, pod = bench.scheduler.cache.table, CycleState(), bench.pod
    filtered = plugin.pre_filter(state, pod, table)[1] if hasattr(plugin, "pre_filter") else None
    if filtered is None and hasattr(plugin, "explain_filter_by"):
        numbers, first = combinations(plugin.explain_filter_by(state, pod, table), len(table))
        for info in table.infos:
            like = table.infos[first[numbers[info.row]]]
            assert plugin.explain_filter(state, pod, info) == plugin.explain_filter(state, pod, like), plugin.name
    if code_of(filtered) not in (Code.SUCCESS, Code.SKIP) or not hasattr(plugin, "explain_score_by"):
        return
    if hasattr(plugin, "pre_score") and plugin.pre_score(state, pod, table, np.arange(len(table))) is not None:
        return
    numbers, _ = combinations(plugin.explain_score_by(state, pod, table), len(table))
    told: dict[tuple[int, int], Any] = {}
    for info in table.infos:
        formula = plugin.explain_score(state, pod, info)
        assert told.setdefault((int(numbers[info.row]), formula.value), formula) == formula, plugin.name
