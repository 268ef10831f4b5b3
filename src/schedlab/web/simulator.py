"""What the REST API shows: the parts of a running simulator, gathered by whoever starts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schedlab.decisions.log import DecisionLog
from schedlab.whatif.workers import Question


def _unrecorded(namespace: str, name: str) -> str:
    return f"no attempt to schedule pod {namespace}/{name} is recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulator:
    """The decision log, how the cluster is, and why a pod without a recorded attempt has none.

    ask: has a question about the whole cluster answered by a worker; None where there is only a scheduler.
    """

    log: DecisionLog
    status: Callable[[], Mapping[str, Any]] = dict
    untried: Callable[[str, str], str] = _unrecorded
    ask: Callable[[Question], Awaitable[Any]] | None = None
