"""The span log tells the whole way of a pod, in order, and is bounded."""

from __future__ import annotations

from schedlab.api.object import StoredObject
from schedlab.apimachinery.user import User
from schedlab.decisions.spans import SPANS_OF_POD_MAX, SpanLog, as_json
from schedlab.kernel.clock import VirtualClock
from schedlab.kubelet.life.plan import PREFIX
from schedlab.registry import WriteOptions
from tests.support.lab import Lab

FULL = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]}


def way(lab: Lab, name: str) -> list[tuple[float, str, str]]:
    told = lab.cluster.trace("default", name)
    assert told is not None
    return [(each["afterSeconds"], each["step"], each["text"]) for each in told["spans"]]


def test_way_of_a_pod_is_told_from_its_request_until_it_runs() -> None:
    lab = Lab(nodes=1)
    pod = {"metadata": {"name": "p"}, "spec": FULL}
    options = WriteOptions(user_agent="kubectl/v1.36.2", user=User(name="alice"))
    lab.registry.create("pods", lab.registry.decode("pods", pod), "default", options)
    lab.run(0)

    assert way(lab, "p") == [
        (0, "request", "create by kubectl/v1.36.2 (alice)"),
        (0, "admission", "priority 0; scheduler default-scheduler; class Burstable; account default"),
        (0, "queue", "to active: UnschedulablePodAdd"),
        (0, "queue", "to inFlight: Pop"),
        (0, "cycle", "attempt 1: 1 of 1 nodes fit, node-0 chosen"),
        (0, "bind", "attempt 1: to node-0"),
        (0, "kubelet", "admitted on node-0, resources reserved"),
        (0, "Running", "was Pending"),
    ]


def test_names_of_browsers_are_told_whole_and_longer_ones_say_that_they_are_cut() -> None:
    lab = Lab(nodes=1)
    browser = (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/150.0.0.0 Safari/537.36"
    )
    for name, agent in (("p", browser), ("q", "x" * 1000)):
        pod = lab.registry.decode("pods", {"metadata": {"name": name}, "spec": FULL})
        lab.registry.create("pods", pod, "default", WriteOptions(user_agent=agent))

    assert way(lab, "p")[0][2] == f"create by {browser}"
    assert way(lab, "q")[0][2].endswith("xx…")


def test_every_requeue_says_why_and_every_cycle_is_one_line() -> None:
    lab = Lab(nodes=1)
    lab.pod("first", annotations={f"{PREFIX}run-time": "5s"}, spec={**FULL, "restartPolicy": "Never"})
    lab.pod("second", spec=FULL)
    lab.run(6)
    told = way(lab, "second")

    cycles = [text for _, step, text in told if step == "cycle"]
    assert cycles[0].startswith("attempt 1: Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")
    assert cycles[1] == "attempt 2: 1 of 1 nodes fit, node-0 chosen"
    assert (5, "queue", "to active: AssignedPodDelete (NodeResourcesFit says Queue)") in told
    first = way(lab, "first")
    assert (0, "kubelet", "Started: Container started (c)") in first
    assert first[-1] == (5, "Succeeded", "was Running")


def test_stages_changes_and_deletions_are_told() -> None:
    lab = Lab("general", nodes=1)
    lab.pod("p")
    lab.run(20)
    change = WriteOptions(user_agent="kubectl/v1.36.2")
    lab.registry.patch("pods", "p", "merge", {"metadata": {"labels": {"a": "b"}}}, "default", change)
    lab.registry.delete("pods", "p", "default")
    lab.run(40)
    steps = [(step, text) for _, step, text in way(lab, "p")]

    assert [text for step, text in steps if step == "stage"] == [
        "pod-create is played",
        "pod-ready is played",
        "pod-delete is played",
    ]
    assert ("request", "patch by kubectl/v1.36.2") in steps
    assert ("deletion", "asked for, with 30s to stop") in steps
    assert steps[-1] == ("gone", "the pod is deleted")


def test_refusal_of_the_kubelet_is_told() -> None:
    lab = Lab(nodes=1)
    lab.pod("p", spec={**FULL, "nodeName": "node-0", "tolerations": []})
    lab.pod("q", spec={**FULL, "nodeName": "node-0"})
    lab.run(0)

    assert (
        "kubelet",
        "OutOfcpu: Node didn't have enough resource: cpu, requested: 3000, used: 3000, capacity: 4000",
    ) in [each[1:] for each in way(lab, "q")]
    assert way(lab, "q")[-1][1:] == ("Failed", "was Pending: OutOfcpu")


def test_reservation_is_told_with_the_way() -> None:
    lab = Lab(nodes=1)
    lab.pod("p", spec=FULL)
    lab.run(0)
    told = lab.cluster.trace("default", "p")

    assert told is not None
    assert told["reservation"]["pod"]["settings"] == {"cpu.weight": "118"}
    assert lab.cluster.trace("default", "nobody") is None


def stored(uid: str, name: str) -> StoredObject:
    return StoredObject.encode(
        "pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "d", "uid": uid}}, 1
    )


def test_middle_of_a_long_way_is_forgotten_and_counted() -> None:
    log = SpanLog(VirtualClock())
    for number in range(SPANS_OF_POD_MAX * 2):
        log.pod_step(stored("u", "p"), "step", str(number))
    found = log.find("d", "p")

    assert found is not None
    assert len(found.spans) + found.forgotten == SPANS_OF_POD_MAX * 2
    assert len(found.spans) <= SPANS_OF_POD_MAX
    assert (found.spans[0].text, found.spans[-1].text) == ("0", str(SPANS_OF_POD_MAX * 2 - 1))
    assert as_json(found, None)["forgotten"] == found.forgotten


def test_oldest_pods_are_forgotten_and_counted_when_there_are_too_many_steps() -> None:
    log = SpanLog(VirtualClock(), spans_max=10)
    for number in range(20):
        log.pod_step(stored(f"u{number}", f"p{number}"), "step", "x")

    assert (len(log), log.forgotten_pods) == (10, 10)
    assert log.find("d", "p0") is None
    assert log.find("d", "p19") is not None


def test_newest_pod_of_a_name_is_told() -> None:
    log = SpanLog(VirtualClock())
    log.pod_step(stored("old", "p"), "step", "old")
    log.pod_step(stored("new", "p"), "step", "new")
    found = log.find("d", "p")

    assert found is not None
    assert found.uid == "new"
