"""Hand-made records for tests of the decision log."""

from __future__ import annotations

from typing import Any

import numpy as np

from schedlab.api.views.core import Pod
from schedlab.api.views.meta import ObjectMeta
from schedlab.scheduler.framework.record import BindingRecord, CycleRecord, FilterRecord, ScoreRecord
from schedlab.scheduler.framework.status import REASONS, SKIP, Code, Status
from schedlab.scheduler.framework.types import PodInfo

TAINTED = "node(s) had untolerated taint(s)"
NO_CPU = "Insufficient cpu"


def pod(name: str = "p", uid: str = "uid-p") -> PodInfo:
    return PodInfo(Pod(metadata=ObjectMeta(name=name, namespace="default", uid=uid)))


#: In place of arrays that a record is without.
NOTHING: Any = None


def filter_record() -> FilterRecord:
    """Three nodes visited: the second fails NodeResourcesFit, the others pass."""
    return FilterRecord(
        plugins=("TaintToleration", "NodeResourcesFit"),
        visited=np.array([0, 1, 2], np.int32),
        failed_plugin=np.array([-1, 1, -1], np.int8),
        code=np.array([0, Code.UNSCHEDULABLE, 0], np.uint8),
        reason=np.array([0, REASONS.id_of((NO_CPU,)), 0], np.int32),
    )


def score_record() -> ScoreRecord:
    return ScoreRecord(
        plugins=("TaintToleration", "ImageLocality"),
        weights=(3, 1),
        rows=np.array([0, 2], np.int32),
        raw=np.array([[0, 0], [5, 70]], np.int64),
        final=np.array([[300, 300], [5, 70]], np.int64),
        total=np.array([305, 370], np.int64),
    )


def scheduled(attempt: int = 1, **changes: object) -> CycleRecord:
    """An attempt on nodes a, b, c (and d, not visited) that chose c."""
    record = CycleRecord(
        pod=pod(),
        profile="default-scheduler",
        attempt=attempt,
        started_ns=1_767_225_600_000_000_000,
        revision=7,
        node_names=("a", "b", "c", "d"),
        pre_filter={"NodeResourcesFit": None, "NodePorts": SKIP},
        filter=filter_record(),
        feasible=np.array([0, 2], np.int32),
        passed_filters=np.array([0, 2], np.int32),
        pre_score={"TaintToleration": None},
        score=score_record(),
        selected="c",
        reserve={"VolumeBinding": None},
    )
    for name, value in changes.items():
        setattr(record, name, value)
    return record


def failed(attempt: int = 1, **changes: object) -> CycleRecord:
    """An attempt on node a alone, which has no cpu left; preemption was no help."""
    record = CycleRecord(
        pod=pod(),
        profile="default-scheduler",
        attempt=attempt,
        started_ns=1_767_225_600_000_000_000,
        revision=7,
        node_names=("a",),
        pre_filter={"NodeResourcesFit": None},
        filter=FilterRecord(
            plugins=("TaintToleration", "NodeResourcesFit"),
            visited=np.array([0], np.int32),
            failed_plugin=np.array([1], np.int8),
            code=np.array([Code.UNSCHEDULABLE], np.uint8),
            reason=np.array([REASONS.id_of((NO_CPU,))], np.int32),
        ),
        feasible=np.zeros(0, np.int32),
        post_filter={"DefaultPreemption": (Status(Code.UNSCHEDULABLE, ("no",)), None, False)},
        result="unschedulable",
        failure_reason="Unschedulable",
        failure_message="0/1 nodes are available: 1 Insufficient cpu.",
    )
    for name, value in changes.items():
        setattr(record, name, value)
    return record


def bound(attempt: int = 1) -> BindingRecord:
    return BindingRecord(pod(), attempt, "c", 1_767_225_600_000_000_001, bind={"DefaultBinder": None})


def many_nodes(attempt: int, size: int) -> CycleRecord:
    """An attempt that visited, passed and scored `size` nodes and chose the first."""
    rows = np.arange(size, dtype=np.int32)
    plugins = tuple(f"Plugin{number}" for number in range(8))
    scores = np.tile(np.arange(size, dtype=np.int64)[::-1] % 100, (8, 1))
    return CycleRecord(
        pod=pod(),
        profile="default-scheduler",
        attempt=attempt,
        started_ns=1_767_225_600_000_000_000,
        revision=7,
        node_names=tuple(f"node-{row}" for row in range(size)),
        filter=FilterRecord(
            plugins, rows, np.full(size, -1, np.int8), np.zeros(size, np.uint8), np.zeros(size, np.int32)
        ),
        feasible=rows,
        score=ScoreRecord(plugins, (1,) * 8, rows, scores, scores, scores.sum(axis=0)),
        selected="node-0",
    )
