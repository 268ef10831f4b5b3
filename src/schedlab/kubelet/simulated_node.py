"""What the kubelet of one node remembers: addresses, what it has admitted, images, events.

Mirrors: the caches of pkg/kubelet/kubelet.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.quantity import QuantityError
from schedlab.apimachinery.time import TimeError, parse_time
from schedlab.client.event_recorder import EventRecorder, EventStamps
from schedlab.kernel.clock import Clock
from schedlab.kubelet.addresses import PodAddresses
from schedlab.kubelet.admission import NodeAccount
from schedlab.kubelet.life.images import NodeImages
from schedlab.kubelet.life.plan import IMAGE_BANDWIDTH, PREFIX, read_bandwidth

#: Set on a node whose kubelet has failed: since when.
FAILED: Final = f"{PREFIX}failed-since"


class SimulatedNode:
    """One node; with `failed` its kubelet does nothing until it recovers."""

    def __init__(self, name: str, address: str, cidr: str, bandwidth: int) -> None:
        self.name = name
        self.address = address
        self.pod_addresses = PodAddresses(cidr)
        self.account = NodeAccount()
        self.images = NodeImages(bandwidth)
        self.failed = False
        self._bandwidth = bandwidth
        self._events: EventRecorder | None = None

    def events(self, clock: Clock, stamps: EventStamps) -> EventRecorder:
        """Return the recorder of the node's kubelet, made on first use."""
        if self._events is None:
            self._events = EventRecorder("kubelet", clock, stamps, host=self.name)
        return self._events

    def learn(self, node: Mapping[str, Any]) -> None:
        """Take over what the node object says of images."""
        self.images.learn((node.get("status") or {}).get("images") or ())
        text = (node["metadata"].get("annotations") or {}).get(IMAGE_BANDWIDTH)
        self.images.bandwidth = self._bandwidth
        if text is not None:
            try:
                self.images.bandwidth = read_bandwidth(text)
            except (QuantityError, ValueError):
                # What cannot be read counts as not said; the annotation is the user's, and no object of ours can tell.
                return


def failed_since_ns(annotations: Mapping[str, str]) -> int | None:
    """Return since when the kubelet of a node has failed, None while it lives; an unreadable time is long ago."""
    text = annotations.get(FAILED)
    if text is None:
        return None
    try:
        return parse_time(text)
    except TimeError:
        return 0
