"""`schedlab fit POD.yaml`: how many of a pod fit now, and what stops the next one."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli.asked_cluster import RUNNING, AskedCluster
from schedlab.cli.kube_context import NameOption
from schedlab.cli.manifests import read_manifest
from schedlab.cli.plan_text import fit_text


def fit(
    pod: str,
    *,
    cluster: AskedCluster = RUNNING,
    namespace: Annotated[
        str | None,
        Parameter(name=["--namespace", "-n"], help="Namespace of a pod that names none; kubectl's if not given."),
    ] = None,
    limit: Annotated[int, Parameter(help="So many are tried at most.")] = 10_000,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Place copies of a pod on a fork of the cluster until one does not fit. The cluster itself is not touched.

    Parameters
    ----------
    pod
        A file with a Pod, or with a workload that has a template of one; - is standard input.
    """
    manifest, where = read_manifest(pod), cluster.namespace(name, namespace)
    answer = cluster.ask(
        name,
        "/api/v1/fit",
        {"pod": manifest, "namespace": where, "limit": limit},
        lambda made: made.fit(manifest, namespace=where, limit=limit),
    )
    print(json.dumps(answer, indent=2) if output == "json" else fit_text(answer))
    return 0
