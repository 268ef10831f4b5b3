"""Lives of pods, whatever their annotations say and whenever somebody changes or deletes them, go on and come to an end."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.life.images import NodeImages
from schedlab.kubelet.life.plan import PREFIX
from schedlab.kubelet.life.pod_life import PodLife

#: A container that crashes for an hour, each run with all its turns, plays far less.
PLAYS_MAX: Final = 500

durations = st.sampled_from(["0s", "1ns", "1s", "7s", "11m", "never", "uniform(0s, 5s)", "exponential(3s)"])
values = {
    "start-delay": durations,
    "started-after": durations,
    "ready-after": durations,
    "unready-after": durations,
    "liveness-fails-after": durations,
    "run-time": durations,
    "shutdown-time": durations,
    "image-size": st.sampled_from(["0", "1Mi", "1Gi"]),
    "pull-errors": st.sampled_from(["0", "2", "always"]),
    "exit-code": st.sampled_from(["0", "1", "1,1,0", "0,1"]),
}


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    def container(name: str, **more: Any) -> dict[str, Any]:
        policy = draw(st.sampled_from([None, "Always", "Never"]))
        return {"name": name, "image": draw(st.sampled_from(["i", "j"])), "imagePullPolicy": policy, **more}

    init = [
        container(f"i{at}", restartPolicy=draw(st.sampled_from([None, "Always"])))
        for at in range(draw(st.integers(0, 2)))
    ]
    spec = {
        "restartPolicy": draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        "activeDeadlineSeconds": draw(st.sampled_from([None, 1, 60])),
        "initContainers": init,
        "containers": [container(f"c{at}") for at in range(draw(st.integers(1, 2)))],
    }
    keys = {PREFIX + key: draw(values[key]) for key in draw(st.lists(st.sampled_from(sorted(values)), unique=True))}
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": keys}, "spec": spec}


class CountedLife(PodLife):
    """A life that may not play for ever at one time."""

    plays = 0

    def advance(self, now_ns: int) -> None:
        self.plays = 0
        super().advance(now_ns)

    def _play(self, now_ns: int) -> None:
        self.plays += 1
        assert self.plays <= PLAYS_MAX, "it plays for ever"
        super()._play(now_ns)


@given(
    pod=pods(),
    bandwidth=st.sampled_from([0, 1 << 20]),
    waits_s=st.lists(st.sampled_from([0, 1, 3, 60, 900]), max_size=5),
    grace_s=st.sampled_from([0, 1, 30]),
    image=st.sampled_from(["i", "k"]),
)
def test_life_goes_on_and_ends_within_its_grace_period(
    pod: dict[str, Any], bandwidth: int, waits_s: list[int], grace_s: int, image: str
) -> None:
    now_ns = 1_700_000_000 * SECOND_NS
    life = CountedLife(pod, NodeImages(bandwidth), SeededRandom(1), now_ns)
    life.advance(now_ns)
    for wait_s in waits_s:
        now_ns += wait_s * SECOND_NS
        life.advance(now_ns)
        due_ns = life.next_ns()
        assert due_ns is None or due_ns > now_ns
        life.change(
            {"spec": {**pod["spec"], "containers": [{**each, "image": image} for each in pod["spec"]["containers"]]}},
            now_ns,
        )
        life.advance(now_ns)

    deadline_ns = now_ns + grace_s * SECOND_NS
    if not life.is_over:
        life.stop(now_ns, deadline_ns)
        life.advance(now_ns)
        while (due_ns := life.next_ns()) is not None:
            assert now_ns < due_ns <= deadline_ns
            now_ns = due_ns
            life.advance(now_ns)

    assert life.is_over or life.is_stopped
    assert not any(each.step == "running" for each in life.all)
