"""`schedlab trace pod/NAME`: the whole way of a pod, with times, from the running simulator."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote

from cyclopts import Parameter

from schedlab.apimachinery.references import parse_pod
from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.plain_text import plain
from schedlab.kernel.words import counted


def trace(
    pod: str,
    *,
    namespace: Annotated[
        str | None, Parameter(name=["--namespace", "-n"], help="Namespace of the pod; kubectl's if not given.")
    ] = None,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Tell the whole way of a pod: who asked for it, the queue, each attempt, the binding, its node, until it is gone.

    Parameters
    ----------
    pod
        The pod: NAME, pod/NAME or NAMESPACE/NAME.
    """
    home, chosen = resolve(name, namespace)
    where, pod_name = parse_pod(pod, chosen)
    path = f"/api/v1/trace/{quote(where, safe='')}/{quote(pod_name, safe='')}"
    status, body = simulator_api.get(home, path)
    if status != 200:
        print(f"error: {body.get('message', body)}", file=sys.stderr)
        return 1
    print(json.dumps(body, indent=2) if output == "json" else plain("\n".join(trace_text(body))))
    return 0


def trace_text(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show a trace."""
    spans = body["spans"]
    yield f"Pod {body['namespace']}/{body['name']}, from {spans[0]['at'] if spans else 'nowhere'}"
    yield ""
    width = max((len(span["step"]) for span in spans), default=0)
    for span in spans:
        yield f"  +{span['afterSeconds']:<12.6f} {span['step']:<{width}}  {span['text']}"
    if body["forgotten"]:
        yield f"  {counted(body['forgotten'], 'step in between is', 'steps in between are')} forgotten"
    reserved = body["reservation"]
    if reserved is not None:
        yield ""
        yield from reservation_text(reserved)


def reservation_text(reserved: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show what a node reserves for a pod."""
    yield f"Reserved on {reserved['node']}, class {reserved['qosClass']} (cpu.weight: linear for the pod, the runtime's for containers)"
    yield f"  pod  {reserved['pod']['path']}"
    yield f"       {_settings(reserved['pod']['settings'])}"
    for container in reserved["containers"]:
        yield f"  container {container['container']}"
        yield f"       {_settings(container['settings'])} oom_score_adj={container['oomScoreAdj']}"
    for direction, told in reserved["bandwidth"].items():
        yield f"  {direction}  {told.get('error') or str(told['bitsPerSecond']) + ' bit/s'}"


def _settings(settings: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value!r}" if " " in value else f"{key}={value}" for key, value in settings.items())
