"""A cluster that goes on where another one stands, or stood, on a clock of its own.

Objects are shared until either side changes one. The scheduler's queue and cache are copied; bindings in flight are
dropped and the other parts begin anew, as after a restart. The same cluster always forks into the same cluster. HTTP
extenders are asked as by the original, but never told to bind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from schedlab.cluster.cluster import Cluster
from schedlab.cluster.fork_caller import ForkCaller, calls_out
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom


def fork(
    cluster: Cluster,
    *,
    revision: int | None = None,
    scheduler_config: tuple[Mapping[str, Any] | None, str] | None = None,
    lean: bool = False,
) -> Cluster:
    """Return a fork of a cluster as it is now or was at a kept revision, started, on a virtual clock of that time.

    `scheduler_config` is another configuration (None: the default one) and where it comes from; with it, or for a
    revision, the scheduler begins anew, too. `lean`: no kubelet runs pods, filters stop at their first no, nothing is kept
    of the past. Raises SchedlabError when the revision is not kept.
    """
    settings = replace(cluster.settings, nodes=0, stages=())
    if lean:
        settings = replace(settings, kubelets=False, full=False, annotations="off", history=0)
    if scheduler_config is not None:
        settings = replace(
            settings, scheduler_config=scheduler_config[0], scheduler_config_location=scheduler_config[1]
        )
    then_ns = None if revision is None else cluster.past.time_of(revision)
    if scheduler_config is not None and revision is None:
        revision = cluster.store.durable_revision
    made = Cluster(
        VirtualClock(cluster.clock.now_ns() if then_ns is None else then_ns),
        SeededRandom(cluster.store.durable_revision if revision is None else revision),
        settings,
        ForkCaller(cluster.scheduler.extenders) if calls_out(cluster.caller) else None,
        root_ca=cluster.root_ca,
        original=cluster,
        revision=revision,
    )
    if cluster.runs_scheduler_pods:
        made.run_scheduler_pods()
    made.start()
    return made
