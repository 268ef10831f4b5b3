"""Alibaba's GPU trace of 2023 (openb): node lists and pod lists, with parts of GPUs and models of cards.

A node of 8 GPUs has 8,000 `alibabacloud.com/gpu-milli`; a pod asks for num_gpu times gpu_milli of them, and by node
affinity for the models of gpu_spec. A pod runs from when it was scheduled to when it was deleted. The lists with more pods of
several GPUs (multigpu) have no times, models and classes: their pods come one after the other at the start and stay.

Mirrors: cluster-trace-gpu-v2023 of github.com/alibaba/clusterdata
Differs: thousandths are counted per node: kube-scheduler does not know on which card they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from schedlab.traces.model import GPU_COUNT, GPU_MILLI, GPU_MODEL, Manifest, TimedPod, Trace, in_order, node, pod
from schedlab.traces.rows import Row, read_rows

_NODE: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_CREATED: Final = "creation_time"


def read_alibaba(nodes: Path, pods: Path) -> Trace:
    """Read a node list and a pod list; raises SchedlabError."""
    return in_order([_node(row) for row in read_rows(nodes, _NODE)], [_pod(row) for row in read_rows(pods, _POD)])


def _node(row: Row) -> Manifest:
    gpus, model = int(row.number("gpu", 0)), row.text("model")
    amounts = {"cpu": f"{row.number('cpu_milli'):g}m", "memory": f"{row.number('memory_mib'):.0f}Mi"}
    if gpus:
        amounts |= {GPU_MILLI: str(1000 * gpus)}
    return node(row.text("sn"), amounts, {GPU_MODEL: model} if gpus and model else {})


def _pod(row: Row) -> TimedPod:
    gpus, milli, models = int(row.number("num_gpu", 0)), int(row.number("gpu_milli", 0)), row.text("gpu_spec")
    requests = {"cpu": f"{row.number('cpu_milli'):g}m", "memory": f"{row.number('memory_mib'):.0f}Mi"}
    annotations = {}
    if gpus:
        requests[GPU_MILLI] = str(gpus * milli)
        annotations = {GPU_COUNT: str(gpus), GPU_MILLI: str(milli)} | ({GPU_MODEL: models} if models else {})
    qos = row.text("qos")
    spec = _with_models(models.split("|")) if gpus and models else {}
    manifest = pod(row.text("name"), requests, {"qos": qos} if qos else {}, annotations, **spec)
    created_s = row.number(_CREATED) if _CREATED in row.values else 0.0
    began_s = row.number("scheduled_time", created_s)
    run_time_s = row.number("deletion_time") - began_s if row.text("deletion_time") else None
    return TimedPod(created_s, run_time_s, manifest)


def _with_models(models: list[str]) -> Mapping[str, Any]:
    expression = {"key": GPU_MODEL, "operator": "In", "values": models}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
