"""`schedlab node drain`: cordon nodes and evict their pods, as `kubectl drain` does.

Mirrors: staging/src/k8s.io/kubectl/pkg/{cmd/drain,drain} (v1.36).
Differs: pods are evicted one after the other and then waited for together; emptyDir data is simulated and asks for no
option.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from schedlab.cli.cluster_api import APIError, ClusterAPI, node_path, pod_path
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.node.each import each_node
from schedlab.cli.options import read_seconds

_MIRROR = "kubernetes.io/config.mirror"
_RETRY_S = 1.0
_LOOK_S = 0.2
_FINISHED = ("Succeeded", "Failed")


def drain(
    *nodes: str,
    ignore_daemonsets: Annotated[bool, Parameter(negative="", help="Leave pods of DaemonSets where they are.")] = False,
    force: Annotated[bool, Parameter(negative="", help="Evict pods that no controller makes anew, too.")] = False,
    timeout: Annotated[str, Parameter(help="How long to try, for each node; 0 is for ever.")] = "0s",
    name: NameOption = None,
) -> int:
    """Cordon nodes and evict their pods, within the budgets of disruption.

    Parameters
    ----------
    nodes
        The nodes: NAME or node/NAME.
    """
    limit_s = read_seconds(timeout, "--timeout")
    api = ClusterAPI(resolve(name, None)[0])

    def act(node: str) -> str:
        cordoned = "already cordoned" if _cordon(api, node) else "cordoned"
        print(f"node/{node} {cordoned}", flush=True)
        pods = _chosen(api, node, ignore_daemonsets=ignore_daemonsets, force=force)
        end_s = time.monotonic() + limit_s if limit_s else None
        for pod in pods:
            _evict(api, pod, end_s)
        _wait(api, pods, end_s)
        return f"node/{node} drained"

    return each_node(nodes, act)


def _cordon(api: ClusterAPI, node: str) -> bool:
    """Keep new pods away; whether that was so already."""
    if (api.get(node_path(node)).get("spec") or {}).get("unschedulable"):
        return True
    api.patch(node_path(node), {"spec": {"unschedulable": True}})
    return False


def _chosen(api: ClusterAPI, node: str, *, ignore_daemonsets: bool, force: bool) -> Sequence[Mapping[str, Any]]:
    """Return the pods to evict; raises APIError when some must stay that were not excused."""
    found = api.get(f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={node}')}")["items"]
    chosen, daemons, bare = [], [], []
    for pod in found:
        meta = pod["metadata"]
        owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
        finished = (pod.get("status") or {}).get("phase") in _FINISHED
        if _MIRROR in (meta.get("annotations") or {}):
            continue
        if owner is not None and owner["kind"] == "DaemonSet" and not finished:
            daemons.append(f"{meta['namespace']}/{meta['name']}")
            continue
        if owner is None and not finished and not force:
            bare.append(f"{meta['namespace']}/{meta['name']}")
        chosen.append(pod)
    wrong = []
    if daemons and not ignore_daemonsets:
        wrong.append(f"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): {', '.join(daemons)}")
    if bare:
        wrong.append(f"cannot delete Pods that declare no controller (use --force to override): {', '.join(bare)}")
    if wrong:
        raise APIError({"message": f'unable to drain node "{node}": {"; ".join(wrong)}'}, 400)
    if daemons:
        print(f"Warning: ignoring DaemonSet-managed Pods: {', '.join(daemons)}", file=sys.stderr, flush=True)
    return chosen


def _evict(api: ClusterAPI, pod: Mapping[str, Any], end_s: float | None) -> None:
    meta = pod["metadata"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
    }
    print(f"evicting pod {meta['namespace']}/{meta['name']}", flush=True)
    while True:
        try:
            api.create(pod_path(pod, "eviction"), body)
        except APIError as error:
            if error.code == 404:
                return
            if error.code != 429:
                raise
            told = f'error when evicting pods/"{meta["name"]}" -n "{meta["namespace"]}" (will retry after 1s): {error}'
            print(told, file=sys.stderr, flush=True)
            _rest(_RETRY_S, end_s)
        else:
            return


def _wait(api: ClusterAPI, pods: Sequence[Mapping[str, Any]], end_s: float | None) -> None:
    """Wait until all pods are gone."""
    for pod in pods:
        while _is_there(api, pod):
            _rest(_LOOK_S, end_s)
        print(f"pod/{pod['metadata']['name']} evicted", flush=True)


def _is_there(api: ClusterAPI, pod: Mapping[str, Any]) -> bool:
    try:
        found = api.get(pod_path(pod))
    except APIError as error:
        if error.code == 404:
            return False
        raise
    return bool(found["metadata"]["uid"] == pod["metadata"]["uid"])


def _rest(seconds: float, end_s: float | None) -> None:
    if end_s is not None and time.monotonic() + seconds > end_s:
        raise APIError({"message": "global timeout reached; some pods are still on the node"}, 504)
    time.sleep(seconds)
