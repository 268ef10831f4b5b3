"""The images of one node: which are there, and pulls, one after the other.

Mirrors: the serial image puller of pkg/kubelet/images/puller.go (v1.36), which is the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.kernel.clock import SECOND_NS
from schedlab.kubelet.life.plan import IMAGE_BYTES


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull: how much, and how long it took without waiting for others."""

    size_bytes: int
    length_ns: int


class NodeImages:
    """The images that a node has; `bandwidth` is in bytes per second, 0 is at once."""

    def __init__(self, bandwidth: int = 0) -> None:
        self.bandwidth = bandwidth
        self._sizes: dict[str, int] = {}
        self._pulls: dict[str, Pull] = {}
        self._busy_until_ns = 0

    def learn(self, images: Sequence[Mapping[str, Any]]) -> None:
        """Take over what a node's status says."""
        for image in images:
            for name in image.get("names") or ():
                self._sizes.setdefault(name, int(image.get("sizeBytes") or 0))

    def has(self, image: str) -> bool:
        return image in self._sizes

    def pull(self, image: str, size_bytes: int | None, now_ns: int) -> int:
        """Begin a pull, behind those that are under way; return when it is done."""
        size = IMAGE_BYTES if size_bytes is None else size_bytes
        # What is there already is only checked.
        length_ns = 0 if not self.bandwidth or self.has(image) else size * SECOND_NS // self.bandwidth
        self._pulls[image] = Pull(size, length_ns)
        self._busy_until_ns = max(self._busy_until_ns, now_ns) + length_ns
        return self._busy_until_ns

    def pulled(self, image: str) -> Pull:
        """End a pull: the image is there."""
        done = self._pulls[image]
        self._sizes[image] = done.size_bytes
        return done

    def as_status(self) -> list[dict[str, Any]]:
        """Return the images as a node's status lists them: the biggest first, at most 50."""
        biggest = sorted(self._sizes.items(), key=lambda item: (-item[1], item[0]))[:50]
        return [{"names": [name], "sizeBytes": size} for name, size in biggest]
