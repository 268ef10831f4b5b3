"""How long a Job waits after failures before it makes the next pod.

Mirrors: pkg/controller/job/backoff_utils.go (v1.36). Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.apimachinery.time import parse_time
from schedlab.controllers.framework.pods import creation_ns
from schedlab.controllers.job.indexes import all_failures_of
from schedlab.kernel.clock import SECOND_NS

_FIRST_NS: Final = 10 * SECOND_NS
_MAX_NS: Final = 600 * SECOND_NS


class FailureRecord(NamedTuple):
    """Failures since the last success, and when the last one was."""

    failures: int = 0
    last_ns: int | None = None

    def after(self, succeeded: Sequence[StoredObject], failed: Sequence[StoredObject]) -> FailureRecord:
        """Return the record with pods that have ended since."""
        if not succeeded and not failed:
            return self
        times = sorted(map(finished_ns, failed))
        if not succeeded:
            return FailureRecord(self.failures + len(failed), times[-1])
        last_success_ns = max(map(finished_ns, succeeded))
        later = [each for each in times if each > last_success_ns]
        return FailureRecord(len(later), later[-1] if later else None)

    def remaining_ns(self, now_ns: int) -> int:
        """Return how long to wait yet."""
        return 0 if self.last_ns is None else _remaining_ns(self.failures, self.last_ns, now_ns)


def remaining_of_index_ns(last_failed: StoredObject | None, now_ns: int) -> int:
    """Return how long an index has to wait yet after its last failed pod."""
    if last_failed is None:
        return 0
    return _remaining_ns(all_failures_of(last_failed) + 1, finished_ns(last_failed), now_ns)


def _remaining_ns(count: int, last_ns: int, now_ns: int) -> int:
    if not count:
        return 0
    delay_ns = min(_FIRST_NS << min(count - 1, 16), _MAX_NS)
    return max(0, last_ns + delay_ns - now_ns)


def finished_ns(pod: StoredObject) -> int:
    """Return when a pod ended: as its containers say, or else as near as can be known."""
    view: Pod = pod.view
    status: Mapping[str, Any] = pod.raw.get("status") or {}
    sidecars = {each.name: None for each in view.spec.init_containers if each.restart_policy == "Always"}
    own = status.get("containerStatuses") or ()
    beside = [each for each in status.get("initContainerStatuses") or () if each["name"] in sidecars]
    found = _latest_end([*own, *beside])
    if found is not None:
        return found
    for condition in view.status.conditions:
        if condition.type == "Ready" and condition.status == "False" and condition.last_transition_time:
            return parse_time(condition.last_transition_time)
    if view.metadata.deletion_timestamp:
        grace_s = view.metadata.deletion_grace_period_seconds or 0
        return parse_time(view.metadata.deletion_timestamp) - grace_s * SECOND_NS
    return creation_ns(pod)


def _latest_end(containers: Iterable[Mapping[str, Any]]) -> int | None:
    """Return when the last container ended; None when one has not."""
    latest = None
    for container in containers:
        ended = ((container.get("state") or {}).get("terminated") or {}).get("finishedAt")
        if not ended:
            return None
        latest = max(latest or 0, parse_time(ended))
    return latest
