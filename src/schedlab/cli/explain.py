"""`schedlab explain pod/NAME`: why a pod is on its node, or on none, from the running simulator."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

import orjson
from cyclopts import Parameter

from schedlab.apimachinery.references import parse_pod
from schedlab.cli import simulator_api
from schedlab.cli.data_text import data_text, json_text
from schedlab.cli.explain_html import explain_html
from schedlab.cli.explain_text import explain_text
from schedlab.cli.explanation import explanation_of
from schedlab.cli.help_text import help_text
from schedlab.cli.kube_context import resolve, schedulers_beside
from schedlab.cli.plain_text import plain
from schedlab.cluster.home import Home
from schedlab.decisions.explain import DETAILED
from schedlab.kernel.errors import SchedlabError

EVERY_NODE = 1_000_000
_FOUND, _BAD_REQUEST, _NOT_FOUND = 200, 400, 404


def explain(
    pod: str,
    *,
    namespace: Annotated[
        str | None, Parameter(name=["--namespace", "-n"], help="Namespace of the pod; kubectl's if not given.")
    ] = None,
    attempt: Annotated[int | None, Parameter(help="Number of the attempt; the newest if not given.")] = None,
    uid: Annotated[
        str, Parameter(help="Uid of an earlier pod of the same name: schedlab decisions -o json has it.")
    ] = "",
    node: Annotated[
        tuple[str, ...],
        Parameter(negative="", help="Only this node, in full: every verdict and score. May be given several times."),
    ] = (),
    all_plugins: Annotated[bool, Parameter(negative="", help="The numbers of what passed, too.")] = False,
    vs: Annotated[
        str, Parameter(help="A node to compare with the chosen one (or with --node), plugin by plugin.")
    ] = "",
    output: Annotated[
        Literal["text", "wide", "json", "yaml", "html"], Parameter(name=["--output", "-o"], help="Form of the answer.")
    ] = "text",
    what_would_help: Annotated[
        bool, Parameter(negative="", help="Search the smallest changes with which the pod would be scheduled.")
    ] = False,
    name: Annotated[str | None, Parameter(help="Name of the cluster; the one kubectl points at if not given.")] = None,
) -> int:
    """Tell why a pod is where it is: every plugin's verdict on every node in numbers, the scores, the choice.

    Parameters
    ----------
    pod
        The pod: NAME, pod/NAME or NAMESPACE/NAME.
    """
    home, usual = resolve(name, namespace)
    where, pod_name = parse_pod(pod, usual)
    if what_would_help:
        _refuse_together({"--uid": uid, "--node": node, "--vs": vs, "--all-plugins": all_plugins})
        wanted = "" if attempt is None else f"?attempt={attempt}"
        path = f"/api/v1/pods/{quote(where, safe='')}/{quote(pod_name, safe='')}/what-would-help{wanted}"
        return _search(home, path, output)
    query: list[tuple[str, Any]] = [("node", each) for each in node]
    query += [
        (key, value) for key, value in (("attempt", attempt), ("uid", uid), ("vs", vs)) if value not in (None, "")
    ]
    if all_plugins or node:
        query.append(("allPlugins", "true"))
    if output not in ("text", "html"):
        query.append(("detailed", EVERY_NODE))
    if output == "wide":
        query.append(("formulas", DETAILED))
    path = f"/api/v1/decisions/{quote(where, safe='')}/{quote(pod_name, safe='')}"
    status, head, answer = _explanation(home, f"{path}?{urlencode(query)}" if query else path)
    if status == _BAD_REQUEST or head.hint:
        raise SchedlabError(head.message, hint=head.hint)
    if status != _FOUND:
        print(f"error: {head.message or answer.decode()}", file=sys.stderr)
        return 1
    print(shown(answer, output, one_node=bool(node), all_plugins=all_plugins))
    return 0


def _search(home: Home, path: str, output: Literal["text", "wide", "json", "yaml", "html"]) -> int:
    match output:
        case "text":
            print(plain(help_text(simulator_api.ask(home, "GET", path))))
        case "json" | "yaml":
            print(data_text(simulator_api.ask(home, "GET", path), output))
        case _:
            raise SchedlabError(f"a search has no form {output}", location="-o", hint="choose text, json or yaml")
    return 0


def _refuse_together(options: Mapping[str, object]) -> None:
    for option, given in options.items():
        if given:
            raise SchedlabError(
                "says nothing of what would help", location=option, hint="leave it out, or leave out --what-would-help"
            )


def _explanation(home: Home, path: str) -> tuple[int, simulator_api.Head, bytes]:
    """Ask the cluster; of what it has not decided itself a scheduler that runs alone beside it may know more."""
    status, head, answer = simulator_api.fetch(home, path)
    if status == _NOT_FOUND or head.placed_by:
        for beside in schedulers_beside(home):
            code, body = simulator_api.get(beside, path)
            if code == _FOUND:
                by = f"schedlab scheduler --name {beside.path.name}"
                return _FOUND, simulator_api.Head(), orjson.dumps({**body, "by": by})
    return status, head, answer


def shown(
    answer: bytes, output: Literal["text", "wide", "json", "yaml", "html"], *, one_node: bool, all_plugins: bool
) -> str:
    """Return an explanation, which is JSON, in one of the forms of output."""
    if output == "json" or output == "yaml":  # noqa: PLR1714 - mypy narrows a union of words so only
        return json_text(answer, output)
    with simulator_api.uncollected():
        explanation = explanation_of(answer)
        if output == "html":
            return explain_html(explanation)
        return plain(explain_text(explanation, wide=output == "wide", one_node=one_node, all_plugins=all_plugins))
