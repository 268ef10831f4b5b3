"""The life of one container.

    waiting ─► pulling ──────────► running ─► started ─► ready ─► exited ──no restart──► terminated
                  │ error             ▲          (probes)            │
                  ▼                   │                              ▼
           ErrImagePull ─► ImagePullBackOff                  CrashLoopBackOff, 10 s, 20 s … 5 min

Mirrors: EnsureImageExists of pkg/kubelet/images/image_manager.go, doBackOff and killContainer of
pkg/kubelet/kuberuntime, pkg/kubelet/prober (v1.36): texts of events and states, back-offs.
Differs: nothing runs; how long it takes and how it ends is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from schedlab.apimachinery.distribution import NEVER_NS
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import format_duration, format_time, parse_time
from schedlab.kernel.clock import SECOND_NS
from schedlab.kernel.randomness import RandomSource
from schedlab.kubelet.life.images import NodeImages
from schedlab.kubelet.life.plan import ContainerPlan
from schedlab.kubelet.life.program import Program

BACKOFF_NS: Final = 10 * SECOND_NS
BACKOFF_NS_MAX: Final = 300 * SECOND_NS
KILLED: Final = 137
STOPPED: Final = 143

Kind: TypeAlias = Literal["init", "sidecar", "main"]
#: What a container does now.
Step: TypeAlias = Literal["waiting", "pulling", "pull-failed", "pull-backoff", "running", "backoff", "ended"]


@dataclass(frozen=True, slots=True)
class Note:
    """An event to record: type, reason, message, and the container it is about."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    container: str = ""
    kind: Kind = "main"


