"""`schedlab plan`: how many nodes a workload needs, and where pods land when nodes are emptied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from schedlab.cli.asked_cluster import RUNNING, AskedCluster
from schedlab.cli.kube_context import NameOption
from schedlab.cli.manifests import read_manifest, read_manifests
from schedlab.cli.options import read_seconds
from schedlab.cli.plan_text import drain_text, nodes_text
from schedlab.kernel.errors import SchedlabError

plan = App(name="plan", help="Plan nodes for a workload, and the emptying of nodes.")

_Output = Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")]


@plan.command
def nodes(
    *workload: str,
    template: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="A file with a Node: the kind of node to plan with. May be given several times."),
    ],
    cluster: AskedCluster = RUNNING,
    namespace: Annotated[
        str | None,
        Parameter(name=["--namespace", "-n"], help="Namespace of what names none; kubectl's if not given."),
    ] = None,
    output: _Output = "text",
    name: NameOption = None,
) -> int:
    """Find the least number of new nodes, of each template by itself, with which no pod of a workload waits.

    Parameters
    ----------
    workload
        Files with manifests; - is standard input.
    """
    objects = [one for source in workload for one in read_manifests(source)]
    if not objects:
        raise SchedlabError(
            "no workload is given", hint="name files: schedlab plan nodes web.yaml --template node.yaml"
        )
    where = cluster.namespace(name, namespace)

    def ask(node: Mapping[str, Any]) -> dict[str, Any]:
        return cluster.ask(
            name,
            "/api/v1/plan/nodes",
            {"workload": objects, "template": node, "namespace": where},
            lambda made: made.plan_nodes(*objects, template=node, namespace=where),
        )

    answers = [ask(read_manifest(source)) for source in template]
    print(json.dumps(answers, indent=2) if output == "json" else "\n\n".join(map(nodes_text, answers)))
    return 0


@plan.command
def drain(
    *,
    selector: Annotated[
        str, Parameter(name=["--selector", "-l"], help="Labels of the nodes: topology.kubernetes.io/zone=b.")
    ],
    duration: Annotated[
        str, Parameter(name="--for", help="How long evictions may take and pods may look for places.")
    ] = "2m",
    cluster: AskedCluster = RUNNING,
    output: _Output = "text",
    name: NameOption = None,
) -> int:
    """Cordon all nodes with some labels, evict their pods within disruption budgets, and tell where they land.

    Done on a fork: the cluster itself is not touched.
    """
    seconds = read_seconds(duration, "--for")
    answer = cluster.ask(
        name,
        "/api/v1/plan/drain",
        {"selector": selector, "forSeconds": seconds},
        lambda made: made.plan_drain(selector, duration=seconds),
    )
    print(json.dumps(answer, indent=2) if output == "json" else drain_text(answer))
    return 0
