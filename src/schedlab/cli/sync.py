"""`schedlab sync`: follow a real cluster; its pods are scheduled by our scheduler, and the places can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, kubeconfig_paths, resolve
from schedlab.kernel.words import counted

_PATH = "/api/v1/sources/sync"


def sync(
    action: Literal["start", "status", "stop"] = "start",
    *,
    kubeconfig: Annotated[
        Path | None, Parameter(help="How to reach the cluster; KUBECONFIG or ~/.kube/config if not given.")
    ] = None,
    context: Annotated[str, Parameter(help="Context of the kubeconfig.")] = "",
    compare: Annotated[bool, Parameter(help="With status: list the pods that are placed differently.")] = False,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Follow a real cluster, from now on. The source is only watched.

    Parameters
    ----------
    action
        start (the default), status: how far it is and how far the two schedulers agree, or stop.
    """
    home = resolve(name, None)[0]
    if action == "stop":
        simulator_api.ask(home, "DELETE", _PATH)
        print("the sync has stopped")
        return 0
    if action == "start":
        simulator_api.ask(home, "POST", _PATH, {"kubeconfig": kubeconfig_paths(kubeconfig), "context": context})
        print("following; `schedlab sync status` tells how far it is")
        return 0
    status = simulator_api.ask(home, "GET", _PATH)
    print(json.dumps(status, indent=2) if output == "json" else "\n".join(status_lines(status, compare=compare)))
    return 0


def status_lines(status: Mapping[str, Any], *, compare: bool) -> list[str]:
    """Word how far a sync is."""
    if status["state"] == "stopped":
        return ["nothing is followed"]
    lines = [
        f"state     {status['state']}",
        f"waiting   {counted(status['backlog'], 'change')}, {status['lagSeconds']:.3f} s behind",
    ]
    if status.get("lacking"):
        lines.append(f"lacking   {', '.join(status['lacking'])}")
    lines += [f"error     {resource}: {message}" for resource, message in status.get("errors", {}).items()]
    for key, word in (("done", "done"), ("tolerated", "odd"), ("skipped", "left out"), ("failed", "failed")):
        lines += [f"{word:9} {count:6}  {what}" for what, count in status[key].items()]
    agreement = status["agreement"]
    both = agreement["same"] + agreement["different"]
    if both:
        share = f"{100 * agreement['share']:.1f} % of {counted(both, 'pod')}"
        lines.append(
            f"placed as there: {share}; only there {agreement['onlyThere']}, only here {agreement['onlyHere']}"
        )
    if compare:
        lines += [f"{count:6}  {why}" for why, count in agreement["reasons"].items()]
        lines += [
            f"  {pod['pod']}: there {pod['there']}, here {pod['here']}: {pod['why']}"
            for pod in agreement["differentPods"]
        ]
    return lines
