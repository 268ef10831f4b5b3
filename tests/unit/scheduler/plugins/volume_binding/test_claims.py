"""VolumeBinding looks at the pod's claims first."""

from typing import Any

import pytest

from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import SKIP, error
from schedlab.scheduler.plugins.volume_binding import ENTRY
from schedlab.testing.builders import make_node, make_pod
from tests.unit.scheduler.plugins.storage_bench import Raw, StorageBench, claim, storage_class, volume

POD = make_pod().claim("c")
EPHEMERAL = make_pod().set("spec.volumes", [{"name": "v", "ephemeral": {}}])
UNBOUND = "pod has unbound immediate PersistentVolumeClaims!"
FOREIGN = "PVC default/pod-v was not created for pod default/pod (pod is not owner)!"


def owned(uid: str) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": "Pod", "name": "pod", "uid": uid, "apiVersion": "v1", "controller": True}]}


@pytest.mark.parametrize(
    ("pod", "objects", "text"),
    [
        (make_pod(), [], "Skip"),
        (POD, [], 'persistentvolumeclaim "c" not found!'),
        (POD, [claim("c", namespace="elsewhere")], 'persistentvolumeclaim "c" not found!'),
        (
            POD,
            [claim("c", volume="v", status={"phase": "Lost"})],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"!',
        ),
        (
            POD,
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'persistentvolumeclaim "c" is being deleted!',
        ),
        (
            EPHEMERAL,
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-v"!',
        ),
        (EPHEMERAL, [claim("pod-v", metadata=owned("somebody"))], FOREIGN),
        (EPHEMERAL, [claim("pod-v", metadata=owned("uid-default/pod")), storage_class()], ""),
        (POD, [claim("c", None)], UNBOUND),
        (POD, [claim("c", "gone")], UNBOUND),
        (POD, [claim("c"), storage_class(mode="Immediate")], UNBOUND),
        (POD, [claim("c"), storage_class(mode=None)], 'VolumeBindingMode not set for StorageClass "wait"'),
        # Bound, but the controller is not done with it; and asked for by name, so not for the scheduler to choose.
        (POD, [claim("c", volume="v", metadata={"annotations": {}}), storage_class()], UNBOUND),
        (POD, [claim("c", volume="v")], ""),
        (POD, [claim("c"), storage_class()], ""),
        (POD.claim("d"), [claim("c"), claim("d", "now"), storage_class()], UNBOUND),
        (POD.claim("d"), [claim("c", "now"), storage_class()], 'persistentvolumeclaim "d" not found!'),
    ],
)
def test_what_is_wrong_with_a_claim_is_found_before_nodes_are(pod: Any, objects: list[Raw], text: str) -> None:
    assert StorageBench(ENTRY, make_node("a"), *objects).refused(pod) == text


def test_pods_without_claims_have_nothing_to_reserve_or_bind() -> None:
    bench, state, pod = StorageBench(ENTRY, make_node("a"), volume("v")), CycleState(), make_pod()
    plugin = bench.plugin

    assert bench.pre_filter(pod, state) == (None, SKIP)
    assert plugin.reserve(state, pod.obj(), "a") is None
    assert plugin.pre_bind_pre_flight(state, pod.obj(), "a") == SKIP
    assert plugin.pre_bind(state, pod.obj(), "a") is None
    assert plugin.pre_score(state, pod.obj(), bench.table, None) == SKIP
    assert plugin.score(state, pod.obj(), bench.table.infos[0]) == (0, None)
    plugin.unreserve(state, pod.obj(), "a")


def test_without_pre_filter_everything_else_is_an_error() -> None:
    bench, state, pod = StorageBench(ENTRY, make_node("a"), gates={"StorageCapacityScoring": True}), CycleState(), POD
    plugin, expected = bench.plugin, error("not found")

    assert bench.statuses(pod, state) == {"a": expected}
    assert plugin.reserve(state, pod.obj(), "a") == expected
    assert plugin.pre_bind_pre_flight(state, pod.obj(), "a") == expected
    assert plugin.pre_bind(state, pod.obj(), "a") == expected
    assert plugin.pre_score(state, pod.obj(), bench.table, None) == expected
    assert plugin.score(state, pod.obj(), bench.table.infos[0]) == (0, expected)
    plugin.unreserve(state, pod.obj(), "a")


def test_with_the_filter_disabled_nothing_is_bound() -> None:
    bench, state = StorageBench(ENTRY, make_node("a"), claim("c"), storage_class()), CycleState()
    bench.pre_filter(POD, state)

    assert bench.plugin.pre_bind_pre_flight(state, POD.obj(), "a") == error('no pod volume found for node "a"')
    assert bench.plugin.pre_bind(state, POD.obj(), "a") == error('no pod volume found for node "a"')
    assert bench.plugin.reserve(state, POD.obj(), "a") is None
    assert bench.plugin.pre_bind_pre_flight(state, POD.obj(), "a") == SKIP
