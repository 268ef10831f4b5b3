"""The life of one pod, container by container.

    start delay ─► init containers, one after the other; sidecars stay ─► containers ─► all ended: the pod has, too

Mirrors: computePodActions of pkg/kubelet/kuberuntime/kuberuntime_manager.go, activeDeadlineHandler of
pkg/kubelet/active_deadline.go, killPod (v1.36).
Differs: containers start in no time once their images are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.time import format_time, parse_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet.life.container_life import KILLED, STOPPED, ContainerLife, Note
from schedlab.kubelet.life.images import NodeImages
from schedlab.kubelet.life.plan import ContainerPlan, PodPlan, read_plan
from schedlab.kubelet.life.pod_status import phase_of, status_of
from schedlab.kubelet.life.program import Program
from schedlab.kubelet.status import ephemeral_statuses

DEADLINE_REASON: Final = "DeadlineExceeded"
DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"


class PodLife:
    """A pod that lives; `advance` plays what is due, `next_ns` says when to come again."""

    def __init__(
        self,
        pod: Mapping[str, Any],
        images: NodeImages,
        random: RandomSource,
        now_ns: int,
        program_of: Callable[[Mapping[str, Any]], Program | None] = lambda _: None,
    ) -> None:
        meta, spec = pod["metadata"], pod["spec"]
        self.plan: PodPlan = read_plan(pod)
        self._images = images
        self._pod_text = f"{meta['name']}_{meta['namespace']}({meta['uid']})"
        policy = spec.get("restartPolicy") or "Always"

        def life(container: Mapping[str, Any], kind: Any) -> ContainerLife:
            plan = self.plan.containers.get(container["name"], ContainerPlan())
            program = program_of(container)
            return ContainerLife(container, kind, plan, self._pod_text, policy, random, program)

        self.init = [
            life(each, "sidecar" if each.get("restartPolicy") == "Always" else "init")
            for each in spec.get("initContainers") or ()
        ]
        self.main = [life(each, "main") for each in spec["containers"]]
        self.notes: list[Note] = [Note("Warning", "InvalidAnnotation", text) for text in self.plan.mistakes]
        self.phase = "Pending"
        self.reason = self.message = ""
        self.started_ns = now_ns
        self._begins_ns = now_ns + self._drawn("start-delay", random)
        self._stop_ns: int | None = None
        self._kill_at_end = False
        self._shutdown_ns = self._drawn("shutdown-time", random)
        deadline = spec.get("activeDeadlineSeconds")
        self._deadline_ns = None if deadline is None else now_ns + int(deadline) * SECOND_NS
        self._resume(pod.get("status") or {}, deadline, now_ns)

    def _drawn(self, key: str, random: RandomSource) -> int:
        distribution = self.plan.durations.get(key)
        return 0 if distribution is None else distribution.draw_ns(random)

    def _resume(self, status: Mapping[str, Any], deadline: int | None, now_ns: int) -> None:
        """Go on where the status says that the pod was."""
        known = {
            each["name"]: each
            for name in ("initContainerStatuses", "containerStatuses")
            for each in status.get(name) or ()
        }
        if not status.get("startTime") or not known:
            return
        self.started_ns = parse_time(status["startTime"])
        self._begins_ns = now_ns
        if deadline is not None:
            self._deadline_ns = self.started_ns + int(deadline) * SECOND_NS
        for container in self.all:
            if container.name in known:
                container.resume(known[container.name], now_ns)
        self.phase = status.get("phase") or "Pending"

    @property
    def all(self) -> Sequence[ContainerLife]:
        return (*self.init, *self.main)

    @property
    def is_over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_stopped(self) -> bool:
        """Whether nothing runs any more after the pod was asked to stop."""
        return self._stop_ns is not None and not any(each.step == "running" for each in self.all)

    def next_ns(self) -> int | None:
        """Return when something happens next."""
        if self.is_over or self.is_stopped:
            return None
        if self._stop_ns is not None:
            return self._stop_ns
        times = [each.next_ns() for each in self.all]
        if self.all and all(each.step == "waiting" for each in self.all):
            times.append(self._begins_ns)
        times.append(self._deadline_ns)
        return min((time for time in times if time is not None), default=None)

    def advance(self, now_ns: int) -> None:
        """Play everything that is due, each at its own time."""
        self._go_on(now_ns)
        while (due_ns := self.next_ns()) is not None and due_ns <= now_ns:
            self._play(due_ns)
            self._go_on(due_ns)

    def _play(self, now_ns: int) -> None:
        if self._stop_ns is not None:
            self._end_all(now_ns)
        elif self._deadline_ns is not None and self._deadline_ns <= now_ns:
            self.reason, self.message = DEADLINE_REASON, DEADLINE_MESSAGE
            self.notes.append(Note("Normal", DEADLINE_REASON, DEADLINE_MESSAGE))
            for container in self.all:
                container.stop(now_ns, KILLED)
            self.phase = "Failed"
        else:
            for container in self.all:
                self.notes += container.advance(now_ns, self._images)

    def _go_on(self, now_ns: int) -> None:
        """Begin what may begin now, and see whether the pod has ended."""
        if self._stop_ns is None and not self.is_over and now_ns >= self._begins_ns:
            for container in self._startable():
                self.notes += container.begin(now_ns, self._images)
        if not self.is_over:
            self.phase = phase_of(self.init, self.main)
            if self.is_over:
                for container in self.init:
                    container.stop(now_ns, STOPPED)

    def _startable(self) -> list[ContainerLife]:
        """Return the containers whose turn it is and that have not begun."""
        for container in self.init:
            if container.step == "waiting":
                return [container]
            is_done = container.is_started if container.kind == "sidecar" else container.has_succeeded
            has_begun = any(each.step != "waiting" for each in self.main)
            if not is_done and not has_begun:
                return []
        return [container for container in self.main if container.step == "waiting"]

    # --- from outside ------------------------------------------------------------------------------------------------

    def stop(self, now_ns: int, deadline_ns: int) -> None:
        """Ask the containers to stop; those that have not until the deadline are killed."""
        if self._stop_ns is not None:
            self._stop_ns = min(self._stop_ns, deadline_ns)
            return
        running = [each for each in self.all if each.step == "running"]
        self.notes += [
            Note("Normal", "Killing", f"Stopping container {each.name}", each.name, each.kind) for each in running
        ]
        self._stop_ns = min(now_ns + self._shutdown_ns, deadline_ns)
        self._kill_at_end = self._stop_ns < now_ns + self._shutdown_ns
        if not running or self._stop_ns <= now_ns:
            self._end_all(now_ns)

    def _end_all(self, now_ns: int) -> None:
        for container in self.all:
            container.stop(now_ns, KILLED if self._kill_at_end else STOPPED)
        self._stop_ns = now_ns

    def change(self, pod: Mapping[str, Any], now_ns: int) -> None:
        """Take over changes of the spec: another image starts a container anew."""
        spec = pod["spec"]
        specs = {each["name"]: each for each in (*(spec.get("initContainers") or ()), *spec["containers"])}
        deadline = spec.get("activeDeadlineSeconds")
        self._deadline_ns = None if deadline is None else self.started_ns + int(deadline) * SECOND_NS
        for container in self.all:
            before, after = container.spec, specs.get(container.name, container.spec)
            container.spec = after
            if before.get("image") != after.get("image") and container.step == "running":
                text = f"Container {container.name} definition changed, will be restarted"
                self.notes += container.kill(now_ns, text)

    def restart(self, name: str, now_ns: int) -> None:
        """Start a container anew whose resources cannot be changed while it runs."""
        for container in self.all:
            if container.name == name and container.step == "running":
                self.notes += container.kill(now_ns, f"Container {name} resize requires restart")

    def take_notes(self) -> list[Note]:
        """Return the events since the last time."""
        notes, self.notes = self.notes, []
        return notes

    def status(self, pod: Mapping[str, Any], host_address: str, address: str, now_ns: int) -> dict[str, Any]:
        """Return the status of the pod as it is now."""
        report = status_of(pod, self.init, self.main, self.phase, format_time(now_ns))
        report |= ephemeral_statuses(pod, format_time(now_ns), is_over=self.is_over)
        report |= {"hostIP": host_address, "hostIPs": [{"ip": host_address}], "startTime": format_time(self.started_ns)}
        if address:
            report |= {"podIP": address, "podIPs": [{"ip": address}]}
        report |= {"reason": self.reason or None, "message": self.message or None}
        return report
