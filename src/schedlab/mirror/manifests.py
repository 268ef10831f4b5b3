"""Objects from files: manifests, lists, `kubectl get -o yaml`, `kubectl cluster-info dump` folders, must-gather.

    objects, warnings = read_objects([Path("dump/"), Path("more.yaml")])

Folders are gone through to the bottom; files that hold no objects (logs) are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.yaml_file import documents_of, read_text
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.snapshot import Loaded, is_here, kind_of
from schedlab.registry import Registry, WriteOptions

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MANAGER: Final = "schedlab"
#: What others depend on, first; everything else keeps its order behind them, pods come last.
_ORDER: Final = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "DeviceClass",
    "ServiceAccount",
    "ConfigMap",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Node",
)
_LAST: Final = len(_ORDER) + 1
_FOREIGN: Final = ("resourceVersion", "managedFields", "generation", "creationTimestamp", "selfLink")


def read_objects(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the objects of files and folders in the order in which they can be made, and warnings.

    Raises SchedlabError for a path that is not there, and for a file named by itself that cannot be read.
    """
    objects: list[dict[str, Any]] = []
    warnings: list[str] = []
    for path in paths:
        if path.is_dir():
            for file in sorted(one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file()):
                try:
                    objects += _objects_of(file)
                except SchedlabError as error:
                    warnings.append(f"{file} is left out: {error.message}")
        else:
            objects += _objects_of(path)
    ordered = sorted(objects, key=_place)
    return ordered, warnings


def _objects_of(file: Path) -> list[dict[str, Any]]:
    documents = documents_of(read_text(file, "name files or folders that are there"), str(file))
    return [obj for document in documents for obj in _flat(document.value)]


def _flat(document: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a document; lists are opened, what is no object is passed over."""
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        return
    items = document.get("items")
    if isinstance(items, list):
        kind, version = document["kind"].removesuffix("List"), document.get("apiVersion", "")
        for item in items:
            if isinstance(item, dict):
                # Items of a typed list carry no kind of their own.
                yield from _flat({"kind": kind, "apiVersion": version, **item})
        return
    metadata = document.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
        yield document


def _place(obj: Mapping[str, Any]) -> int:
    kind = obj["kind"]
    if kind == "Pod":
        return _LAST
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def load_objects(registry: Registry, objects: Sequence[dict[str, Any]], loaded: Loaded) -> Iterator[None]:
    """Load object by object, so that others can do something in between.

    What another cluster has given a uid is taken over as it is there; what has none is applied like a manifest.
    """
    for obj in objects:
        metadata = obj["metadata"]
        try:
            _load(registry, obj)
            loaded.objects += 1
        except StatusError as error:
            place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
            loaded.problems.append(f"{obj['kind']} {place}{metadata['name']}: {error.message}")
        yield


def _load(registry: Registry, source: Mapping[str, Any]) -> None:
    kind = kind_of(registry, source)
    if kind is None:
        group = str(source.get("apiVersion", "")).rpartition("/")[0]
        registry.resource(f"{source['kind'].lower()}.{group}".rstrip("."))  # raises NotFound
        return
    metadata = dict(source["metadata"])
    obj = {**source, "metadata": metadata}
    if kind.namespaced:
        metadata.setdefault("namespace", "default")
    namespace = metadata.get("namespace", "") if kind.namespaced else ""
    if metadata.get("uid"):
        owners = metadata.get("ownerReferences")
        if isinstance(owners, list):
            metadata["ownerReferences"] = [owner for owner in owners if is_here(registry, owner, namespace)]
        registry.adopt(kind.full_name, obj)
        return
    for key in _FOREIGN:
        metadata.pop(key, None)
    options = WriteOptions(field_manager=_MANAGER, force=True)
    registry.apply(kind.full_name, metadata["name"], obj, namespace, options)
