"""The cache of any earlier moment can be made again, whatever happened since, and pods are counted alike at rest."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis.stateful import rule

from schedlab.apimachinery.selectors import everything
from schedlab.kernel.steps import finish
from schedlab.scheduler.cache.journal import CacheJournal
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


class JournalMachine(CacheMachine):
    """Takes pictures after refreshes and compares them with what the journal gives for those moments."""

    def __init__(self) -> None:
        super().__init__()
        # All states of pods are kept of the newest operations alone.
        self.journal = CacheJournal(
            lambda: self.journal.position, lambda: self.journal.position - 20, stride=7, copies_max=4
        )
        self.journal.begin(self.cache, 0)
        self.pictures: dict[int, dict[str, Any]] = {}

    @rule()
    def take_picture(self) -> None:
        self.cache.refresh()
        self.pictures[self.journal.position] = picture(self.cache.table)

    @rule()
    def go_back(self) -> None:
        before = picture(self.cache.table) if all(info.row >= 0 for info in self.cache.table.infos) else None
        for position, expected in self.pictures.items():
            cache = self.journal.cache_at(position)
            cache.refresh()

            assert picture(cache.table) == expected
            counted = PodIndex.of(cache.table.copy(with_columns=False)).per_node(ALL_PODS).tolist()
            cache.table.past = self.journal.pods_at(position)(cache.table)
            assert PodIndex.of(cache.table).per_node(ALL_PODS).tolist() == counted == expected["pod_count"]

            in_numbers = finish(self.journal.making(position, numbers_only=True))
            in_numbers.refresh()
            in_numbers.table.take_labels(self.cache.table)
            assert picture(in_numbers.table) == expected
        if before is not None:
            assert picture(self.cache.table) == before, "going back changes nothing"

    def teardown(self) -> None:
        self.go_back()


TestJournalMachine = JournalMachine.TestCase
TestJournalMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
