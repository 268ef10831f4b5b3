"""The logs of simulated containers: what happened to them, or what an annotation lets them say.

The annotation `kubelet.schedlab.dev/log` (for one container `….dev/log.CONTAINER`) is written when the container starts;
without it the log tells of the container's life, as its status does.
Mirrors: GetKubeletContainerLogs of pkg/kubelet/kubelet.go and findContainer of pkg/kubelet/kubelet_pods.go (v1.36):
messages of what has no log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import new_bad_request, new_internal_error
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.time import TimeError, parse_time
from schedlab.client.node_servers import LogLine
from schedlab.kubelet.life.plan import PREFIX

_STATUSES: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PORT: Final = 10250


class SimulatedLogs:
    """client.node_servers.LogSource; `runs` says whether the kubelet of a node lives, `address_of` where it is."""

    def __init__(self, runs: Callable[[str], bool], address_of: Callable[[str], str]) -> None:
        self._runs = runs
        self._address_of = address_of

    def lines(self, pod: StoredObject, container: str, *, previous: bool) -> Sequence[LogLine]:
        """Return what a container has written in its present run, or in the one before."""
        node = str(pod.raw["spec"].get("nodeName") or "")
        if not self._runs(node):
            path = f"/containerLogs/{pod.namespace}/{pod.name}/{container}"
            where = f"{self._address_of(node) or node}:{_PORT}"
            raise new_internal_error(f'Get "https://{where}{path}": dial tcp {where}: connect: no route to host')
        status = _status_of(pod, container)
        run = _run_of(pod, container, status, previous=previous)
        text = _text_of(pod, container)
        started_ns = _moment(run.get("startedAt"), pod)
        if text is not None:
            return [LogLine(started_ns, line) for line in text.splitlines()]
        count = int(status.get("restartCount") or 0) - (1 if previous else 0)
        name = f"{pod.namespace}/{pod.name}"
        told = (
            f"container {container} of pod {name} started on node {node}: image {status.get('image')}, run {count + 1}"
        )
        lines = [LogLine(started_ns, told)]
        ready = next((each for each in pod.raw["status"].get("conditions") or () if each["type"] == "Ready"), None)
        if not previous and status.get("ready") and ready is not None and ready["status"] == "True":
            lines.append(
                LogLine(
                    max(started_ns, _moment(ready.get("lastTransitionTime"), pod)), f"container {container} is ready"
                )
            )
        if "finishedAt" in run:
            text = f"container {container} ended with exit code {run.get('exitCode', 0)} ({run.get('reason', '')})"
            lines.append(LogLine(_moment(run["finishedAt"], pod), text))
        return lines

    def is_open(self, pod: StoredObject, container: str) -> bool:
        """Whether the container runs."""
        statuses = (pod.raw.get("status") or {}).get
        found = (each for key in _STATUSES for each in statuses(key) or () if each["name"] == container)
        return any("running" in (each.get("state") or {}) for each in found)


def _status_of(pod: StoredObject, container: str) -> Mapping[str, Any]:
    status = pod.raw.get("status") or {}
    for key in _STATUSES:
        for each in status.get(key) or ():
            if each["name"] == container:
                found: Mapping[str, Any] = each
                return found
    raise new_bad_request(
        f"container {quote(container)} in pod {quote(pod.name)} is waiting to start: ContainerCreating"
    )


def _run_of(pod: StoredObject, container: str, status: Mapping[str, Any], *, previous: bool) -> Mapping[str, Any]:
    """Return the state of the run whose log is wanted; raises BadRequest."""
    last: Mapping[str, Any] | None = (status.get("lastState") or {}).get("terminated")
    state = status.get("state") or {}
    if previous:
        if last is None:
            text = f"previous terminated container {quote(container)} in pod {quote(pod.name)} not found"
            raise new_bad_request(text)
        return last
    run: Mapping[str, Any] | None = state.get("running") or state.get("terminated") or last
    if run is None:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        why = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}.get(
            reason, reason
        )
        raise new_bad_request(f"container {quote(container)} in pod {quote(pod.name)} is waiting to start: {why}")
    return run


def _text_of(pod: StoredObject, container: str) -> str | None:
    annotations = pod.raw["metadata"].get("annotations") or {}
    found: str | None = annotations.get(f"{PREFIX}log.{container}", annotations.get(f"{PREFIX}log"))
    return found


def _moment(text: str | None, pod: StoredObject) -> int:
    try:
        return parse_time(text or pod.raw["metadata"].get("creationTimestamp") or "")
    except TimeError:
        return 0
