"""What has become of a pod is said of it, not of another one that had its name."""

from __future__ import annotations

from schedlab.api.views.core import Pod, PodSpec
from schedlab.api.views.meta import ObjectMeta
from schedlab.decisions.fate import fate
from schedlab.decisions.log import Move, PodStory, Preempted

PREEMPTED = Preempted("default/urgent", 1, "node-1", 1_000)


def story(uid: str, began_ns: int) -> PodStory:
    return PodStory(uid, "default", "db-0", moves=(Move(began_ns, "active", "UnschedulablePodAdd", (), None),))


def pod(uid: str) -> Pod:
    return Pod(metadata=ObjectMeta(name="db-0", namespace="default", uid=uid), spec=PodSpec(node_name="node-2"))


def test_a_pod_that_had_to_go_is_gone_and_it_is_said_for_whom() -> None:
    found = fate(story("first", 500), None, PREEMPTED)

    assert found["text"] == "The pod has been deleted: preempted for pod default/urgent (attempt 1) on node-1."
    assert found["preemptedBy"]["pod"] == "default/urgent"


def test_a_pod_that_came_after_it_has_nothing_to_do_with_it() -> None:
    found = fate(story("second", 2_000), pod("second"), PREEMPTED)

    assert found == {"state": "bound", "text": ""}


def test_the_earlier_pod_had_to_go_although_another_one_has_its_name() -> None:
    found = fate(story("first", 500), pod("second"), PREEMPTED)

    assert found["text"].endswith("on node-1. Another pod has its name now.")
