"""PrioritySort."""

from dataclasses import dataclass

from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.plugins.priority_sort import ENTRY
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench


@dataclass
class Queued:
    pod: PodInfo
    timestamp_ns: int


def test_higher_priority_first_then_who_entered_earlier() -> None:
    """A pod without a priority has priority 0."""
    pods = [
        Queued(make_pod("low-late").priority(-1).obj(), 1),
        Queued(make_pod("none").obj(), 3),
        Queued(make_pod("zero-early").priority(0).obj(), 2),
        Queued(make_pod("high").priority(7).obj(), 9),
    ]

    pods.sort(key=PluginBench(ENTRY).plugin.sort_key)

    assert [queued.pod.name for queued in pods] == ["high", "zero-early", "none", "low-late"]
