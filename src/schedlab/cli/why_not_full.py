"""`schedlab why-not-full`: what keeps free capacity from being used."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.aggregate_text import not_full_text
from schedlab.cli.kube_context import NameOption, resolve


def why_not_full(
    *,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Tell how much of each resource is free, on which nodes that is of no use and why, and what still fits."""
    answer = simulator_api.ask(resolve(name, None)[0], "GET", "/api/v1/why-not-full")
    print(json.dumps(answer, indent=2) if output == "json" else not_full_text(answer))
    return 0
