"""Deletes Jobs some time after they have ended.

Mirrors: pkg/controller/ttlafterfinished (v1.36). Differs: the Job is not read again before it is deleted.
"""

from __future__ import annotations

from typing import ClassVar

from schedlab.api.object import WatchEvent
from schedlab.api.rules.inert import is_inert
from schedlab.api.views.workloads import Job
from schedlab.apimachinery.time import parse_time
from schedlab.client.protocol import Write
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import Controller, ControllerContext, Steps, attempt, split_key
from schedlab.kernel.clock import SECOND_NS


class TTLAfterFinishedController(Controller):
    """Keys are those of Jobs."""

    name: ClassVar[str] = "ttl-after-finished-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._jobs = context.lister(kinds.JOB.resource)
        self._jobs.on_change(self._on_job)

    def _on_job(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and _due_ns(event.object.view) is not None:
            self.queue.add(event.object.key)

    def sync(self, key: str) -> Steps:
        """Delete a Job whose time has come, or wait for it."""
        namespace, name = split_key(key)
        stored = self._jobs.stored(name, namespace)
        due_ns = None if stored is None else _due_ns(stored.view)
        if stored is None or due_ns is None or is_inert(stored.view):
            return
        left_ns = due_ns - self.clock.now_ns()
        if left_ns > 0:
            self.queue.add_after(key, left_ns)
            return
        body = {"propagationPolicy": "Foreground", "preconditions": {"uid": stored.uid}}
        outcome = yield from attempt(Write("delete", stored.resource, namespace, name, body))
        if outcome.error is not None and outcome.error.reason != "NotFound":
            raise outcome.error


def _due_ns(job: Job) -> int | None:
    """Return when a Job is to be deleted, if it is."""
    condition = job.finished()
    if job.metadata.deletion_timestamp or job.spec.ttl_seconds_after_finished is None or condition is None:
        return None
    ended = condition.last_transition_time
    return (parse_time(ended) if ended else 0) + job.spec.ttl_seconds_after_finished * SECOND_NS
