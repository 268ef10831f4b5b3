"""Pods held back in permit, and pods in pre_bind."""

from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.scheduler.framework.status import Code, Status
from schedlab.scheduler.runtime.waiting import PodInPreBind, WaitingPod
from schedlab.testing.builders import make_pod


class Wait:
    """A waiting pod and what it was told in the end."""

    def __init__(self, **wait_s: int) -> None:
        self.clock = VirtualClock()
        waits = {plugin: seconds * SECOND_NS for plugin, seconds in wait_s.items()}
        self.pod = WaitingPod(make_pod("p").obj(), waits, self.clock)
        self.results: list[Status | None] = []
        self.pod.when_over(self.results.append)

    def after(self, seconds: int) -> list[Status | None]:
        self.clock.advance_to(self.clock.now_ns() + seconds * SECOND_NS)
        return self.results


class TestWaitingPod:
    def test_goes_on_when_every_plugin_allowed_it(self) -> None:
        wait = Wait(A=10, B=10)

        wait.pod.allow("A")
        assert wait.pod.pending_plugins() == ("B",)
        assert not wait.results

        wait.pod.allow("B")
        assert wait.after(20) == [None]

    def test_first_timeout_rejects_it(self) -> None:
        wait = Wait(A=30, B=20)

        assert wait.after(20) == [
            Status(Code.UNSCHEDULABLE, ("rejected due to timeout after waiting 20s at plugin B",), "B")
        ]
        assert not wait.pod.reject("A", "late")
        assert len(wait.after(60)) == 1

    def test_rejection_makes_it_unschedulable_and_preemption_is_an_error(self) -> None:
        rejected, preempted = Wait(A=10), Wait(A=10)

        assert rejected.pod.reject("X", "no room")
        assert preempted.pod.preempt("X", "preempted")

        assert rejected.results == [Status(Code.UNSCHEDULABLE, ("no room",), "X")]
        assert preempted.results == [Status(Code.ERROR, ("preempted",), "X")]

    def test_end_before_anybody_waits_is_not_lost(self) -> None:
        pod = WaitingPod(make_pod("p").obj(), {"A": SECOND_NS}, VirtualClock())
        pod.reject("A", "early")
        results: list[Status | None] = []

        pod.when_over(results.append)

        assert pod.over
        assert [status and status.reasons for status in results] == [("early",)]


class TestPodInPreBind:
    def test_can_be_cancelled_until_it_is_over(self) -> None:
        told: list[str] = []
        pod = PodInPreBind(told.append)

        assert pod.cancel("preempted")
        assert pod.cancel("again")
        assert told == ["preempted"]
        assert not pod.finish()

    def test_cannot_be_cancelled_afterwards(self) -> None:
        told: list[str] = []
        pod = PodInPreBind(told.append)

        assert pod.finish()
        assert not pod.cancel("late")
        assert not told
