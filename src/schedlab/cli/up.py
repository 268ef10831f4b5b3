"""`schedlab up`: start the simulator and keep it running until it is interrupted."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import urlsplit

import uvloop
from cyclopts import Parameter

from schedlab.apimachinery.features import FeatureGates
from schedlab.cli.decisions_options import DECISIONS_DEFAULTS, DecisionsOptions
from schedlab.cli.explain_html import explain_html
from schedlab.cli.options import (
    API_SERVER_DEFAULTS,
    HISTORY,
    NO_PLUGINS,
    NO_STORAGE,
    PAGE_DEFAULTS,
    APIServerOptions,
    PageOptions,
    PluginOptions,
    ScenariosOption,
    SecurePortOption,
    ShadowsOption,
    StagesOption,
    StaticPodsOption,
    StorageOptions,
    StrictOption,
    bound_socket,
    open_url,
    optional_socket,
    read_folder,
    read_seconds,
    refuse_negative,
)
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.home import Home
from schedlab.cluster.image_bandwidth import read_image_bandwidth
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.cluster.served import ServedCluster, Serving, loopback_address
from schedlab.cluster.stage_loading import load_stages
from schedlab.cluster.storage import Storage
from schedlab.decisions.annotations import AnnotationMode
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.service import Mirroring
from schedlab.scenario.catalog import Catalog, catalog_of
from schedlab.scenario.live_scenarios import run_scenarios
from schedlab.scenario.service import ScenarioRuns
from schedlab.scheduler.config.file import read_configuration
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins, login_url
from schedlab.web.redirect import Redirect
from schedlab.web.simulator import Scenarios, Simulator
from schedlab.whatif.shadow import Shadow
from schedlab.whatif.workers import Workers

#: The program that runs scenarios for the web UI; what lies in the folder it is started in is not taken for modules.
_WORKER: Final = (sys.executable, "-P", "-m", "schedlab.cli.scenario_worker")
#: Where kube-scheduler-simulator's page is.
UPSTREAM_UI_PORT: Final = 3000
#: Does what is to be done once a cluster answers.
Begin: TypeAlias = Callable[[Mirroring], Awaitable[None]]


def up(
    *,
    nodes: Annotated[int, Parameter(help="Nodes to make at the start.")] = 0,
    config: Annotated[Path | None, Parameter(help="A KubeSchedulerConfiguration file for the scheduler.")] = None,
    shadow_config: ShadowsOption = (),
    plugins: PluginOptions = NO_PLUGINS,
    stages: StagesOption = (),
    static_pods: StaticPodsOption = None,
    image_bandwidth: Annotated[str, Parameter(help="Bytes of images a node pulls per second, 50Mi.")] = "unlimited",
    feature_gates: Annotated[str, Parameter(help="Kubernetes feature gates, A=true,B=false.")] = "",
    annotations: Annotated[AnnotationMode, Parameter(help="How much of a result its pod shows.")] = "auto",
    full: Annotated[bool, Parameter(help="Let every filter judge every node, for explanations.")] = True,
    scheduler: Annotated[
        bool, Parameter(help="Schedule pods; with --no-scheduler only schedulers of other processes do.")
    ] = True,
    strict_upstream: StrictOption = False,
    storage: StorageOptions = NO_STORAGE,
    event_ttl: Annotated[str, Parameter(help="How long events are kept; 0 is for ever.")] = "1h",
    compaction_interval: Annotated[
        str, Parameter(help="How often revisions are forgotten that were old one interval ago; 0 is never.")
    ] = "5m",
    history: Annotated[int, Parameter(help="Revisions of which the past can be rebuilt, compacted or not.")] = HISTORY,
    decisions: DecisionsOptions = DECISIONS_DEFAULTS,
    scenarios: ScenariosOption = None,
    serving: APIServerOptions = API_SERVER_DEFAULTS,
    port: Annotated[int, Parameter(help="Port of the simulator's REST API and web UI.")] = 1212,
    apiserver_port: Annotated[int, Parameter(help="Port of the Kubernetes API.")] = 3131,
    secure_port: SecurePortOption = 0,
    page: PageOptions = PAGE_DEFAULTS,
    name: Annotated[str, Parameter(help="Name of the cluster.")] = "default",
) -> int:
    """Start a simulated cluster: API server, scheduler, kubelets. Ctrl-C stops it."""
    refuse_negative(nodes, "--nodes", "nodes cannot be made")
    refuse_negative(history, "--history", "revisions cannot be kept")
    settings = ClusterSettings(
        scheduler_config=None if config is None else read_configuration(config, "--config"),
        scheduler_config_location="" if config is None else str(config),
        feature_gates=FeatureGates.parse(feature_gates, location="--feature-gates"),
        annotations=annotations,
        full=full,
        strict_upstream=strict_upstream,
        nodes=nodes,
        schedules=scheduler,
        counts=bool(secure_port),
        plugins=plugins.load_plugins(),
        hooks=plugins.load_hooks(),
        stages=load_stages(stages),
        static_pods=read_folder(static_pods, "--static-pods"),
        image_bandwidth=read_image_bandwidth(image_bandwidth),
        event_ttl_s=read_seconds(event_ttl, "--event-ttl"),
        compaction_interval_s=read_seconds(compaction_interval, "--compaction-interval"),
        history=history,
        admission=serving.admission(),
        decisions_bytes=decisions.read_bytes(),
        decisions_age_s=decisions.read_age_s(),
    )
    ports = Ports(apiserver_port, port, secure_port, page.redirect_port)
    beside = Beside(shadows=_read(shadow_config), catalog=catalog_of(scenarios, "--scenarios"), opens=page.opens)
    run_cluster(settings, Home.of(name), ports, serving.serving(storage.read()), beside)
    return 0


def _read(shadow_config: Sequence[Path]) -> tuple[tuple[Path, Mapping[str, Any]], ...]:
    return tuple((file, read_configuration(file, "--shadow-config")) for file in shadow_config)


@dataclass(frozen=True, slots=True)
class Beside:
    """What there is beside a cluster: files and contents of shadow configurations, scenarios that can be run, and what is
    done once it answers. opens: whether the web UI is opened in a browser.
    """

    shadows: tuple[tuple[Path, Mapping[str, Any]], ...] = ()
    begin: Begin | None = None
    opens: bool = False
    catalog: Catalog = field(default_factory=lambda: catalog_of(None, ""))

    def make_shadows(self, cluster: Cluster) -> tuple[Shadow, ...]:
        """Let the shadows decide what the cluster's scheduler decides."""
        made = tuple(Shadow(file.stem, cluster, raw, str(file)) for file, raw in self.shadows)
        for shadow in made:
            cluster.observers.add(shadow)
        return made


