"""`schedlab import`: take over a real cluster once, or what files hold of one, into the running simulator."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, kubeconfig_paths, resolve
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.mirror.manifests import read_objects


def import_cluster(
    *paths: Path,
    kubeconfig: Annotated[
        Path | None, Parameter(help="How to reach the cluster; KUBECONFIG or ~/.kube/config if not given.")
    ] = None,
    context: Annotated[str, Parameter(help="Context of the kubeconfig.")] = "",
    namespace: Annotated[
        tuple[str, ...],
        Parameter(
            name=["--namespace", "-n"], negative="", help="Take only these namespaces. May be given several times."
        ),
    ] = (),
    selector: Annotated[str, Parameter(name=["--selector", "-l"], help="Label selector, as with kubectl.")] = "",
    selected: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            help="Kinds that the selector applies to, as kubectl names them; pods if not given, '*' is all of them.",
        ),
    ] = (),
    controllers: Annotated[
        Literal["live", "owners", "none"],
        Parameter(
            help="Owners of pods: live, they act here; owners, they are here and nobody acts on them; none, pods come "
            "without them."
        ),
    ] = "live",
    more: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help="Further kinds to take, as kubectl names them; custom ones as widgets.example.com."
        ),
    ] = (),
    name: NameOption = None,
) -> int:
    """Bring a real cluster into the simulated one: everything that decides where pods go. The source is only read.

    Parameters
    ----------
    paths
        Files and folders to take instead of a running cluster: `kubectl get -o yaml`, `kubectl cluster-info dump`,
        must-gather, manifests, the output of helm and kustomize.
    """
    home = resolve(name, None)[0]
    if paths:
        return _from_files(home, paths)
    asked = {
        "kubeconfig": kubeconfig_paths(kubeconfig),
        "context": context,
        "namespaces": list(namespace),
        "selector": selector,
        "selected": list(selected),
        "controllers": controllers,
        "more": list(more),
    }
    return _from_cluster(home, asked)


def _from_cluster(home: Home, asked: Mapping[str, Any]) -> int:
    report: Mapping[str, Any] = {}
    console = Console(stderr=True)
    columns = (TextColumn("{task.description:45}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("asking the cluster", total=None)
        for line in simulator_api.stream(home, "POST", "/api/v1/sources/import", asked):
            if "error" in line:
                raise SchedlabError(line["error"], hint=line.get("hint", "try again: what is there already stays"))
            if "report" in line:
                report = line["report"]
            else:
                progress.update(task, description=line["resource"], completed=line["seen"], total=line["total"])
    if not report:
        raise SchedlabError("the simulator ended before the import did", hint="begin it again: what is there stays")
    print("\n".join(report_lines(report)))
    return 1 if report.get("lacking") else 0


def _from_files(home: Home, paths: Sequence[Path]) -> int:
    objects, warnings = read_objects(paths)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    answer = simulator_api.ask(home, "POST", "/api/v1/objects", objects)
    print(f"{counted(answer['objects'], 'object')} loaded")
    for problem in answer["problems"]:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if answer["problems"] else 0


def report_lines(report: Mapping[str, Any]) -> list[str]:
    """Word the report of an import: what was taken, what was changed, what is missing and what that affects."""
    lines = [f"{resource:45} {count:7} taken" for resource, count in report.get("taken", {}).items()]
    lines += [f"{resource:45} {count:7} here already" for resource, count in report.get("unchanged", {}).items()]
    lines += [f"changed: {what} ({count})" for what, count in report.get("changed", {}).items()]
    lines += [f"left out: {what} ({count})" for what, count in report.get("leftOut", {}).items()]
    lines += [f"  {problem}" for problem in report.get("problems", ())[:20]]
    lines += [f"could not be listed: {resource}: {why}" for resource, why in report.get("lacking", {}).items()]
    return lines or ["nothing was taken"]
