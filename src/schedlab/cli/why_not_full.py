"""`schedlab why-not-full`: what keeps free capacity from being used."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.aggregate_text import not_full_text
from schedlab.cli.data_text import data_text
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.plain_text import plain


def why_not_full(
    *,
    output: Annotated[
        Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"], help="Form of the answer.")
    ] = "text",
    name: NameOption = None,
) -> int:
    """Tell how much of each resource is free, on which nodes that is of no use and why, and what still fits."""
    answer = simulator_api.ask(resolve(name, None)[0], "GET", "/api/v1/why-not-full")
    print(plain(not_full_text(answer)) if output == "text" else data_text(answer, output))
    return 0
