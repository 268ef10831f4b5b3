"""All scheduler pods of a cluster: which they are, what they run, what they have written.

Mirrors: nothing; upstream's container runtime runs everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.errors import new_bad_request
from schedlab.client.node_servers import LogLine, LogSource
from schedlab.cluster.scheduler_instance import SchedulerInstance
from schedlab.cluster.scheduler_pods.command import arguments
from schedlab.cluster.scheduler_pods.program import SchedulerProgram, Surroundings
from schedlab.decisions.schedulers import KnownScheduler

_WORD: Final = "kube-scheduler"


class SchedulerPrograms:
    """kubelet.life.program.Programs for containers that run kube-scheduler."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._programs: dict[str, dict[str, SchedulerProgram]] = {}

    def holds(self, pod: Pod) -> bool:
        """Whether a container of the pod runs kube-scheduler."""
        for container in pod.spec.containers:
            # Most pods are done with here.
            if _WORD in container.image or (container.command and any(_WORD in word for word in container.command)):
                written = {"image": container.image, "command": container.command, "args": container.args}
                if arguments(written) is not None:
                    return True
        return False

    def of(
        self, pod: StoredObject, container: Mapping[str, Any], changed: Callable[[], None]
    ) -> SchedulerProgram | None:
        """Return the program of a container, the same one each time; None for containers that run something else."""
        if arguments(container) is None:
            return None
        of_pod = self._programs.setdefault(pod.uid, {})
        name = container["name"]
        if name not in of_pod:
            of_pod[name] = SchedulerProgram(self._around, pod, container, changed)
        return of_pod[name]

    def gone(self, uid: str) -> None:
        """Let nothing of a pod run any more."""
        for program in self._programs.pop(uid, {}).values():
            program.stop()

    def find(self, uid: str, container: str) -> SchedulerProgram | None:
        """Return the program of a container, None if there is none."""
        return self._programs.get(uid, {}).get(container)

    def known(self) -> Sequence[KnownScheduler]:
        """Return the schedulers of pods, those that have crashed among them."""
        return [program.known() for of_pod in self._programs.values() for program in of_pod.values()]

    def instances(self) -> Sequence[SchedulerInstance]:
        """Return the schedulers that run in pods now."""
        found = [program.instance for of_pod in self._programs.values() for program in of_pod.values()]
        return [instance for instance in found if instance is not None]


class SchedulerLogs:
    """client.node_servers.LogSource: the logs of scheduler pods are real, all others come from another source."""

    def __init__(self, programs: SchedulerPrograms, others: LogSource) -> None:
        self._programs, self._others = programs, others

    def lines(self, pod: StoredObject, container: str, *, previous: bool) -> Sequence[LogLine]:
        """Return all lines of a container, or of the run before; raises StatusError when there is no such log."""
        program = self._programs.find(pod.uid, container)
        if program is None:
            return self._others.lines(pod, container, previous=previous)
        if not previous:
            return tuple(program.lines)
        if program.previous is None:
            raise new_bad_request(f'previous terminated container "{container}" in pod "{pod.name}" not found')
        return tuple(program.previous)

    def is_open(self, pod: StoredObject, container: str) -> bool:
        """Whether the container may write more."""
        program = self._programs.find(pod.uid, container)
        return self._others.is_open(pod, container) if program is None else program.instance is not None
