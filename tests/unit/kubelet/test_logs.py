"""A simulated container's log tells of its life, or says what an annotation lets it say."""

from __future__ import annotations

import pytest

from schedlab.apimachinery.errors import StatusError
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS
from schedlab.kubelet.life.plan import PREFIX
from tests.support.lab import Lab


def log(lab: Lab, name: str, container: str = "c", *, previous: bool = False) -> list[tuple[float, str]]:
    pod = lab.registry.get("pods", name, "default")
    found = lab.cluster.logs.lines(pod, container, previous=previous)
    return [((line.time_ns - EPOCH_NS) / SECOND_NS, line.text) for line in found]


def test_log_of_an_ordinary_pod_tells_of_its_life() -> None:
    lab = Lab(nodes=1)
    lab.pod("p")
    lab.run(1)
    pod = lab.registry.get("pods", "p", "default")

    assert log(lab, "p") == [
        (0, "container c of pod default/p started on node node-0: image i, run 1"),
        (0, "container c is ready"),
    ]
    assert lab.cluster.logs.is_open(pod, "c")


def test_log_of_a_container_that_crashed_tells_of_this_run_and_of_the_one_before() -> None:
    lab = Lab(nodes=1)
    lab.pod("p", annotations={f"{PREFIX}run-time": "2s", f"{PREFIX}exit-code": "3"})
    lab.run(3)

    assert log(lab, "p")[0] == (2, "container c of pod default/p started on node node-0: image i, run 2")
    assert log(lab, "p", previous=True) == [
        (0, "container c of pod default/p started on node node-0: image i, run 1"),
        (2, "container c ended with exit code 3 (Error)"),
    ]


def test_annotation_is_the_log() -> None:
    lab = Lab()
    lab.pod(
        "p",
        annotations={f"{PREFIX}log": "all\nof them", f"{PREFIX}log.c": "mine"},
        spec={"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
    )
    lab.run(1)

    assert log(lab, "p") == [(0, "mine")]
    assert log(lab, "p", "d") == [(0, "all"), (0, "of them")]
    # A text to say is no reason for another life than the quick one.
    assert lab.told("p") == []


@pytest.mark.parametrize(
    ("keys", "previous", "message"),
    [
        ({}, True, 'previous terminated container "c" in pod "p" not found'),
        ({"start-delay": "1h"}, False, 'container "c" in pod "p" is waiting to start: ContainerCreating'),
        (
            {"pull-errors": "always"},
            False,
            'container "c" in pod "p" is waiting to start: trying and failing to pull image',
        ),
    ],
)
def test_container_without_a_log_says_why(keys: dict[str, str], previous: bool, message: str) -> None:  # noqa: FBT001
    lab = Lab()
    lab.pod("p", annotations={PREFIX + key: value for key, value in keys.items()})
    lab.run(5)

    with pytest.raises(StatusError) as caught:
        log(lab, "p", previous=previous)

    assert (caught.value.code, caught.value.message) == (400, message)


def test_node_that_has_failed_does_not_answer() -> None:
    lab = Lab(nodes=1)
    lab.pod("p")
    lab.run(1)
    lab.registry.patch(
        "nodes", "node-0", "merge", {"metadata": {"annotations": {f"{PREFIX}failed-since": "2026-01-01T00:00:01Z"}}}
    )

    with pytest.raises(StatusError) as caught:
        log(lab, "p")

    assert caught.value.code == 500
    assert "dial tcp 10.128.0.1:10250: connect: no route to host" in caught.value.message
