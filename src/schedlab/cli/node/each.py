"""Doing one thing to each of several nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from schedlab.cli.cluster_api import APIError
from schedlab.kernel.errors import SchedlabError


def each_node(names: Sequence[str], act: Callable[[str], str]) -> int:
    """Act on every node and print what came of it; what the server refuses is told, and the others are tried."""
    if not names:
        raise SchedlabError("no node is named", hint="name one or several, as `kubectl get nodes` shows them")
    failed = False
    for text in names:
        name = text.removeprefix("nodes/").removeprefix("node/")
        try:
            print(act(name), flush=True)
        except APIError as error:
            print(error, file=sys.stderr, flush=True)
            failed = True
    return 1 if failed else 0
