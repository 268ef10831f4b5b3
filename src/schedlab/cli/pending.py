"""`schedlab pending`: which pods wait, for which reasons, and what would help."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlencode

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.aggregate_text import pending_text
from schedlab.cli.data_text import data_text
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.plain_text import plain
from schedlab.kernel.errors import SchedlabError


def pending(
    *,
    namespace: Annotated[
        str, Parameter(name=["--namespace", "-n"], help="Only pods of this namespace; all if not given.")
    ] = "",
    fixes: Annotated[int, Parameter(help="For how many groups of pods a change is searched, the largest first.")] = 10,
    output: Annotated[
        Literal["text", "json", "yaml"], Parameter(name=["--output", "-o"], help="Form of the answer.")
    ] = "text",
    name: NameOption = None,
) -> int:
    """Tell which pods wait, grouped by their reasons, and the cheapest change that helps each group."""
    if fixes < 0:
        raise SchedlabError(f"{fixes} is no number of groups", location="--fixes", hint="give 0 or more")
    query = urlencode({"namespace": namespace, "fixes": fixes})
    answer = simulator_api.ask(resolve(name, None)[0], "GET", f"/api/v1/pending?{query}")
    print(plain(pending_text(answer)) if output == "text" else data_text(answer, output))
    return 0