@dataclass(slots=True)
class ContainerLife:
    """One container: what it does, until when, and what came before."""

    spec: Mapping[str, Any]
    kind: Kind
    plan: ContainerPlan
    pod: str
    restart_policy: str
    random: RandomSource
    #: What really runs in it, if anything does.
    program: Program | None = None
    step: Step = "waiting"
    reason: str = ""
    message: str = ""
    #: When the present step ends.
    due_ns: int | None = None
    #: Times within a run at which something turns, by what.
    turns: dict[str, int] = field(default_factory=dict)
    started_ns: int = 0
    pull_began_ns: int = 0
    is_started: bool = False
    is_ready: bool = False
    restarts: int = 0
    runs: int = 0
    backoff_ns: int = 0
    pull_backoff_ns: int = 0
    pulls_failed: int = 0
    terminated: dict[str, Any] | None = None
    last: dict[str, Any] | None = None
    image: str = ""

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def has_succeeded(self) -> bool:
        return self.step == "ended" and self.terminated is not None and self.terminated["exitCode"] == 0

    def next_ns(self) -> int | None:
        """Return when something happens to it by itself."""
        times = [time for time in (self.due_ns, *self.turns.values()) if time is not None and time < NEVER_NS]
        if self._has_exited:
            assert self.program is not None, "it has exited"
            times.append(self.program.exited_ns)
        return min(times, default=None)

    @property
    def _has_exited(self) -> bool:
        return self.step == "running" and self.program is not None and self.program.exit_code is not None

    # --- images ------------------------------------------------------------------------------------------------------

    def begin(self, now_ns: int, images: NodeImages) -> list[Note]:
        """Get the image, and run at once if it is there."""
        if self.program is not None and self.program.missing:
            return self._wait_for_volume(now_ns, self.program.missing)
        image = str(self.spec.get("image") or "")
        self.image = image
        policy = self.spec.get("imagePullPolicy") or "IfNotPresent"
        present = images.has(image)
        if policy == "Never" or (present and policy != "Always"):
            return self._use_present(now_ns, image, present=present)
        size = self.plan.image_bytes
        self.pull_began_ns = now_ns
        fails = self.pulls_failed < self.plan.pull_errors
        self._wait("pulling", "PodInitializing" if self.kind != "main" else "ContainerCreating", "")
        self.due_ns = now_ns if fails else images.pull(image, size, now_ns)
        return [self._note("Normal", "Pulling", f"Pulling image {quote(image)}")]

    def _wait_for_volume(self, now_ns: int, missing: str) -> list[Note]:
        """Look again later whether what is to be mounted is there."""
        self.backoff_ns = min(max(2 * self.backoff_ns, SECOND_NS), 122 * SECOND_NS)
        self._wait("backoff", "ContainerCreating", "")
        self.due_ns = now_ns + self.backoff_ns
        return [Note("Warning", "FailedMount", missing)]

    def _use_present(self, now_ns: int, image: str, *, present: bool) -> list[Note]:
        if present:
            text = f"Container image {quote(image)} already present on machine and can be accessed by the pod"
            return [self._note("Normal", "Pulled", text), *self._run(now_ns)]
        text = f"Container image {quote(image)} is not present with pull policy of Never"
        self._wait("pull-failed", "ErrImageNeverPull", text)
        self.due_ns = now_ns + BACKOFF_NS
        return [
            self._note("Warning", "ErrImageNeverPull", text),
            self._note("Warning", "Failed", "Error: ErrImageNeverPull"),
        ]

    def _pulled(self, now_ns: int, images: NodeImages) -> list[Note]:
        image = quote(self.image)
        if self.pulls_failed < self.plan.pull_errors:
            self.pulls_failed += 1
            text = self.plan.pull_error_message
            self._wait("pull-failed", "ErrImagePull", text)
            self.due_ns = now_ns + SECOND_NS
            return [
                self._note("Warning", "Failed", f"Failed to pull image {image}: {text}"),
                self._note("Warning", "Failed", "Error: ErrImagePull"),
            ]
        waited_ns = now_ns - self.pull_began_ns
        pulled = images.pulled(self.image)
        times = f"{_rounded(pulled.length_ns)} ({_rounded(waited_ns)} including waiting)"
        text = f"Successfully pulled image {image} in {times}. Image size: {pulled.size_bytes} bytes."
        self.pull_backoff_ns = 0
        return [self._note("Normal", "Pulled", text), *self._run(now_ns)]

    def _back_off_pull(self, now_ns: int) -> list[Note]:
        if self.reason == "ErrImageNeverPull":
            self.due_ns = now_ns + BACKOFF_NS
            return []
        self.pull_backoff_ns = min(max(2 * self.pull_backoff_ns, BACKOFF_NS), BACKOFF_NS_MAX)
        text = f"Back-off pulling image {quote(self.image)}"
        self._wait("pull-backoff", "ImagePullBackOff", f"{text}: ErrImagePull: {self.plan.pull_error_message}")
        self.due_ns = now_ns + self.pull_backoff_ns
        return [self._note("Normal", "BackOff", text), self._note("Warning", "Failed", "Error: ImagePullBackOff")]

    # --- running -----------------------------------------------------------------------------------------------------

    def _run(self, now_ns: int) -> list[Note]:
        self._wait("running", "", "")
        self.restarts = max(self.restarts, self.runs)
        self.started_ns = now_ns
        self.is_started = self.is_ready = False
        self.turns = self._plan_turns(now_ns)
        self.due_ns = now_ns + self._drawn("run-time", 0 if self.kind == "init" else NEVER_NS)
        if self.program is not None:
            self.program.start(now_ns)
        notes = [
            self._note("Normal", "Created", "Container created"),
            self._note("Normal", "Started", "Container started"),
        ]
        return [*notes, *self._turn_due(now_ns)]

    def _plan_turns(self, now_ns: int) -> dict[str, int]:
        started_ns = now_ns + self._drawn("started-after", self._initial_delay_ns("startupProbe"))
        ready_ns = started_ns + self._drawn("ready-after", self._initial_delay_ns("readinessProbe"))
        turns = {"started": started_ns}
        if self.kind != "init":
            turns["ready"] = ready_ns
        failing = self._failing_probe("livenessProbe")
        if failing:
            probe = self.spec["livenessProbe"]
            patience_s = int(probe.get("failureThreshold") or 3) * int(probe.get("periodSeconds") or 10)
            turns["unhealthy"] = started_ns + self._initial_delay_ns("livenessProbe") + patience_s * SECOND_NS
        if "unready-after" in self.plan.durations:
            turns["unready"] = ready_ns + self._drawn("unready-after", 0)
        if "liveness-fails-after" in self.plan.durations:
            turns["unhealthy"] = started_ns + self._drawn("liveness-fails-after", 0)
        return turns

    def _failing_probe(self, probe: str) -> str:
        """Return what is wrong with the answer of a program to a probe."""
        handler = self.spec.get(probe)
        return self.program.probe(handler) if self.program is not None and handler else ""

    def _initial_delay_ns(self, probe: str) -> int:
        return int((self.spec.get(probe) or {}).get("initialDelaySeconds") or 0) * SECOND_NS

    def _drawn(self, key: str, otherwise: int) -> int:
        distribution = self.plan.durations.get(key)
        return otherwise if distribution is None else distribution.draw_ns(self.random)

    def _turn_due(self, now_ns: int) -> list[Note]:
        notes: list[Note] = []
        for turn in [turn for turn, time in self.turns.items() if time <= now_ns]:
            if turn not in self.turns:
                continue
            del self.turns[turn]
            if turn == "started":
                self.is_started = True
            elif turn == "ready":
                failing = self._failing_probe("readinessProbe")
                self.is_ready = not failing
                if failing:
                    notes.append(self._note("Warning", "Unhealthy", f"Readiness probe failed: {failing}"))
                    period_s = int((self.spec.get("readinessProbe") or {}).get("periodSeconds") or 10)
                    self.turns["ready"] = now_ns + period_s * SECOND_NS
            elif turn == "unready":
                self.is_ready = False
                notes.append(self._note("Warning", "Unhealthy", "Readiness probe failed: simulated"))
            else:
                failing = self._failing_probe("livenessProbe") or "simulated"
                notes.append(self._note("Warning", "Unhealthy", f"Liveness probe failed: {failing}"))
                notes += self.kill(now_ns, f"Container {self.name} failed liveness probe, will be restarted")
        return notes

    def kill(self, now_ns: int, message: str) -> list[Note]:
        """End a run from outside; the container is started anew."""
        self._end_run(now_ns, KILLED)
        return [self._note("Normal", "Killing", message), *self._decide(now_ns, killed=True)]

    def stop(self, now_ns: int, exit_code: int = STOPPED) -> None:
        """End for good."""
        if self.step == "running":
            self._end_run(now_ns, exit_code)
        self.turns, self.due_ns = {}, None
        if self.step != "ended":
            self.step = "ended"

    def _end_run(self, now_ns: int, exit_code: int) -> None:
        if self.program is not None:
            self.program.stop()
        self.is_started = self.is_ready = False
        self.turns, self.due_ns = {}, None
        self.runs += 1
        self.terminated = {
            "exitCode": exit_code,
            "reason": "Completed" if exit_code == 0 else "Error",
            "startedAt": format_time(self.started_ns),
            "finishedAt": format_time(now_ns),
        }
        self.step = "ended"

    def _decide(self, now_ns: int, *, killed: bool = False) -> list[Note]:
        """Start the container again, at once or after a back-off, or leave it."""
        assert self.terminated is not None, "decided when a run has ended"
        failed = self.terminated["exitCode"] != 0
        policy = "Always" if self.kind == "sidecar" else self.restart_policy
        if self.kind == "init":
            again = failed and policy != "Never"
        else:
            again = (killed and policy != "Never") or policy == "Always" or (policy == "OnFailure" and failed)
        if not again:
            return []
        if now_ns - self.started_ns > 2 * BACKOFF_NS_MAX:
            self.backoff_ns = 0
        self.last, self.terminated = self.terminated, None
        delay_ns, self.backoff_ns = self.backoff_ns, min(max(2 * self.backoff_ns, BACKOFF_NS), BACKOFF_NS_MAX)
        if not delay_ns:
            self._wait("backoff", "", "")
            self.due_ns = now_ns
            return []
        text = f"back-off {format_duration(delay_ns)} restarting failed container={self.name} pod={self.pod}"
        self._wait("backoff", "CrashLoopBackOff", text)
        self.due_ns = now_ns + delay_ns
        return [self._note("Warning", "BackOff", f"Back-off restarting failed container {self.name} in pod {self.pod}")]

    # --- time --------------------------------------------------------------------------------------------------------

    def advance(self, now_ns: int, images: NodeImages) -> list[Note]:
        """Do what is due."""
        notes = self._turn_due(now_ns) if self.step == "running" else []
        if self._has_exited:
            assert self.program is not None, "it has exited"
            self._end_run(now_ns, self.program.exit_code or 0)
            return [*notes, *self._decide(now_ns)]
        if self.due_ns is None or self.due_ns > now_ns:
            return notes
        if self.step == "pulling":
            return [*notes, *self._pulled(now_ns, images)]
        if self.step == "pull-failed":
            return [*notes, *self._back_off_pull(now_ns)]
        if self.step in ("pull-backoff", "backoff"):
            return [*notes, *self.begin(now_ns, images)]
        assert self.step == "running", "nothing else has an end by itself"
        self._end_run(now_ns, self.plan.exit_code(self.runs))
        return [*notes, *self._decide(now_ns)]

    def _wait(self, step: Step, reason: str, message: str) -> None:
        self.step, self.reason, self.message, self.due_ns = step, reason, message, None

    def _note(self, type_: Literal["Normal", "Warning"], reason: str, message: str) -> Note:
        return Note(type_, reason, message, self.name, self.kind)

    # --- status ------------------------------------------------------------------------------------------------------

    def status(self, waiting: str) -> dict[str, Any]:
        """Return the container's status; `waiting` is why it waits when it has not begun."""
        told: dict[str, Any] = {
            "name": self.name,
            "image": self.image or self.spec.get("image") or "",
            "imageID": "",
            "ready": self.has_succeeded if self.kind == "init" else self.is_ready,
            "started": self.is_started,
            "restartCount": self.restarts,
            "state": self._state(waiting),
            "lastState": {"terminated": self.last} if self.last else {},
        }
        if self.started_ns:
            told["containerID"] = f"schedlab://{self.name}-{self.runs}"
        resources = self.spec.get("resources") or {}
        if resources:
            told["resources"] = {key: resources[key] for key in ("requests", "limits") if key in resources}
            if "requests" in resources:
                told["allocatedResources"] = resources["requests"]
        return told

    def _state(self, waiting: str) -> dict[str, Any]:
        if self.step == "running":
            return {"running": {"startedAt": format_time(self.started_ns)}}
        if self.terminated is not None:
            return {"terminated": self.terminated}
        if self.step == "backoff" and not self.reason and self.last is not None:
            return {"terminated": self.last}
        state = {"reason": self.reason or waiting}
        return {"waiting": {**state, "message": self.message} if self.message else state}

    def resume(self, status: Mapping[str, Any], now_ns: int) -> None:
        """Go on where a status says that the container was."""
        self.last = (status.get("lastState") or {}).get("terminated")
        self.image = str(status.get("image") or "")
        state = status.get("state") or {}
        has_ended = "running" not in state and ("terminated" in state or self.last is not None)
        self.restarts = int(status.get("restartCount") or 0)
        self.runs = self.restarts + has_ended
        if "running" in state:
            self._run(parse_time(state["running"]["startedAt"]))
            self.is_started, self.is_ready = bool(status.get("started")), bool(status.get("ready"))
            self.turns = {turn: time for turn, time in self.turns.items() if time > now_ns}
        elif "terminated" in state:
            self.terminated, self.step = state["terminated"], "ended"
            self.started_ns = parse_time(self.terminated["startedAt"])
        elif (state.get("waiting") or {}).get("reason") in ("CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff"):
            self._wait("backoff", state["waiting"]["reason"], state["waiting"].get("message") or "")
            self.due_ns = now_ns + BACKOFF_NS


def _rounded(length_ns: int) -> str:
    """Return a duration to the millisecond, as upstream prints those of pulls."""
    return format_duration(length_ns // 1_000_000 * 1_000_000)
