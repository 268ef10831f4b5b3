"""`schedlab status`: whether a simulator runs, where, and what it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted

_MIB = 1 << 20


def status(
    *,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Tell whether the simulator runs, where it listens, what it holds and uses; exit code 1 if it does not run."""
    home = resolve(name, None)[0]
    process = home.running_process()
    if process is None:
        print(f"cluster {home.path.name} is not running", file=sys.stderr)
        print("hint: start it: schedlab up", file=sys.stderr)
        return 1
    facts = {"name": home.path.name, **home.read_cluster(), "pid": process, "kubeconfig": str(home.kubeconfig)}
    if "simulator" in facts:
        code, body = simulator_api.get(home, "/api/v1/status")
        if code != 200:
            raise SchedlabError(
                str(body.get("message", body)), location=f"cluster {home.path.name}", hint="start it again"
            )
        facts |= body
    print(json.dumps(facts, indent=2) if output == "json" else "\n".join(_lines(facts)))
    return 0


def _limits(decisions: Mapping[str, Any]) -> str:
    """Say how full the log's memory is, and what it has forgotten."""
    text = f", {decisions['bytes'] / _MIB:.0f} of {decisions['bytesMax'] / _MIB:.0f} MiB"
    if decisions["ageMaxSeconds"]:
        text += f", at most {decisions['ageMaxSeconds']} s old"
    return text + (f"; {counted(decisions['forgottenPods'], 'pod')} forgotten" if decisions["forgottenPods"] else "")


def _kept(archive: Mapping[str, Any]) -> str:
    """Say the same of the log's file."""
    text = f"{counted(archive['attempts'], 'attempt')}, {archive['bytes'] / _MIB:.0f} of {archive['bytesMax'] / _MIB:.0f} MiB"
    if archive["forgottenAttempts"]:
        text += f"; {archive['forgottenAttempts']} forgotten"
    if archive["lostAttempts"]:
        text += f"; {archive['lostAttempts']} LOST"
    if archive["unreadable"]:
        text += f"; {counted(archive['unreadable'], 'time')} UNREADABLE"
    return text + (f": {archive['error']}" if archive["error"] else "")


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"cluster          {facts['name']}, process {facts['pid']}"
    yield f"Kubernetes API   {facts.get('apiserver') or facts['server']}"
    if "server" in facts:
        yield "parts            a scheduler alone"
    else:
        yield f"kubeconfig       {facts['kubeconfig']}"
    if "simulator" not in facts:
        yield "parts            an API server alone"
        return
    decisions = facts["decisions"]
    yield f"simulator        {facts['simulator']}"
    yield f"running since    {facts['startedAt']}"
    if "objects" in facts:
        etcd = ", ".join(facts["etcdServers"] or ())
        yield f"kept in          {facts['dataDir'] or (etcd and f'etcd, {etcd}') or 'memory only'}"
    yield f"memory           {facts['memoryBytes'] / _MIB:.0f} MiB"
    for one in facts["schedulers"]:
        state = f"{one['state']}, {one['detail']}" if one["detail"] else one["state"]
        yield f"scheduler        {', '.join(one['names']) or 'none'}: {one['where']} ({state})"
    yield from (f"warning          {warning}" for warning in facts["warnings"])
    yield f"decisions        {counted(decisions['attempts'], 'attempt')} of {counted(decisions['pods'], 'pod')}{_limits(decisions)}"
    archive = decisions.get("archive")
    if archive is not None:
        yield f"decisions kept   {_kept(archive)}"
    if "objects" in facts:
        yield from _objects(facts)


def _objects(facts: Mapping[str, Any]) -> Iterator[str]:
    objects = facts["objects"]
    yield f"objects          {sum(objects.values())} at revision {facts['revision']}"
    width = max(map(len, objects), default=0)
    for resource, count in objects.items():
        yield f"  {resource:<{width}}  {count}"