NOTHING_BESIDE: Final = Beside()


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a cluster is to listen."""

    api: int
    simulator: int
    scheduler: int = 0
    redirect: int | None = None

    def redirect_socket(self, origins: Sequence[str]) -> AbstractContextManager[socket.socket | None]:
        """Bind the port that leads to the web UI.

        Where none was chosen, that is the port of kube-scheduler-simulator's page, unless something else is there or a
        page of that port is to be let in.
        """
        if self.redirect is not None:
            return optional_socket(self.redirect, "--redirect-port")
        if any(urlsplit(origin).port == UPSTREAM_UI_PORT for origin in origins):
            return nullcontext()
        try:
            return bound_socket(UPSTREAM_UI_PORT, "--redirect-port")
        except SchedlabError:
            return nullcontext()


def run_cluster(
    settings: ClusterSettings, home: Home, ports: Ports, serving: Serving, beside: Beside = NOTHING_BESIDE
) -> None:
    """Run a cluster until it is stopped."""
    home.prepare()
    with (
        home.hold(),
        bound_socket(ports.api, "--apiserver-port") as api,
        bound_socket(ports.simulator, "--port") as simulator,
        optional_socket(ports.scheduler, "--secure-port") as secure,
        ports.redirect_socket(serving.origins or ()) as redirect,
    ):
        uvloop.run(_serve(settings, home, Sockets(api, simulator, secure, redirect), serving, beside))


@dataclass(frozen=True, slots=True)
class Sockets:
    """Where a cluster listens."""

    api: socket.socket
    simulator: socket.socket
    scheduler: socket.socket | None
    redirect: socket.socket | None


async def _serve(settings: ClusterSettings, home: Home, sockets: Sockets, serving: Serving, beside: Beside) -> None:
    served = ServedCluster(settings, home, sockets.api, serving)
    runs = ScenarioRuns(home.path / "scenario-runs", _WORKER)
    try:
        cluster = served.cluster
        shadows = beside.make_shadows(cluster)
        run_scenarios(cluster)
        await served.start()
        calm_garbage_collector()
        workers = Workers(lambda: cluster)
        keeping = asyncio.create_task(workers.keep_forks_short())
        mirroring = Mirroring(cluster.registry, cluster.clock, cluster)
        simulator = Simulator(
            log=cluster.log,
            logins=None if serving.insecure else Logins(served.token),
            status=served.status,
            explainer=cluster.explainer,
            document=explain_html,
            ask=workers.ask,
            mirroring=mirroring,
            past=cluster.past,
            trace=cluster.trace,
            shadows=shadows,
            strict=settings.strict_upstream,
            scenarios=Scenarios(beside.catalog, runs),
        )
        await served.serve(SimulatorApp(simulator, kubernetes=served.from_history), sockets.simulator)
        addresses = {
            "apiserver": served.url,
            "simulator": f"http://{loopback_address(sockets.simulator)}",
        }
        if sockets.scheduler is not None:
            await served.serve_scheduler(sockets.scheduler)
            addresses["scheduler"] = f"https://{loopback_address(sockets.scheduler)}"
        if sockets.redirect is not None:
            await served.serve(Redirect(addresses["simulator"]), sockets.redirect)
        home.write_cluster({**addresses, "pid": os.getpid()})
        for warning in cluster.warnings:
            print(f"warning: {warning}", file=sys.stderr, flush=True)
        print("\n".join(_greeting(home, addresses, cluster, simulator.logins, serving.storage)), flush=True)
        if beside.opens:
            await asyncio.to_thread(open_url, login_url(addresses["simulator"], simulator.logins))
        if beside.begin is not None:
            await beside.begin(mirroring)
        await served.until_stopped()
        keeping.cancel()
    finally:
        await runs.close()
        await served.stop()


def _greeting(
    home: Home, addresses: Mapping[str, str], cluster: Cluster, logins: Logins | None, storage: Storage
) -> Sequence[str]:
    what_stays = f"the cluster is kept in {storage}" if str(storage) else "nothing of the cluster is kept"
    return (
        f"Kubernetes API   {addresses['apiserver']}",
        f"simulator        {addresses['simulator']}",
        *([f"scheduler        {addresses['scheduler']}"] if "scheduler" in addresses else []),
        f"kubeconfig       {home.kubeconfig}",
        *_plugin_lines(cluster),
        f"web UI           {login_url(addresses['simulator'], logins)}",
        "",
        "In another terminal:",
        f"  export KUBECONFIG={home.kubeconfig}",
        "  kubectl apply -f examples/shop",
        "  kubectl get pods -n shop -o wide",
        f"  schedlab explain pod/db-3 -n shop{'' if home.path.name == 'default' else f' --name {home.path.name}'}",
        "",
        f"Ctrl-C stops the simulator; {what_stays}.",
    )


def _plugin_lines(cluster: Cluster) -> Sequence[str]:
    """Say where each plugin that does not come with the scheduler runs."""
    return [
        f"plugin           {name} in {scheduler}: {', '.join(points)}"
        for scheduler, name, points in cluster.scheduler.extra_plugins()
    ]
