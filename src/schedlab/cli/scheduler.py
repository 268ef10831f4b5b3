"""`schedlab scheduler`: the scheduler alone, on any API server that a kubeconfig reaches."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import uvloop
import yaml
from cyclopts import Parameter

from schedlab.apimachinery.features import FeatureGates
from schedlab.cli.explain_html import explain_html
from schedlab.cli.options import (
    NO_PLUGINS,
    PluginOptions,
    SecurePortOption,
    bound_socket,
    optional_socket,
    refuse_negative,
)
from schedlab.cli.output_file import write_file
from schedlab.cluster.home import Home
from schedlab.cluster.scheduler_instance import InstanceSettings
from schedlab.cluster.standalone import StandaloneScheduler
from schedlab.decisions.annotations import AnnotationMode
from schedlab.kernel.errors import SchedlabError
from schedlab.remote.kubeconfig import Access, load_access
from schedlab.scheduler.config import dump
from schedlab.scheduler.config.file import read_configuration
from schedlab.scheduler.config.types import API_VERSION, KIND
from schedlab.web.app import SimulatorApp
from schedlab.web.logins import Logins
from schedlab.web.simulator import Simulator

_NEW: Mapping[str, str] = {"apiVersion": API_VERSION, "kind": KIND}


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ElectionOptions:
    """What the command line says about leader election; what it does not name stays as the file has it."""

    leader_elect: Annotated[
        bool | None, Parameter(help="Take part in a leader election; kube-scheduler's default is to do so.")
    ] = None
    leader_elect_lease_duration: Annotated[str, Parameter(help="How long a silent leader is waited for: 15s.")] = ""
    leader_elect_renew_deadline: Annotated[str, Parameter(help="How long a leader tries to stay one: 10s.")] = ""
    leader_elect_retry_period: Annotated[str, Parameter(help="Time between two tries: 2s.")] = ""
    leader_elect_resource_name: Annotated[str, Parameter(help="Name of the Lease: kube-scheduler.")] = ""
    leader_elect_resource_namespace: Annotated[str, Parameter(help="Its namespace: kube-system.")] = ""

    def applied_to(self, raw: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return a configuration, or none for the default one, with what was chosen."""
        chosen = {
            "leaseDuration": self.leader_elect_lease_duration,
            "renewDeadline": self.leader_elect_renew_deadline,
            "retryPeriod": self.leader_elect_retry_period,
            "resourceName": self.leader_elect_resource_name,
            "resourceNamespace": self.leader_elect_resource_namespace,
        }
        given: dict[str, Any] = {key: value for key, value in chosen.items() if value}
        if self.leader_elect is not None:
            given["leaderElect"] = self.leader_elect
        if not given:
            return raw
        before = (raw or {}).get("leaderElection")
        known = before if isinstance(before, dict) else {}
        return {**(_NEW if raw is None else raw), "leaderElection": {**known, **given}}


_AS_CONFIGURED: Final = ElectionOptions()


def scheduler(
    *,
    config: Annotated[Path | None, Parameter(help="A KubeSchedulerConfiguration file.")] = None,
    kubeconfig: Annotated[
        Path | None,
        Parameter(help="How to reach the API server; else clientConnection.kubeconfig of the file, KUBECONFIG, …"),
    ] = None,
    context: Annotated[str, Parameter(help="Context of the kubeconfig; the current one if not given.")] = "",
    election: ElectionOptions = _AS_CONFIGURED,
    feature_gates: Annotated[str, Parameter(help="Kubernetes feature gates, A=true,B=false.")] = "",
    plugins: PluginOptions = NO_PLUGINS,
    full: Annotated[bool, Parameter(help="Let every filter judge every node, for explanations.")] = False,
    annotations: Annotated[
        AnnotationMode, Parameter(help="How much of a result is written into its pod: one more write per attempt.")
    ] = "off",
    v: Annotated[int, Parameter(name=["--v", "-v"], help="Verbosity of the log: 10 shows every score.")] = 0,
    write_config_to: Annotated[
        Path | None, Parameter(help="Write the whole configuration, defaults included, to this file and end.")
    ] = None,
    secure_port: SecurePortOption = 0,
    name: Annotated[str, Parameter(help="Name under which `schedlab explain` finds the decisions.")] = "scheduler",
) -> int:
    """Run a scheduler like kube-scheduler, with every decision recorded. Ctrl-C stops it.

    The log goes to stderr, one line per attempt. `schedlab explain pod/NAME --name scheduler` explains a decision.
    """
    refuse_negative(v, "--v", "is no verbosity")
    raw = None if config is None else read_configuration(config, "--config")
    settings = InstanceSettings(
        scheduler_config=election.applied_to(raw),
        scheduler_config_location="" if config is None else str(config),
        feature_gates=FeatureGates.parse(feature_gates, location="--feature-gates"),
        plugins=plugins.load_plugins(),
        hooks=plugins.load_hooks(),
        full=full,
        annotations=annotations,
        verbosity=v,
        counts=bool(secure_port),
    )
    if write_config_to is not None:
        _write_config(settings, write_config_to)
        return 0
    settings.configuration()
    access = load_access(kubeconfig or _own_kubeconfig(raw, config), context=context)
    home = Home.of(name)
    home.prepare()
    with home.hold(), optional_socket(secure_port, "--secure-port") as secure:
        return uvloop.run(_run(settings, access, home, secure))


def _own_kubeconfig(raw: Mapping[str, Any] | None, config: Path | None) -> Path | None:
    """Return the kubeconfig that a configuration file names; a relative path counts from where we are, as upstream."""
    connection = (raw or {}).get("clientConnection")
    named = connection.get("kubeconfig") if isinstance(connection, dict) else None
    if not named:
        return None
    if not isinstance(named, str):
        raise SchedlabError(
            "clientConnection.kubeconfig is not a path", location=str(config), hint="write the path of a kubeconfig"
        )
    return Path(named)


def _write_config(settings: InstanceSettings, file: Path) -> None:
    text = yaml.safe_dump(dump(settings.configuration()), sort_keys=False)
    write_file(file, [text], "--write-config-to")


async def _run(settings: InstanceSettings, access: Access, home: Home, secure: socket.socket | None) -> int:
    alone = StandaloneScheduler(settings, access, lambda line: print(line, file=sys.stderr, flush=True))
    for warning in alone.instance.warnings:
        print(f"warning: {warning}", file=sys.stderr, flush=True)
    with bound_socket(0, "--port") as bound:
        host, port = bound.getsockname()
        instance = alone.instance
        assert instance.explainer is not None, "it has a log of its own"
        simulator = Simulator(
            log=instance.decisions,
            explainer=instance.explainer,
            document=explain_html,
            logins=Logins(home.token()),
            status=alone.status,
        )
        app = SimulatorApp(simulator)
        try:
            await alone.start()
            await alone.serve(app, bound)
            if secure is not None:
                await alone.serve_scheduler(secure, home.pki)
            server = access.server
            home.write_cluster({"simulator": f"http://{host}:{port}", "server": server, "pid": os.getpid()})
            return await alone.until_stopped()
        finally:
            await alone.stop()
