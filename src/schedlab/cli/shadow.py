"""`schedlab shadow`: where other configurations would have put the pods, and the plugin that flipped each choice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.kernel.words import counted


def shadow(
    *,
    limit: Annotated[int, Parameter(help="So many pods are listed, the newest.")] = 20,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Tell what the configurations of `schedlab up --shadow-config` would have decided otherwise."""
    answer = simulator_api.ask(resolve(name, None)[0], "GET", "/api/v1/shadows")
    if output == "json":
        print(json.dumps(answer, indent=2))
        return 0
    lines = [line for shadow in answer["shadows"] for line in shadow_lines(shadow, limit)]
    print("\n".join(lines) or "there is no shadow; start with: schedlab up --shadow-config FILE")
    return 0


def shadow_lines(shadow: Mapping[str, Any], limit: int) -> list[str]:
    """Word what one shadow would have done."""
    lines = [
        f"{shadow['name']} ({shadow['location']}): {shadow['differences']} of {counted(shadow['compared'], 'attempt differs', 'attempts differ')}"
    ]
    if shadow["unanswered"]:
        lines.append(
            f"  {counted(shadow['unanswered'], 'attempt was', 'attempts were')} of schedulers that it does not have"
        )
    lines += [f"  {count:6} because of {plugin}" for plugin, count in shadow["byPlugin"].items()]
    for pod in shadow["pods"][:limit]:
        here, there = pod["node"] or "no node", pod["shadowNode"] or "no node"
        lines.append(f"  {pod['pod']}: {here}, shadow {there}: {pod['plugin'] or pod['how']}: {pod['reason']}")
    return lines
