"""`schedlab node remove`: nodes leave the cluster; their pods are collected as garbage."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from schedlab.cli.cluster_api import ClusterAPI, node_path
from schedlab.cli.node.each import each_node
from schedlab.cluster.home import Home


def remove(*nodes: str, name: Annotated[str, Parameter(help="Name of the cluster.")] = "default") -> int:
    """Remove nodes from the running cluster; drain them first if their pods are to move in order.

    Parameters
    ----------
    nodes
        The nodes: NAME or node/NAME.
    """
    api = ClusterAPI(Home.of(name))

    def act(node: str) -> str:
        api.delete(node_path(node))
        return f'node "{node}" deleted'

    return each_node(nodes, act)
