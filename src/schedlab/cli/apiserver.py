"""`schedlab apiserver`: the Kubernetes API alone, for schedulers, controllers and kubelets of other processes."""

from __future__ import annotations

import os
import socket
from typing import Annotated

import uvloop
from cyclopts import Parameter

from schedlab.apimachinery.features import FeatureGates
from schedlab.cli.options import (
    API_SERVER_DEFAULTS,
    NO_STORAGE,
    APIServerOptions,
    StorageOptions,
    bound_socket,
    read_seconds,
    refuse_negative,
)
from schedlab.cluster.api import APISettings
from schedlab.cluster.home import Home
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.cluster.served import ServedAPI, Serving


def apiserver(
    *,
    feature_gates: Annotated[str, Parameter(help="Kubernetes feature gates, A=true,B=false.")] = "",
    storage: StorageOptions = NO_STORAGE,
    event_ttl: Annotated[str, Parameter(help="How long events are kept; 0 is for ever.")] = "1h",
    compaction_interval: Annotated[
        str, Parameter(help="How often revisions are forgotten that were old one interval ago; 0 is never.")
    ] = "5m",
    history: Annotated[int, Parameter(help="Revisions of which the past can be rebuilt, compacted or not.")] = 0,
    serving: APIServerOptions = API_SERVER_DEFAULTS,
    apiserver_port: Annotated[int, Parameter(help="Port of the Kubernetes API.")] = 3131,
    name: Annotated[str, Parameter(help="Name of the cluster.")] = "default",
) -> int:
    """Start an API server without scheduler, controllers and kubelets. Ctrl-C stops it.

    As with kube-apiserver alone, pods are only admitted once something makes the service account of their namespace.
    """
    refuse_negative(history, "--history", "revisions cannot be kept")
    settings = APISettings(
        feature_gates=FeatureGates.parse(feature_gates, location="--feature-gates"),
        event_ttl_s=read_seconds(event_ttl, "--event-ttl"),
        compaction_interval_s=read_seconds(compaction_interval, "--compaction-interval"),
        history=history,
        admission=serving.admission(),
    )
    served_as = serving.serving(storage.read())
    home = Home.of(name)
    home.prepare()
    with home.hold(), bound_socket(apiserver_port, "--apiserver-port") as bound:
        uvloop.run(_serve(settings, home, bound, served_as))
    return 0


async def _serve(settings: APISettings, home: Home, bound: socket.socket, serving: Serving) -> None:
    served = ServedAPI(settings, home, bound, serving)
    try:
        await served.start()
        calm_garbage_collector()
        home.write_cluster({"apiserver": served.url, "pid": os.getpid()})
        print(f"Kubernetes API   {served.url}\nkubeconfig       {home.kubeconfig}", flush=True)
        await served.until_stopped()
    finally:
        await served.stop()
