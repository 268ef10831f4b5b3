"""What the writes of a pod's life cost in process: creation, binding, the scheduler's event, the kubelet's status.

Nobody watches, so that the API alone is measured: what a batch run spends on it beside scheduler and informers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.api import objects
from schedlab.client.inprocess import InProcessClient
from schedlab.client.protocol import Outcome, Write
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.status import running_status
from schedlab.registry import Registry, bootstrap
from schedlab.scheduler.events import event_write
from schedlab.scheduler.framework.types import PodInfo
from schedlab.store import Store

_NOW = "1970-01-01T00:00:01Z"


class Life:
    """Pods and the writes that they see."""

    def __init__(self, make: Callable[[str, int], Any]) -> None:
        self._make = make
        self._registry = Registry(Store(), VirtualClock(), SeededRandom(1))
        bootstrap(self._registry)
        account = self._registry.decode("serviceaccounts", objects.ACCOUNT)
        self._registry.create("serviceaccounts", account, "default")

    def run(self, prefix: str, count: int) -> dict[str, float]:
        """Let pods live; returns the microseconds of processor time that each kind of write took."""
        user, scheduler, kubelet = (
            InProcessClient(self._registry, name) for name in ("bench", "kube-scheduler", "kubelet")
        )
        pods = list(self._make(prefix, count))
        names = [pod["metadata"]["name"] for pod in pods]
        creates = [Write("create", "pods", "default", name, pod) for name, pod in zip(names, pods, strict=True)]
        spent = {"createMicroseconds": _spent(user, creates)}
        bindings = [self._binding(name, number) for number, name in enumerate(names)]
        spent["bindMicroseconds"] = _spent(scheduler, bindings)
        events = [self._event(name, number) for number, name in enumerate(names)]
        spent["eventMicroseconds"] = _spent(scheduler, events)
        reports = [self._report(name, number) for number, name in enumerate(names)]
        spent["statusMicroseconds"] = _spent(kubelet, reports)
        return spent | {"writesMicroseconds": round(sum(spent.values()), 1)}

    def _binding(self, name: str, number: int) -> Write:
        uid = self._registry.get("pods", name, "default").uid
        metadata = {"name": name, "namespace": "default", "uid": uid}
        target = {"kind": "Node", "name": f"node-{number % 5000}"}
        return Write("create", "pods", "default", name, {"metadata": metadata, "target": target}, "binding")

    def _event(self, name: str, number: int) -> Write:
        pod = PodInfo(self._registry.get("pods", name, "default").view)
        note = f"Successfully assigned default/{name} to node-{number % 5000}"
        return event_write(pod, None, "Normal", "Scheduled", "Binding", note, "default-scheduler", 10**9 + number)

    def _report(self, name: str, number: int) -> Write:
        pod = self._registry.get("pods", name, "default")
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        body = {"metadata": {"uid": pod.uid}, "status": running_status(pod.thaw(), "10.1.0.1", address, _NOW)}
        return Write("patch", "pods", "default", name, body, "status", options={"fieldManager": "kubelet"})


def _spent(client: InProcessClient, writes: Sequence[Write]) -> float:
    started_s = time.process_time()
    for write in writes:
        client.submit(write, _succeed)
    return round((time.process_time() - started_s) / len(writes) * 1e6, 1)


def _succeed(outcome: Outcome) -> None:
    if outcome.error is not None:
        raise SystemExit(f"a write was refused: {outcome.error}")
