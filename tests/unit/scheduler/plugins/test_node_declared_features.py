"""NodeDeclaredFeatures."""

import pytest

from schedlab.scheduler.framework.events import ActionType, EventResource
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, error
from schedlab.scheduler.plugins.node_declared_features import ENTRY, REASON_UNSATISFIED
from schedlab.testing.builders import NodeBuilder, make_node, make_pod
from tests.unit.scheduler.plugins.plugin_bench import PluginBench

FEATURE = "RestartAllContainersOnContainerExits"
POD = make_pod()
NEEDY = POD.container(restartPolicyRules=[{"action": "RestartAllContainers"}])
WITH, WITHOUT = make_node("with").declared_features("Aaa", FEATURE), make_node("without").declared_features("Aaa")
OFF = dict.fromkeys(
    (
        "NodeDeclaredFeatures",
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        FEATURE,
    ),
    False,
)


def test_pod_needs_a_node_that_declares_its_features() -> None:
    bench = PluginBench(ENTRY, WITH, WITHOUT)

    assert bench.filter(NEEDY) == {"with": "", "without": f"{REASON_UNSATISFIED}!"}
    assert bench.pre_filter(POD) == (None, SKIP)


def test_declarations_are_followed_as_nodes_change() -> None:
    bench = PluginBench(ENTRY, WITH, WITHOUT)
    assert bench.filter(NEEDY)["without"]
    info = bench.table.infos[1]

    info.set_node(WITHOUT.declared_features(FEATURE).view())
    bench.table.set_node(info)

    assert bench.filter(NEEDY) == {"with": "", "without": ""}
    bench.table.reorder([info])
    assert bench.filter(NEEDY) == {"without": ""}


def test_without_its_gate_the_plugin_does_nothing() -> None:
    bench = PluginBench(ENTRY, WITHOUT, gates=OFF)

    assert bench.pre_filter(NEEDY) == (None, SKIP)
    assert bench.statuses(NEEDY, CycleState()) == {"without": None}
    assert bench.plugin.events_to_register() == ()


def test_filter_without_pre_filter_is_an_error() -> None:
    expected = error('error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found')

    assert PluginBench(ENTRY, WITH).statuses(NEEDY, CycleState()) == {"with": expected}


@pytest.mark.parametrize(
    ("old", "new", "hint"), [(None, WITH, "queue"), (WITHOUT, WITH, "queue"), (WITH, WITH, "skip")]
)
def test_node_that_declares_other_features_queues_the_pod(old: NodeBuilder | None, new: NodeBuilder, hint: str) -> None:
    before = old.view() if old is not None else None
    event = (EventResource.NODE, ActionType.UPDATE_NODE_DECLARED_FEATURE)

    assert PluginBench(ENTRY).hint(*event, NEEDY, before, new.view()) == hint


def test_own_change_of_needs_queues_the_pod() -> None:
    bench, update = PluginBench(ENTRY), (EventResource.POD, ActionType.UPDATE)

    assert bench.hint(*update, NEEDY, NEEDY.view(), POD.view()) == "queue"
    assert bench.hint(*update, NEEDY, NEEDY.view(), NEEDY.view()) == "skip"
    assert bench.hint(*update, NEEDY, NEEDY.view(), POD.name("other").view()) == "skip"
    assert bench.signature(NEEDY) != bench.signature(POD)
