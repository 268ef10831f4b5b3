"""Prefers nodes that have the pod's images already; an image that is on few nodes counts less.

Mirrors: pkg/scheduler/framework/plugins/imagelocality/image_locality.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from schedlab.scheduler.framework.explanations import Formula
from schedlab.scheduler.framework.helpers import signers
from schedlab.scheduler.framework.helpers.normalize import divide, divide_each
from schedlab.scheduler.framework.interface import PluginEntry
from schedlab.scheduler.framework.node_table import take_rows
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.api.views.core import Pod
    from schedlab.scheduler.framework.interface import CycleState, Handle
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import ImageState, NodeInfo, PodInfo

_MIB: Final = 1024 * 1024
# Bounds of what is scored: 90 percent of published images are within, compressed.
THRESHOLD_MIN: Final = 23 * _MIB
CONTAINER_THRESHOLD_MAX: Final = 1000 * _MIB


class ImageLocality:
    """The plugin."""

    name = "ImageLocality"
    score_looks_at = "node"

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._handle = handle

    def score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[int, Status | None]:
        node_count = len(self._handle.table)
        states = (node.image_states.get(name) for name in _images(pod.pod))
        total = sum(int(state.size * (state.num_nodes / node_count)) for state in states if state is not None)
        threshold = _threshold_max(pod.pod)
        bounded = min(max(total, THRESHOLD_MIN), threshold)
        return divide(MAX_NODE_SCORE * (bounded - THRESHOLD_MIN), threshold - THRESHOLD_MIN), None

    def score_nodes(
        self, _state: CycleState, pod: PodInfo, table: NodeTable, rows: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        column = table.column(ImageColumn, ImageColumn)
        total = np.zeros(len(rows), np.int64)
        for name in _images(pod.pod):
            found = column.of(name)
            if found is not None:
                sizes, num_nodes = found
                total += scaled_sizes(sizes[rows], num_nodes[rows], len(table))
        return image_scores(total, _threshold_max(pod.pod))

    def explain_score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> Formula:
        node_count, threshold = len(self._handle.table), _threshold_max(pod.pod)
        found = {name: state for name in _images(pod.pod) if (state := node.image_states.get(name)) is not None}
        parts = [
            f"trunc({state.size} * ({state.num_nodes} / {node_count}))"
            for name in _images(pod.pod)
            if (state := found.get(name)) is not None
        ]
        total = " + ".join(parts) or "0"
        bounded = f"(min(max({total}, {THRESHOLD_MIN}), {threshold}) - {THRESHOLD_MIN})"
        images = {name: {"sizeBytes": state.size, "nodes": state.num_nodes} for name, state in found.items()}
        inputs = {"images": images, "nodes": node_count, "leastBytes": THRESHOLD_MIN, "mostBytes": threshold}
        return Formula(f"trunc({MAX_NODE_SCORE} * {bounded} / {threshold - THRESHOLD_MIN})", inputs)

    def explain_score_by(
        self, _state: CycleState, pod: PodInfo, table: NodeTable
    ) -> Sequence[NDArray[np.integer[Any]]]:
        column = table.column(ImageColumn, ImageColumn)
        return [array for name in _images(pod.pod) for array in column.of(name) or ()]

    def is_row_local(self, _pod: PodInfo) -> bool:
        # The number of nodes counts as well, but rows move whenever it changes.
        return True

    def sign_pod(self, pod: PodInfo) -> tuple[Sequence[tuple[str, Any]] | None, Status | None]:
        containers = (*pod.pod.spec.containers, *pod.pod.spec.init_containers)
        names = tuple(sorted({normalized_image_name(container.image) for container in containers}))
        return ((signers.IMAGE_NAMES, names),), None


def normalized_image_name(name: str) -> str:
    """Return the name as a node reports it: with a tag."""
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


def _images(pod: Pod) -> Iterator[str]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_image_name(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def _threshold_max(pod: Pod) -> int:
    return CONTAINER_THRESHOLD_MAX * (len(pod.spec.containers) + len(pod.spec.init_containers))


_NO_IMAGES: Final[Mapping[str, ImageState]] = {}


class ImageColumn:
    """The images of nodes as two arrays per image asked for: size and node count, 0 where the node does not have it.

    Images nobody asked for lately have no arrays; they are made anew from what the nodes have.
    """

    _KEPT_MAX: Final = 256
    of_nodes: Final = True

    def __init__(self) -> None:
        self._states: list[Mapping[str, ImageState]] = []
        self._arrays: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]] | None] = {}

    def of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return (size: int64[N], num_nodes: int64[N]) of an image; None when no node has it."""
        if name not in self._arrays:
            if len(self._arrays) >= self._KEPT_MAX:
                self._arrays.clear()
            self._arrays[name] = self._collect(name)
        return self._arrays[name]

    def reorder(self, old_rows: NDArray[np.int64]) -> None:
        """See Column."""
        self._states = [self._states[row] if row >= 0 else _NO_IMAGES for row in old_rows.tolist()]
        for name, arrays in self._arrays.items():
            if arrays is not None:
                sizes, num_nodes = (cast("NDArray[np.int64]", take_rows(array, old_rows, 0)) for array in arrays)
                self._arrays[name] = sizes, num_nodes

    def fill(self, infos: Sequence[NodeInfo]) -> None:
        """See Column."""
        self._states = [info.image_states for info in infos]

    def set_node(self, row: int, info: NodeInfo) -> None:
        """See Column."""
        before, after = self._states[row], info.image_states
        if before is after:
            return
        self._states[row] = after
        for name, arrays in self._arrays.items():
            state = after.get(name)
            if arrays is None and state is not None:
                self._arrays[name] = self._collect(name)
            elif arrays is not None:
                sizes, num_nodes = arrays
                sizes[row], num_nodes[row] = (state.size, state.num_nodes) if state is not None else (0, 0)

    def add_pod(self, row: int, pod: PodInfo) -> None:
        """A node's images do not depend on pods."""

    def remove_pod(self, row: int, pod: PodInfo) -> None:
        """A node's images do not depend on pods."""

    def _collect(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        found = [(row, state) for row, states in enumerate(self._states) if (state := states.get(name)) is not None]
        if not found:
            return None
        sizes, num_nodes = np.zeros(len(self._states), np.int64), np.zeros(len(self._states), np.int64)
        for row, state in found:
            sizes[row], num_nodes[row] = state.size, state.num_nodes
        return sizes, num_nodes


def scaled_sizes(sizes: NDArray[np.int64], num_nodes: NDArray[np.int64], node_count: int) -> NDArray[np.int64]:
    """Return int64[F]: sizes: int64[F] scaled by the share of nodes that have the image, num_nodes: int64[F]."""
    return (sizes * (num_nodes / node_count)).astype(np.int64)


def image_scores(total: NDArray[np.int64], threshold_max: int) -> NDArray[np.int64]:
    """Return int64[F]: where total: int64[F] lies between the thresholds, from 0 to 100."""
    bounded = np.minimum(np.maximum(total, THRESHOLD_MIN), threshold_max)
    return divide_each(MAX_NODE_SCORE * (bounded - THRESHOLD_MIN), threshold_max - THRESHOLD_MIN)


ENTRY: Final = PluginEntry(ImageLocality.name, ImageLocality)
