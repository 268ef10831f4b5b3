"""On how many nodes each image is, as nodes see it when they were last refreshed.

Mirrors: the image states of pkg/scheduler/backend/cache/cache.go (v1.36): an image has the size its first node
reported, and a node's own view of the counts is renewed only when something of that node changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schedlab.scheduler.framework.types import ImageState

if TYPE_CHECKING:
    from schedlab.api.views.core import Node
    from schedlab.scheduler.framework.types import NodeInfo


class _Image:
    """An image while some node has it."""

    __slots__ = ("nodes", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.nodes: set[str] = set()


class ImageStates:
    """All images by name, and the images of each node."""

    def __init__(self) -> None:
        self._images: dict[str, _Image] = {}
        self._of_node: dict[str, dict[str, _Image]] = {}
        # Grows with every change of a count; a node that was refreshed at the current version is up to date.
        self._version = 0
        self._seen: dict[str, int] = {}
        # Whether a copy has the same images: whoever changes them first makes some of its own.
        self._is_lent = False

    def set_node(self, old: Node | None, new: Node) -> None:
        """Replace what a node has."""
        if old is not None:
            if old.status.images == new.status.images:
                return
            self._drop(old)
        self._own()
        name = new.metadata.name
        mine: dict[str, _Image] = {}
        for image in new.status.images:
            for text in image.names:
                state = self._images.get(text)
                if state is None:
                    state = self._images[text] = _Image(image.size_bytes)
                state.nodes.add(name)
                mine.setdefault(text, state)
        self._of_node[name] = mine
        self._version += 1

    def remove_node(self, node: Node) -> None:
        """Forget what a node had."""
        self._drop(node)
        self._of_node.pop(node.metadata.name, None)
        self._seen.pop(node.metadata.name, None)

    def _drop(self, node: Node) -> None:
        self._own()
        name = node.metadata.name
        for image in node.status.images:
            for text in image.names:
                state = self._images.get(text)
                if state is not None:
                    state.nodes.discard(name)
                    if not state.nodes:
                        del self._images[text]
        self._version += 1

    def is_current(self, name: str) -> bool:
        """Whether no count has changed since the node's view was renewed."""
        return self._seen.get(name) == self._version

    def refresh(self, info: NodeInfo) -> bool:
        """Renew the node's view; say whether it may have changed."""
        if self.is_current(info.name):
            return False
        self._seen[info.name] = self._version
        fresh = {text: ImageState(s.size, len(s.nodes)) for text, s in self._of_node.get(info.name, {}).items()}
        if fresh == info.image_states:
            return False
        info.image_states = fresh
        return True

    def copy(self) -> ImageStates:
        """Return an independent copy."""
        other = ImageStates()
        other._images, other._of_node = self._images, self._of_node
        other._version, other._seen = self._version, dict(self._seen)
        self._is_lent = other._is_lent = True
        return other

    def _own(self) -> None:
        if not self._is_lent:
            return
        copies: dict[int, _Image] = {}

        def twin(state: _Image) -> _Image:
            found = copies.get(id(state))
            if found is None:
                found = copies[id(state)] = _Image(state.size)
                found.nodes = set(state.nodes)
            return found

        self._images = {text: twin(state) for text, state in self._images.items()}
        self._of_node = {
            name: {text: twin(state) for text, state in mine.items()} for name, mine in self._of_node.items()
        }
        self._is_lent = False
