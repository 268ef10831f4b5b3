"""The node table of any earlier moment can be had again, whatever happened since."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis.stateful import rule

from schedlab.apimachinery.selectors import everything
from schedlab.decisions.journal import TableJournal
from schedlab.scheduler.framework.node_table import NodeTable
from schedlab.scheduler.framework.pod_index import PodIndex, PodQuery, PodTerm
from tests.property.test_cache_machine import CacheMachine

ALL_PODS = PodQuery((PodTerm(None, everything()),))
ATTRIBUTES = ("non_zero_requested", "allowed_pods", "pod_count", "unschedulable")


def picture(table: NodeTable) -> dict[str, Any]:
    """Everything of a table that numbers are made of, by value."""
    amounts = {
        name: (table.allocatable[index].tolist(), table.requested[index].tolist())
        for index, name in enumerate(table.resource_names)
        if table.allocatable[index].any() or table.requested[index].any()
    }
    sizes = table.label("size")
    return {
        "names": list(table.names),
        "nodes": [info.node for info in table.infos],
        "rows": [info.row for info in table.infos],
        "images": [dict(info.image_states) for info in table.infos],
        "pods": [sorted((pod.uid, tuple(pod.labels.items())) for pod in info.pods) for info in table.infos],
        "ports": [sorted(info.used_ports.used()) for info in table.infos],
        "amounts": amounts,
        "sizes": [sizes.values.values()[place] for place in sizes.ids.tolist()],
        **{attribute: getattr(table, attribute).tolist() for attribute in ATTRIBUTES},
    }


def check_nodes(journal: TableJournal, moment: int, table: NodeTable) -> None:
    """Each node had alone is the one in the whole table."""
    for info in table.infos:
        alone = journal.node_at(info.name, moment)
        assert (alone.name, alone.row, alone.node) == (info.name, info.row, info.node)
        assert sorted((pod.uid, *pod.labels.items()) for pod in alone.pods) == sorted(
            (pod.uid, *pod.labels.items()) for pod in info.pods
        )
        assert alone.requested == info.requested
        assert dict(alone.image_states) == dict(info.image_states)
        assert sorted(alone.used_ports.used()) == sorted(info.used_ports.used())


class JournalMachine(CacheMachine):
    """Takes pictures after refreshes and compares them with what the journal gives for those moments."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = TableJournal.of(self.cache.table)
        PodIndex.of(self.cache.table).per_node(ALL_PODS)
        self.pictures: dict[int, dict[str, Any]] = {}

    @rule()
    def take_picture(self) -> None:
        self.cache.refresh()
        self.pictures[self.journal.now] = picture(self.cache.table)

    @rule()
    def go_back(self) -> None:
        before = picture(self.cache.table) if all(info.row >= 0 for info in self.cache.table.infos) else None
        for moment, expected in self.pictures.items():
            table = self.journal.table_at(moment)

            assert table is not None
            assert picture(table) == expected
            if self.journal.nodes_are_those_of(moment):
                check_nodes(self.journal, moment, table)
            assert PodIndex.of(table).per_node(ALL_PODS).tolist() == expected["pod_count"], "columns go along"
        if before is not None:
            assert picture(self.cache.table) == before, "going back changes nothing"

    def teardown(self) -> None:
        self.go_back()


TestJournalMachine = JournalMachine.TestCase
TestJournalMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
