"""`schedlab node remove`: nodes leave the cluster; their pods are collected as garbage."""

from __future__ import annotations

from schedlab.cli.cluster_api import ClusterAPI, node_path
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.node.each import each_node


def remove(*nodes: str, name: NameOption = None) -> int:
    """Remove nodes from the running cluster; drain them first if their pods are to move in order.

    Parameters
    ----------
    nodes
        The nodes: NAME or node/NAME.
    """
    api = ClusterAPI(resolve(name, None)[0])

    def act(node: str) -> str:
        api.delete(node_path(node))
        return f'node "{node}" deleted'

    return each_node(nodes, act)
