"""`schedlab why-not-full`: what keeps free capacity from being used."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.aggregate_text import not_full_text
from schedlab.cluster.home import Home


def why_not_full(
    *,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: Annotated[str, Parameter(help="Name of the cluster.")] = "default",
) -> int:
    """Tell how much of each resource is free, on which nodes that is of no use and why, and what still fits."""
    answer = simulator_api.ask(Home.of(name), "GET", "/api/v1/why-not-full")
    print(json.dumps(answer, indent=2) if output == "json" else not_full_text(answer))
    return 0
