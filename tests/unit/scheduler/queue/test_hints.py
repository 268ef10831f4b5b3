"""Queueing hints: who hears of what, and what the answers add up to."""

from collections.abc import Sequence

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from schedlab.scheduler.framework.types import PodInfo
from schedlab.scheduler.queue.cluster_events import event_label
from schedlab.scheduler.queue.hints import EXTENDER_NAME, PluginHint, Strategy, ask_hints, every_event, hint_map_of
from schedlab.scheduler.queue.queued_pod import QueuedPodInfo
from tests.unit.scheduler.queue.builders import NODE_ADD, NODE_LABEL, FakePlugin, Gate, hint_map, make_pod

NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
DEFAULT = FeatureGates.default()


def skip(pod: PodInfo, old: object, new: object) -> QueueingHint:
    return QueueingHint.SKIP


def queue(pod: PodInfo, old: object, new: object) -> QueueingHint:
    return QueueingHint.QUEUE


def broken(pod: PodInfo, old: object, new: object) -> QueueingHint:
    raise ValueError(f"cannot tell about {pod.name}: {old} {new}")


def test_matching_hints_come_in_order_of_registration() -> None:
    hints = hint_map(FakePlugin("A", (NODE_LABEL, NODE_ADD)), FakePlugin("B", (NODE_ADD,), skip))

    assert hints.matching(NODE_ADD) == (("A", None), ("B", skip))
    assert hints.matching(NODE_LABEL) == (("A", None),)
    assert hints.concerning(NODE_ADD, frozenset({"B", "C"})) == (("B", skip),)
    assert hints.actions() == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
    }


@pytest.mark.parametrize(
    ("events", "expected"),
    [((NODE_ADD,), True), ((NODE_LABEL,), False), ((NODE_ADD, NODE_TAINT), True), ((), False)],
)
def test_who_hears_of_new_nodes_hears_of_taints(events: Sequence[ClusterEvent], expected: bool) -> None:  # noqa: FBT001
    """Once, and without its hint unless it registered them itself."""
    found = hint_map(FakePlugin("A", events, skip)).matching(NODE_TAINT)

    assert found == ((("A", skip if NODE_TAINT in events else None),) if expected else ())


def test_plugin_without_a_list_hears_of_everything() -> None:
    class Silent:
        name = "Silent"

        def reserve(self) -> None: ...

    class Scorer:
        name = "Scorer"

        def score(self) -> None: ...

    hints = hint_map_of([Silent(), Scorer(), Gate("G", (NODE_LABEL,))], DEFAULT, has_extenders=True)

    assert [name for name, _ in hints.matching(NODE_LABEL)] == [EXTENDER_NAME, "Silent", "G"]
    assert hints.registered_by("Scorer") == ()
    assert EventResource.VOLUME_ATTACHMENT not in hints.actions()


def test_pod_groups_belong_to_everything_when_their_gate_is_on() -> None:
    on = DEFAULT.with_overrides({"GenericWorkload": True})

    labels = [{event_label(wanted.event) for wanted in every_event(gates)} for gates in (DEFAULT, on)]

    assert labels[1] - labels[0] == {"scheduling.k8s.io/PodGroupAll"}


def ask(
    *hints: PluginHint, pending: Sequence[str] = (), exhaustive: bool = False
) -> tuple[Strategy, list[tuple[str, str, str]]]:
    queued = QueuedPodInfo(make_pod("p"), 0)
    queued.set_rejectors([name for name, _ in hints], pending)
    strategy, answers = ask_hints(hints, queued, "old", "new", exhaustive=exhaustive)
    return strategy, [(answer.plugin, answer.hint, answer.error) for answer in answers]


@pytest.mark.parametrize(
    ("hints", "pending", "strategy"),
    [
        ([("A", skip)], (), Strategy.SKIP),
        ([("A", skip), ("B", queue)], (), Strategy.AFTER_BACKOFF),
        ([("A", None)], (), Strategy.AFTER_BACKOFF),
        ([("A", queue)], ("A",), Strategy.IMMEDIATELY),
        ([("A", queue), ("B", skip)], ("B",), Strategy.AFTER_BACKOFF),
        ([("A", queue), ("B", queue)], ("B",), Strategy.IMMEDIATELY),
        ([("B", queue), ("A", queue)], ("B",), Strategy.IMMEDIATELY),
        ([], (), Strategy.SKIP),
    ],
)
def test_best_answer_decides_and_pending_plugins_skip_backoff(
    hints: list[PluginHint], pending: Sequence[str], strategy: Strategy
) -> None:
    assert ask(*hints, pending=pending)[0] is strategy
    assert ask(*hints, pending=pending, exhaustive=True)[0] is strategy


def test_asking_stops_when_the_strategy_is_settled_unless_all_answers_are_wanted() -> None:
    hints = [("A", skip), ("B", queue), ("C", queue)]

    assert ask(*hints)[1] == [("A", "QueueSkip", ""), ("B", "Queue", "")]
    assert ask(*hints, exhaustive=True)[1] == [("A", "QueueSkip", ""), ("B", "Queue", ""), ("C", "Queue", "")]
    assert len(ask(*hints, pending=["C"])[1]) == 3


def test_hint_that_fails_means_queue() -> None:
    assert ask(("A", broken)) == (Strategy.AFTER_BACKOFF, [("A", "Queue", "cannot tell about p: old new")])
