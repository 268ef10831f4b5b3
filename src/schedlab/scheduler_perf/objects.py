"""Objects made from template files, and the labels and names that operations give to them.

Mirrors: getSpecFromTextTemplateFile and the strategies of test/utils/runners.go (v1.36).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from schedlab.apimachinery.yaml import YAMLError, load_document
from schedlab.kernel.errors import SchedlabError
from schedlab.scheduler_perf.operations import CreateNodes
from schedlab.scheduler_perf.text_template import TextTemplate

Body: TypeAlias = dict[str, Any]

#: What createNodes makes without a template, createPods without one, createNamespaces without one.
DEFAULT_NODE: Final[Body] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"generateName": "scheduler-perf-"},
    "status": {
        "capacity": {"pods": "110", "cpu": "4", "memory": "32Gi"},
        "allocatable": {"pods": "110", "cpu": "4", "memory": "32Gi"},
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
_REQUESTS: Final = {"cpu": "100m", "memory": "500Mi"}
DEFAULT_POD: Final[Body] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "resources": {"limits": _REQUESTS, "requests": _REQUESTS},
            }
        ]
    },
}


class ObjectTemplate:
    """A file with one object in it, as a text/template."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._text = TextTemplate(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise SchedlabError(
                f"cannot be read: {error}", location=str(path), hint="paths are relative to the file that names them"
            ) from error
        self._constant = self._parse(self._text.render({})) if self._text.constant else None

    def make(self, index: int, count: int, params: Mapping[str, Any]) -> Body:
        """Return the object of number `index`; its top levels may be changed."""
        body = self._constant or self._parse(self._text.render({**params, "Index": index, "Count": count}))
        return {**body, "metadata": {**body.get("metadata", {})}}

    def _parse(self, text: str) -> Body:
        try:
            document = load_document(text)
            document.raise_for_duplicates()
        except YAMLError as error:
            raise SchedlabError(str(error), location=str(self._path), hint="a template holds one object") from error
        if not isinstance(document.value, dict) or not document.value.get("kind"):
            raise SchedlabError("holds no object with a kind", location=str(self._path))
        return document.value


class Templates:
    """Template files, each read once; `beside` is the file that names them."""

    def __init__(self, beside: Path) -> None:
        self._beside = beside
        self._known: dict[str, ObjectTemplate] = {}

    def get(self, text: str) -> ObjectTemplate:
        """Return the template of a path as an operation names it."""
        if text not in self._known:
            path = Path(text)
            self._known[text] = ObjectTemplate(path if path.is_absolute() else self._beside.parent / path)
        return self._known[text]

    def bodies(
        self, path: str, default: Body | None, count: int, params: Mapping[str, Any] | None = None
    ) -> Iterator[Body]:
        """Return `count` objects, made one after the other."""
        template = self.get(path) if path else None
        for index in range(count):
            if template is not None:
                yield template.make(index, count, params or {})
            else:
                assert default is not None
                yield {**default, "metadata": dict(default["metadata"])}


class _LabelNodes(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    label_key: str
    label_value: str = ""
    label_values: list[str] = []


class _UniqueLabel(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    label_key: str


class _Allocatable(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    node_allocatable: dict[str, str]
    csi_node_allocatable: dict[str, Any] = {}
    migrated_plugins: list[str] = []


class NodeStrategy:
    """What createNodes does to each node beside the template; raises SchedlabError for one that cannot be read."""

    def __init__(self, operation: CreateNodes, location: str) -> None:
        given = {
            "nodeAllocatableStrategy": operation.node_allocatable_strategy,
            "labelNodePrepareStrategy": operation.label_node_prepare_strategy,
            "uniqueNodeLabelStrategy": operation.unique_node_label_strategy,
        }
        if sum(value is not None for value in given.values()) > 1:
            raise SchedlabError("createNodes takes at most one strategy", location=location)
        self._label = _read(_LabelNodes, operation.label_node_prepare_strategy, location)
        self._unique = _read(_UniqueLabel, operation.unique_node_label_strategy, location)
        self._allocatable = _read(_Allocatable, operation.node_allocatable_strategy, location)
        if self._allocatable is not None and self._allocatable.csi_node_allocatable:
            raise SchedlabError("csiNodeAllocatable is not supported; createAny makes CSINodes", location=location)

    def prepare(self, node: Body, index: int) -> Body:
        """Return the node with its labels and capacity."""
        if self._label is not None:
            values = self._label.label_values or [self._label.label_value]
            return _labelled(node, self._label.label_key, values[index % len(values)])
        if self._unique is not None:
            return _labelled(node, self._unique.label_key, f"{index}")
        if self._allocatable is not None:
            node = copy.deepcopy(node)
            status = node.setdefault("status", {})
            for part in ("capacity", "allocatable"):
                status[part] = {**status.get(part, {}), **self._allocatable.node_allocatable}
        return node


def _labelled(node: Body, key: str, value: str) -> Body:
    metadata = node["metadata"]
    return {**node, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), key: value}}}


def _read(kind: type[Any], raw: Mapping[str, Any] | None, location: str) -> Any:
    if raw is None:
        return None
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise SchedlabError(f"createNodes: {error}", location=location) from error
