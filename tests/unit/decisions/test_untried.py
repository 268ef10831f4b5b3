"""A pod that nobody tried: the sentence says which of the possible reasons it is."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from schedlab.api.views.core import Pod
from schedlab.decisions.schedulers import KnownScheduler
from schedlab.decisions.untried import why_untried

SCHEDULERS = (
    KnownScheduler(("default-scheduler", "second"), "this cluster", "scheduling"),
    KnownScheduler(("poor",), "pod a/b", "waiting", "it may not list pods"),
    KnownScheduler(("far",), "mine/1.0 as me", "outside"),
)


def _pod(status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    known = {"schedulerName": "default-scheduler", **spec}
    return msgspec.convert({"metadata": {"name": "p"}, "spec": known, "status": status or {}}, Pod)


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (None, "there is no pod n/p"),
        (_pod(nodeName="a"), "put on a by its creator or another scheduler; nothing was decided here"),
        (_pod({"phase": "Failed", "message": "no cpu"}, nodeName="a"), "which refused it: no cpu"),
        (
            _pod(schedulerName="mine"),
            "asks for the scheduler 'mine', which is not here; schedulers here: default-scheduler, second, poor, far",
        ),
        (_pod(schedulingGates=[{"name": "x"}, {"name": "y"}]), "waits for its scheduling gates to be removed: x, y"),
        (_pod(resourceClaims=[{"name": "gpu"}]), "waits for its resource claims: gpu"),
        (_pod(), "pod n/p has not been tried yet"),
        (
            _pod(schedulerName="poor"),
            "waits for its scheduler poor: pod a/b (waiting, it may not list pods)",
        ),
        (
            _pod(
                {"conditions": [{"type": "PodScheduled", "status": "False", "message": "no room"}]},
                schedulerName="far",
            ),
            "waits for its scheduler far: mine/1.0 as me (outside); it says: no room",
        ),
    ],
)
def test_reason(pod: Pod | None, words: str) -> None:
    assert words in why_untried("n/p", pod, SCHEDULERS)
