"""`schedlab what-if --drain NODE …`: which pods would move, and why; the cluster itself is not touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.data_text import data_text
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.manifests import read_manifests
from schedlab.cli.options import read_seconds
from schedlab.cli.plain_text import plain
from schedlab.cli.what_if_text import what_if_text
from schedlab.kernel.errors import SchedlabError


def _several(text: str, *names: str) -> Parameter:
    return Parameter(name=names or None, negative="", help=f"{text} May be given several times.")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Changes:
    """What to change, made in the order of these options."""

    filename: Annotated[
        tuple[str, ...], _several("Manifests to apply: a YAML file, or - for standard input.", "--filename", "-f")
    ] = ()
    add: Annotated[tuple[str, ...], _several("The same as --filename.")] = ()
    delete: Annotated[tuple[str, ...], _several("Delete an object: KIND/NAME.")] = ()
    cordon: Annotated[tuple[str, ...], _several("Cordon a node.")] = ()
    uncordon: Annotated[tuple[str, ...], _several("Uncordon a node.")] = ()
    drain: Annotated[tuple[str, ...], _several("Cordon a node and evict its pods within their budgets.")] = ()
    scale: Annotated[tuple[str, ...], _several("Scale a workload: KIND/NAME=REPLICAS.")] = ()
    patch: Annotated[tuple[str, ...], _several("Patch an object (strategic merge): KIND/NAME=JSON.")] = ()
    scheduler_config: Annotated[
        Path | None,
        Parameter(help="Place all pods anew with this KubeSchedulerConfiguration and with the one in force."),
    ] = None

    def data(self, namespace: str) -> Iterator[dict[str, Any]]:
        """Yield the changes as the REST API takes them; raises SchedlabError."""
        for source in (*self.filename, *self.add):
            for manifest in read_manifests(source):
                yield {"apply": manifest, "namespace": namespace, "place": source}
        for target in self.delete:
            yield {"delete": target, "namespace": namespace, "place": f"--delete {target}"}
        for kind in ("cordon", "uncordon", "drain"):
            for node in getattr(self, kind):
                yield {kind: node, "place": f"--{kind} {node}"}
        for text in self.scale:
            target, number = _split(text, "--scale", "deployment/web=5")
            replicas = int(number) if number.isascii() and number.isdecimal() else number
            yield {"scale": target, "replicas": replicas, "namespace": namespace, "place": f"--scale {text}"}
        for text in self.patch:
            target, body = _split(text, "--patch", """node/n='{"metadata":{"labels":{"disk":"ssd"}}}'""")
            yield {"patch": target, "change": _json(body, text), "namespace": namespace, "place": f"--patch {target}"}
        if self.scheduler_config is not None:
            location = str(self.scheduler_config)
            (config,) = read_manifests(location)[:1]
            yield {"schedulerConfig": config, "location": location, "place": location}


def what_if(
    *,
    changes: Changes = Changes(),
    at: Annotated[
        int | None,
        Parameter(
            help="Revision of the past to begin at, as `schedlab decisions -o json` has them; tells what came as well."
        ),
    ] = None,
    duration: Annotated[str, Parameter(name="--for", help="How long the fork runs after the changes.")] = "2m",
    namespace: Annotated[
        str | None, Parameter(name=["--namespace", "-n"], help="Namespace of what is named; kubectl's if not given.")
    ] = None,
    output: Annotated[
        Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"], help="Form of the answer.")
    ] = "text",
    name: NameOption = None,
) -> int:
    """Make changes on a fork of the cluster, and tell which pods move and why. The cluster itself is not touched."""
    home, chosen = resolve(name, namespace)
    given = list(changes.data(chosen))
    if not given:
        raise SchedlabError(
            "nothing is to change", hint="say what: schedlab what-if --drain NODE; see schedlab what-if --help"
        )
    body = {"changes": given, "forSeconds": read_seconds(duration, "--for"), **({} if at is None else {"at": at})}
    answer = simulator_api.ask(home, "POST", "/api/v1/what-if", body)
    print(plain(what_if_text(answer)) if output == "text" else data_text(answer, output))
    return 0


def _split(text: str, option: str, example: str) -> tuple[str, str]:
    target, sign, value = text.partition("=")
    if not sign or not target:
        raise SchedlabError(f"{text!r} has no =", location=option, hint=f"write it like {option} {example}")
    return target, value


def _json(text: str, given: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SchedlabError(
            f"{text!r} is not JSON: {error}", location=f"--patch {given}", hint="quote it for the shell"
        ) from error
    return value
