"""Pods and nodes as guests get them: the protobuf message of the whole object, without its managed fields.

Mirrors: the use of vtproto messages in scheduler/plugin/host.go of kube-scheduler-wasm-extension; managed fields are
dropped by the informers of pkg/scheduler/scheduler.go (v1.36).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

from schedlab.apimachinery.protobuf import encode_message
from schedlab.apimachinery.protobuf.wire import write_bytes

if TYPE_CHECKING:
    from schedlab.client.listers import Listers
    from schedlab.scheduler.framework.interface import Handle
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

_PODS_KEPT: Final = 256
_ITEMS_FIELD: Final = 2  # of NodeList


class Objects:
    """Encodes objects, and keeps what it encoded until they change."""

    def __init__(self, handle: Handle) -> None:
        self._listers: Listers = handle.listers
        self._handle = handle
        self._pods: dict[tuple[str, str, str], bytes] = {}
        self._nodes: dict[str, tuple[object, bytes]] = {}

    def pod(self, pod: PodInfo) -> bytes:
        """Return a pod; one that is assumed on a node says so."""
        version = pod.pod.metadata.resource_version if pod.stored is None else str(pod.stored.revision)
        key = pod.uid, version, pod.pod.spec.node_name
        found = self._pods.get(key)
        if found is None:
            raw = _of_view(pod.pod) if pod.stored is None else pod.stored.raw
            spec = raw.get("spec", {})
            if pod.pod.spec.node_name and spec.get("nodeName") != pod.pod.spec.node_name:
                raw = {**raw, "spec": {**spec, "nodeName": pod.pod.spec.node_name}}
            found = encode_message("v1", "Pod", _slim(raw))
            if len(self._pods) >= _PODS_KEPT:
                self._pods.clear()
            self._pods[key] = found
        return found

    def node(self, name: str) -> bytes:
        """Return a node, nothing if there is none of that name."""
        row = self._handle.table.row_of.get(name)
        return b"" if row is None else self._node(self._handle.table.infos[row])

    def nodes(self) -> bytes:
        """Return all nodes as a NodeList, in the scheduler's order."""
        return b"".join(write_bytes(_ITEMS_FIELD, self._node(info)) for info in self._handle.table.infos)

    def _node(self, info: NodeInfo) -> bytes:
        known = self._nodes.get(info.name)
        if known is not None and known[0] is info.node:
            return known[1]
        stored = self._listers.lister("nodes").stored(info.name)
        raw = _of_view(info.node) if stored is None else stored.raw
        encoded = encode_message("v1", "Node", _slim(raw))
        self._nodes[info.name] = info.node, encoded
        return encoded


def _of_view(view: msgspec.Struct) -> dict[str, Any]:
    """Return what a view holds as on the wire; only for objects that were never stored."""
    wire: dict[str, Any] = orjson.loads(msgspec.json.encode(view))
    return wire


def _slim(raw: dict[str, Any]) -> dict[str, Any]:
    metadata = raw.get("metadata", {})
    if "managedFields" not in metadata:
        return raw
    return {**raw, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}
