"""`schedlab import-trace`: make a scenario of a published trace, or of any CSV of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from schedlab.apimachinery.quantity import QuantityError, parse
from schedlab.cli.output_file import write_file
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.traces.alibaba import read_alibaba
from schedlab.traces.azure import read_azure
from schedlab.traces.google import read_google
from schedlab.traces.mapped import read_mapped
from schedlab.traces.model import Trace
from schedlab.traces.writing import scenario_files


def import_trace(
    form: Literal["alibaba-gpu-2023", "google-2011", "azure-2019", "csv"],
    *,
    pods: Annotated[
        Path, Parameter(help="The pod list, task events, table of machines, or CSV of jobs; may end in .gz.")
    ],
    nodes: Annotated[
        Path | None, Parameter(help="The node list, machine events, or CSV of nodes; azure-2019 has none.")
    ] = None,
    mapping: Annotated[Path | None, Parameter(help="For csv: the TraceMapping that says which column is what.")] = None,
    largest_cpu: Annotated[float, Parameter(help="For google-2011: cores of the largest machine.")] = 64,
    largest_memory: Annotated[str, Parameter(help="For google-2011: memory of the largest machine.")] = "256Gi",
    limit: Annotated[int | None, Parameter(help="Only so many pods, the first ones.")] = None,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="Folder to write; it is made if it is not there.")],
) -> int:
    """Write a folder with a scenario that `schedlab run` takes; docs/reference/traces.md tells what becomes of what.

    Parameters
    ----------
    form
        What the files are.
    """
    if limit is not None and limit < 1:
        raise SchedlabError(f"{limit} pods are no trace", location="--limit", hint="give 1 or more")
    trace = _read(form, pods, nodes, mapping, largest_cpu, _gibibytes(largest_memory))
    if not trace.pods:
        raise SchedlabError("holds no pods", location=str(pods), hint="name a file with rows")
    chosen = trace if limit is None else Trace(trace.objects, trace.pods[:limit])
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SchedlabError(
            f"cannot be made: {error.strerror}", location=str(output), hint="name another folder"
        ) from error
    for name, text in scenario_files(chosen, form):
        write_file(output / name, [text], "--output")
    print(
        f"{counted(len(chosen.objects), 'object')} and {counted(len(chosen.pods), 'pod')}; run it: schedlab run {output / 'scenario.yaml'}"
    )
    return 0


def _read(
    form: str, pods: Path, nodes: Path | None, mapping: Path | None, largest_cpu: float, largest_gib: float
) -> Trace:
    if form != "csv" and mapping is not None:
        raise SchedlabError(f"{form} needs no mapping", location="--mapping", hint="leave it out")
    match form:
        case "alibaba-gpu-2023":
            return read_alibaba(_needed(nodes, form), pods)
        case "google-2011":
            return read_google(_needed(nodes, form), pods, cpu=largest_cpu, memory_gib=largest_gib)
        case "azure-2019":
            if nodes is not None:
                raise SchedlabError("azure-2019 has no nodes", location="--nodes", hint="change scenario.yaml")
            return read_azure(pods)
        case _:
            if mapping is None:
                raise SchedlabError("csv needs a mapping", location="--mapping", hint="see docs/reference/traces.md")
            return read_mapped(mapping, pods, nodes)


def _needed(nodes: Path | None, form: str) -> Path:
    if nodes is None:
        raise SchedlabError(f"{form} has nodes, too", location="--nodes", hint="name the file")
    return nodes


def _gibibytes(text: str) -> float:
    try:
        return parse(text).value() / 2**30
    except QuantityError as error:
        raise SchedlabError(str(error), location="--largest-memory", hint="write a size like 256Gi") from error
