"""How fast this machine is now, and what it is: figures of two machines compare only by their calibration numbers.

The calibration number is the geometric mean of the rates of three loads: interpreter, JSON text, hashing of bytes. It
was 16.4 where kube-scheduler's own figures were taken. Processor time is what counts, so that other load on the machine
makes schedlab look slower, never faster.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from schedlab import __version__

#: kube-scheduler 1.36.2's pods per second, with default plugins, an in-process API server and etcd, on 2 cores.
KUBE_SCHEDULER: Final = {
    "SchedulingBasic": 244.0,
    "SchedulingNodeAffinity": 209.0,
    "TopologySpreading": 115.0,
    "PreferredTopologySpreading": 107.0,
    "DefaultTopologySpreading": 116.0,
    "SchedulingPodAffinity": 35.5,
    "SchedulingPodAntiAffinity": 72.0,
    "SchedulingPreferredPodAffinity": 63.0,
    "PreemptionAsync": 143.0,
    "Unschedulable": 246.0,
    "SchedulingDaemonset": 305.0,
}
KUBE_SCHEDULER_CALIBRATION: Final = 16.4

_DOCUMENT: Final = {
    "items": [
        {
            "metadata": {"name": f"pod-{number}", "labels": {"app": "web", "n": str(number)}},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}}}],
            },
        }
        for number in range(200)
    ]
}
_ROUNDS: Final = 7


def ratio(test_case: str, pods_per_second: float, calibration: float) -> float | None:
    """Return by how much a figure is above kube-scheduler's, scaled to this machine; None where it has none."""
    known = KUBE_SCHEDULER.get(test_case)
    return None if known is None else pods_per_second / (known * calibration / KUBE_SCHEDULER_CALIBRATION)


def calibrate() -> float:
    """Measure how fast this machine is now; about ten seconds."""
    return round(statistics.geometric_mean(_rate(load) for load in (_interpreter, _text, _hashing)), 2)


def describe() -> dict[str, Any]:
    """Tell what the machine and its software are."""
    return {
        "schedlab": __version__,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def _rate(load: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        load()
        times.append(time.process_time() - start)
    return 1 / statistics.median(times)


def _interpreter() -> None:
    total, table = 0, dict[int, int]()
    for number in range(400_000):
        table[number & 1023] = total
        key = (number * 7) & 1023
        total = (total + table[key] + number) & 0xFFFFFF if key in table else total + 1


def _text() -> None:
    for _ in range(60):
        json.loads(json.dumps(_DOCUMENT))


def _hashing() -> None:
    hashlib.sha256(b"x" * 40_000_000).digest()
