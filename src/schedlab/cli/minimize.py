"""`schedlab minimize`: the smallest part of a snapshot in which a pod's fate is the same, for a bug report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from cyclopts import Parameter

from schedlab.apimachinery.references import parse_pod
from schedlab.cli.output_file import write_file
from schedlab.kernel.words import counted
from schedlab.mirror.files import read_cluster
from schedlab.mirror.minimize import Minimizer
from schedlab.scheduler.config.file import read_configuration

#: What a server has given an object.
_FOREIGN: Final = ("uid", "resourceVersion", "managedFields", "generation", "creationTimestamp")


def minimize(
    file: Path,
    *,
    pod: Annotated[str, Parameter(help="The pod: NAMESPACE/NAME, pod/NAME or NAME.")],
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="File to write; stdout if not given.")
    ] = None,
    config: Annotated[Path | None, Parameter(help="A KubeSchedulerConfiguration; the snapshot's if not given.")] = None,
) -> int:
    """Take away from a snapshot whatever a pod's decision does not need. Nothing running is touched.

    Parameters
    ----------
    file
        A snapshot, or a file or folder with manifests.
    """
    found = read_cluster([file])
    objects = found.objects
    chosen = found.scheduler_config if config is None else read_configuration(config, "--config")
    minimizer = Minimizer(objects, parse_pod(pod, "default"), chosen, on_progress=_progress)
    small = minimizer.run()
    begin = "\r" if sys.stderr.isatty() else ""
    print(
        f"{begin}{counted(len(objects), 'object')} -> {len(small)} in {counted(minimizer.tries, 'try', 'tries')}",
        file=sys.stderr,
    )
    text = yaml.safe_dump_all(map(_manifest, small), sort_keys=False)
    if output is None:
        print(text, end="")
        return 0
    write_file(output, [text], "--output")
    return 0


def _manifest(obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object as a manifest: `kubectl apply` and `schedlab import` take it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _FOREIGN}
    return {**obj, "metadata": metadata}


def _progress(left: int, tries: int) -> None:
    if sys.stderr.isatty():
        print(
            f"\r{counted(left, 'object')} left, {counted(tries, 'try', 'tries')} ", end="", file=sys.stderr, flush=True
        )
