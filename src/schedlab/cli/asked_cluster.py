"""The cluster that a question is about: the running one, or one made of files for this question alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import resolve
from schedlab.kernel.errors import SchedlabError

if TYPE_CHECKING:
    from schedlab.laboratory import Cluster


class Answer(Protocol):
    """What has JSON-shaped data."""

    def data(self) -> dict[str, Any]: ...


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class AskedCluster:
    """Which cluster is asked."""

    files: Annotated[
        tuple[Path, ...],
        Parameter(
            name="--from",
            negative="",
            help="A snapshot, or files and folders of manifests, to ask in place of the running cluster. May be given "
            "several times.",
        ),
    ] = ()
    config: Annotated[
        Path | None, Parameter(help="With --from: a KubeSchedulerConfiguration; the snapshot's if not given.")
    ] = None

    def namespace(self, name: str | None, given: str | None) -> str:
        """Return the namespace of objects that name none: the one given, kubectl's, or of files `default`."""
        return "default" if self.files and given is None else resolve(name, given)[1]

    def ask(
        self, name: str | None, path: str, body: Mapping[str, Any], question: Callable[[Cluster], Answer]
    ) -> dict[str, Any]:
        """Return the answer: to a call of the running cluster's REST API, or to the same question to one of files."""
        if not self.files:
            if self.config is not None:
                raise SchedlabError(
                    "the running cluster has a configuration", location="--config", hint="name files: --from"
                )
            return simulator_api.ask(resolve(name, None)[0], "POST", path, body)
        # Imported only here: questions to a running cluster need nothing of it.
        from schedlab.laboratory import Cluster

        cluster = Cluster.from_files(*self.files, config=self.config, strict=False)
        for problem in cluster.refused:
            print(f"warning: left out: {problem}", file=sys.stderr)
        cluster.run("1m")
        return question(cluster).data()


RUNNING: Final = AskedCluster()
