"""`schedlab env`: how to point kubectl at a running simulator."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from schedlab.cluster.home import Home


def env(*, name: Annotated[str, Parameter(help="Name of the cluster.")] = "default") -> None:
    """Print the shell line that points kubectl at the simulator: eval "$(schedlab env)"."""
    home = Home.of(name)
    home.read_cluster()
    print(f"export KUBECONFIG={home.kubeconfig}")
