"""Options and the progress bar of verbs that make many runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from schedlab.kernel.errors import SchedlabError

WorkersOption: TypeAlias = Annotated[
    int, Parameter(help="Runs that are made at the same time, a process each; 0 is one per processor.")
]
ResultsOption: TypeAlias = Annotated[
    Path | None,
    Parameter(
        name=["--directory", "-d"],
        help="Folder for the results, made if it is not there; what is finished in it is not made again.",
    ),
]


def worker_count(workers: int) -> int:
    """Return how many workers are meant; raises SchedlabError."""
    if workers < 0:
        raise SchedlabError(f"{workers} workers do nothing", location="--workers", hint="give 1 or more, or 0")
    return workers or os.cpu_count() or 1


@contextmanager
def progress_bar(total: int | None, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how many of `total` are over, and how many of them failed."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(unit, total=total)

        def show(over: int, failed: int) -> None:
            progress.update(bar, completed=over, description=f"{unit}, {failed} failed" if failed else unit)

        yield show
