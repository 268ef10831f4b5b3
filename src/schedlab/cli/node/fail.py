"""`schedlab node fail` and `schedlab node recover`: the kubelet of a node stops, and comes back."""

from __future__ import annotations

from datetime import UTC, datetime

from schedlab.cli.cluster_api import ClusterAPI, node_path
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.node.each import each_node

FAILED = "kubelet.schedlab.dev/failed-since"


def fail(*nodes: str, name: NameOption = None) -> int:
    """Stop the kubelets of nodes: no heartbeats any more, so that the nodes become Unknown and their pods are evicted.

    Parameters
    ----------
    nodes
        The nodes: NAME or node/NAME.
    """
    api = ClusterAPI(resolve(name, None)[0])

    def act(node: str) -> str:
        found = api.get(node_path(node))
        if FAILED in (found["metadata"].get("annotations") or {}):
            return f"node/{node} already failed"
        since = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        api.patch(node_path(node), {"metadata": {"annotations": {FAILED: since}}})
        return f"node/{node} failed"

    return each_node(nodes, act)


def recover(*nodes: str, name: NameOption = None) -> int:
    """Let the kubelets of nodes that failed come back.

    Parameters
    ----------
    nodes
        The nodes: NAME or node/NAME.
    """
    api = ClusterAPI(resolve(name, None)[0])

    def act(node: str) -> str:
        found = api.get(node_path(node))
        if FAILED not in (found["metadata"].get("annotations") or {}):
            return f"node/{node} has not failed"
        api.patch(node_path(node), {"metadata": {"annotations": {FAILED: None}}})
        return f"node/{node} recovered"

    return each_node(nodes, act)
