"""`schedlab trace` shows a trace as lines: times since the first step, steps, words, what is reserved."""

from __future__ import annotations

from typing import Any

from schedlab.cli.trace import trace_text

SPANS = [
    {"at": "2026-01-01T00:00:00.000000Z", "afterSeconds": 0.0, "step": "request", "text": "create by kubectl"},
    {"at": "2026-01-01T00:00:01.500000Z", "afterSeconds": 1.5, "step": "bind", "text": "attempt 1: to n"},
]
RESERVED: dict[str, Any] = {
    "node": "n",
    "qosClass": "Burstable",
    "pod": {"path": "/kubepods.slice/x.slice", "settings": {"cpu.weight": "39"}},
    "containers": [{"container": "c", "path": "p", "settings": {"cpu.max": "max 100000"}, "oomScoreAdj": 999}],
    "bandwidth": {"ingress": {"bitsPerSecond": 1000}, "egress": {"error": "resource is unreasonably small (< 1kbit)"}},
}


def test_trace_is_shown_line_by_line() -> None:
    body = {"namespace": "d", "name": "p", "uid": "u", "spans": SPANS, "forgotten": 3, "reservation": RESERVED}

    assert list(trace_text(body)) == [
        "Pod d/p, from 2026-01-01T00:00:00.000000Z",
        "",
        "  +0.000000     request  create by kubectl",
        "  +1.500000     bind     attempt 1: to n",
        "  3 steps in between are forgotten",
        "",
        "Reserved on n, class Burstable (cpu.weight: linear for the pod, the runtime's for containers)",
        "  pod  /kubepods.slice/x.slice",
        "       cpu.weight=39",
        "  container c",
        "       cpu.max='max 100000' oom_score_adj=999",
        "  ingress  1000 bit/s",
        "  egress  resource is unreasonably small (< 1kbit)",
    ]


def test_pod_that_has_no_node_has_nothing_reserved() -> None:
    body = {"namespace": "d", "name": "p", "uid": "u", "spans": SPANS[:1], "forgotten": 0, "reservation": None}

    assert list(trace_text(body))[-1] == "  +0.000000     request  create by kubectl"
