"""`schedlab node add`: more nodes for the running cluster, plain ones or like a template."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from schedlab.apimachinery.yaml_file import read_document
from schedlab.cli.cluster_api import APIError, ClusterAPI, node_path
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cluster.cluster import new_node
from schedlab.kernel.errors import SchedlabError

_HOSTNAME = "kubernetes.io/hostname"
_COUNT_MAX = 100_000


def add(
    *,
    count: Annotated[int, Parameter(help="How many nodes.")] = 1,
    template: Annotated[
        str, Parameter(help="A file with a Node, or a node that is there; plain nodes without it.")
    ] = "",
    prefix: Annotated[str, Parameter(help="What the names begin with; the template's name, or node.")] = "",
    name: NameOption = None,
) -> int:
    """Add nodes to the running cluster; their names are numbered on from those that are there."""
    if not 1 <= count <= _COUNT_MAX:
        raise SchedlabError(f"{count} nodes cannot be added", location="--count", hint=f"give 1 to {_COUNT_MAX}")
    api = ClusterAPI(resolve(name, None)[0])
    taken = {node["metadata"]["name"] for node in api.get(node_path())["items"]}
    model = _model(api, template) if template else None
    start = prefix or ("node" if model is None else re.sub(r"-?\d+$", "", model["metadata"]["name"]) or "node")
    numbers = _free_numbers(start, taken)
    failed = False
    for _ in range(count):
        number = next(numbers)
        node = _made(f"{start}-{number}", number, model)
        try:
            created = api.create(node_path(), node)
        except APIError as error:
            print(error, file=sys.stderr)
            failed = True
            # What is refused once would be refused each time.
            break
        print(f"node/{created['metadata']['name']} created")
    return 1 if failed else 0


def _free_numbers(prefix: str, taken: set[str]) -> Iterator[int]:
    number = 0
    while True:
        if f"{prefix}-{number}" not in taken:
            yield number
        number += 1


def _made(name: str, number: int, model: Mapping[str, Any] | None) -> dict[str, Any]:
    if model is None:
        plain = new_node(number)
        plain["metadata"]["name"] = name
        plain["metadata"]["labels"][_HOSTNAME] = name
        return plain
    meta = model["metadata"]
    labels = {**(meta.get("labels") or {}), _HOSTNAME: name}
    made: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    if meta.get("annotations"):
        made["metadata"]["annotations"] = meta["annotations"]
    spec = {key: value for key, value in (model.get("spec") or {}).items() if key in ("taints", "unschedulable")}
    if spec:
        made["spec"] = spec
    status = model.get("status") or {}
    made["status"] = {key: status[key] for key in ("capacity", "allocatable") if key in status}
    return made


def _model(api: ClusterAPI, template: str) -> Mapping[str, Any]:
    """Return the node to make others like: from a file, or one of the cluster without what it has of its own."""
    path = Path(template)
    if not path.exists():
        return _like(api, template)
    node = read_document(path, "name a readable file")
    if not isinstance(node, dict) or node.get("kind") != "Node":
        found = node.get("kind") if isinstance(node, dict) else type(node).__name__
        raise SchedlabError(f"holds {found}, not a Node", location=template, hint="it begins with `kind: Node`")
    metadata = node.get("metadata")
    if not isinstance(metadata, dict):
        return {**node, "metadata": {"name": "node"}}
    return {**node, "metadata": {"name": "node", **metadata}}


def _like(api: ClusterAPI, name: str) -> Mapping[str, Any]:
    try:
        node = api.get(node_path(name.removeprefix("node/")))
    except APIError as error:
        raise SchedlabError(
            f"{name!r} is neither a file nor a node of the cluster: {error}",
            location="--template",
            hint="name a file with a Node, or a node that `kubectl get nodes` shows",
        ) from error
    spec = node.get("spec") or {}
    # Taints of conditions belong to the state of that node, not to its kind.
    taints = [taint for taint in spec.get("taints") or () if not taint["key"].startswith("node.kubernetes.io/")]
    return {**node, "spec": {"taints": taints} if taints else {}}
