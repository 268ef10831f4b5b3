"""`schedlab simulator`: run as kube-scheduler-simulator does, from its own configuration file and environment."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from schedlab.cli.import_cluster import report_lines
from schedlab.cli.options import HISTORY, APIServerOptions, StrictOption
from schedlab.cli.up import Beside, Ports, run_cluster
from schedlab.cluster.cluster import ClusterSettings
from schedlab.cluster.home import Home
from schedlab.cluster.served import Serving
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.configuration import SimulatorConfiguration, load_configuration
from schedlab.mirror.importer import ImportOptions
from schedlab.mirror.service import Mirroring
from schedlab.remote.kubeconfig import load_access
from schedlab.scheduler.config.file import read_configuration


def simulator(
    *,
    config: Annotated[
        Path,
        Parameter(help="A SimulatorConfiguration; the environment variables of kube-scheduler-simulator go before it."),
    ] = Path("config.yaml"),
    insecure: Annotated[
        bool,
        Parameter(negative="", help="Plain HTTP without credentials, as upstream's web client needs it."),
    ] = False,
    strict_upstream: StrictOption = False,
    name: Annotated[str, Parameter(help="Name of the cluster.")] = "default",
) -> int:
    """Start a simulated cluster as kube-scheduler-simulator's configuration says, and import, follow or replay what it
    names. `schedlab up` has more options.
    """
    chosen = load_configuration(config, os.environ)
    file = chosen.scheduler_config
    settings = ClusterSettings(
        scheduler_config=read_configuration(Path(file), "kubeSchedulerConfigPath") if file else None,
        scheduler_config_location=file,
        strict_upstream=strict_upstream,
        history=HISTORY,
    )
    run_cluster(
        settings,
        Home.of(name),
        Ports(chosen.apiserver_port or 3131, chosen.port or 1212),
        _serving(chosen, config, insecure=insecure),
        Beside(begin=partial(_begin, chosen)),
    )
    return 0


def _serving(chosen: SimulatorConfiguration, config: Path, *, insecure: bool) -> Serving:
    if chosen.origins == () and not insecure:
        raise SchedlabError(
            "corsAllowedOriginList is empty, which lets the pages of every site in",
            location=str(config),
            hint="name the origins, or say --insecure",
        )
    options = APIServerOptions(insecure=insecure, cors_allowed_origins=",".join(chosen.origins or ()))
    serving = options.serving()
    return Serving(serving.storage, None, insecure, chosen.origins if chosen.origins == () else serving.origins)


async def _begin(chosen: SimulatorConfiguration, mirroring: Mirroring) -> None:
    if chosen.imports:
        access = load_access(chosen.kubeconfig or None)
        async for progress in mirroring.import_from(access, ImportOptions(selector=chosen.selector, selected=("*",))):
            if "report" in progress:
                print("\n".join(report_lines(progress["report"])), flush=True)
    elif chosen.syncs:
        mirroring.start_sync(load_access(chosen.kubeconfig or None))
    elif chosen.replays:
        if not chosen.record:
            raise SchedlabError("recordFilePath is not set", hint="name the file to replay")
        for warning in mirroring.start_replay(Path(chosen.record)):
            print(f"warning: {warning}", file=sys.stderr, flush=True)
