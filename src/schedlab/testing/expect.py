"""`expect`, as tests read it: of a pod, or of a whole cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import overload

from schedlab.laboratory.cluster import Cluster
from schedlab.laboratory.expectations import ClusterExpectation, PodExpectation, PodLike


class Expect:
    """What the fixture `expect` is: `expect("web").on("node-1")`, `expect(cluster).decisions("golden")`."""

    def __init__(self, usual: Callable[[], Cluster], folder: Path = Path(), *, update: bool = False) -> None:
        """`usual` gives the cluster that is meant when none is named; golden files are in `folder`."""
        self._usual, self._folder, self._update = usual, folder, update

    @overload
    def __call__(self, what: Cluster) -> ClusterExpectation: ...

    @overload
    def __call__(self, what: PodLike, cluster: Cluster | None = None) -> PodExpectation: ...

    def __call__(self, what: PodLike | Cluster, cluster: Cluster | None = None) -> PodExpectation | ClusterExpectation:
        """Return what can be expected of a cluster, or of a pod in one."""
        if isinstance(what, Cluster):
            return ClusterExpectation(what, self._folder, update=self._update)
        return PodExpectation(self._usual() if cluster is None else cluster, what)
