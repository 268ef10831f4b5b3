"""`schedlab explain pod/NAME`: why a pod is on its node, or on none, from the running simulator."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal
from urllib.parse import quote

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.explain_text import explain_text
from schedlab.cli.help_text import help_text
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError


def explain(
    pod: str,
    *,
    namespace: Annotated[str, Parameter(name=["--namespace", "-n"], help="Namespace of the pod.")] = "default",
    attempt: Annotated[int | None, Parameter(help="Number of the attempt; the newest if not given.")] = None,
    output: Annotated[
        Literal["text", "wide", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")
    ] = "text",
    what_would_help: Annotated[
        bool, Parameter(negative="", help="Search the smallest changes with which the pod would be scheduled.")
    ] = False,
    name: Annotated[str, Parameter(help="Name of the cluster.")] = "default",
) -> int:
    """Tell why a pod is where it is: every plugin's verdict on every node, the scores, the choice, the runner-up.

    Parameters
    ----------
    pod
        The pod: NAME, pod/NAME or NAMESPACE/NAME.
    """
    where, pod_name = parse_pod(pod, namespace)
    query = "" if attempt is None else f"?attempt={attempt}"
    if what_would_help:
        path = f"/api/v1/pods/{quote(where, safe='')}/{quote(pod_name, safe='')}/what-would-help{query}"
        answer = simulator_api.ask(Home.of(name), "GET", path)
        print(json.dumps(answer, indent=2) if output == "json" else help_text(answer))
        return 0
    path = f"/api/v1/decisions/{quote(where, safe='')}/{quote(pod_name, safe='')}{query}"
    status, body = simulator_api.get(Home.of(name), path)
    if status != 200:
        print(f"error: {body.get('message', body)}", file=sys.stderr)
        return 1
    if output == "json":
        print(json.dumps(body, indent=2))
    else:
        print(explain_text(body, wide=output == "wide"))
    return 0


def parse_pod(text: str, namespace: str) -> tuple[str, str]:
    """Return (namespace, name) of `NAME`, `pod/NAME` or `NAMESPACE/NAME`; raises SchedlabError for anything else."""
    parts = text.split("/")
    if len(parts) == 1 and parts[0]:
        return namespace, parts[0]
    if len(parts) == 2 and all(parts):
        return (namespace, parts[1]) if parts[0] in {"pod", "pods", "po"} else (parts[0], parts[1])
    raise SchedlabError(f"{text!r} names no pod", hint="write NAME, pod/NAME or NAMESPACE/NAME")
