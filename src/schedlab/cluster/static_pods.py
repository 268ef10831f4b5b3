"""Static pods: manifests in a folder of the control plane's node, run by its kubelet and shown by mirror pods.

The node `control-plane` is made when there is such a folder. Files are looked at every second; a pod is called as its
manifest says, with the node's name behind it. hostPath volumes of its containers are paths of this machine.

Mirrors: pkg/kubelet/config/file.go, pkg/kubelet/pod/mirror_client.go (v1.36)
Differs: a manifest may have a service account and ConfigMaps, which upstream's static pods cannot use.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.apimachinery.time import format_nano_time
from schedlab.apimachinery.yaml import YAMLError, load
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.registry import DeleteOptions, Registry, WriteOptions

NODE: Final = "control-plane"
_PERIOD_NS: Final = SECOND_NS
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_ROLE: Final = "node-role.kubernetes.io/control-plane"
_MIRROR: Final = "kubernetes.io/config.mirror"
_MANAGER: Final = WriteOptions(field_manager="kubelet")


class StaticPods:
    """Keeps the mirror pods of a folder; `warn` is told what is wrong with a manifest, once per state of its file."""

    def __init__(
        self, folder: Path, registry: Registry, clock: Clock, warn: Callable[[str], None] | None = None
    ) -> None:
        self._folder, self._registry, self._clock = folder, registry, clock
        self._warn = _to_stderr if warn is None else warn
        #: Namespace and name of the mirror pod of each file, and the hash of what the file held.
        self._pods: dict[Path, tuple[str, str, str]] = {}
        self._wrong: dict[Path, str] = {}

    def start(self) -> None:
        """Make the node, and look at the folder from now on."""
        if all(node.name != NODE for node in self._registry.list("nodes").items):
            self._registry.create("nodes", self._registry.decode("nodes", _node()), "", _MANAGER)
        self.look()

    def look(self) -> None:
        """See what the folder holds now, and again after a while."""
        files = sorted(file for file in self._folder.glob("*") if file.suffix in _SUFFIXES and file.is_file())
        for file in [file for file in self._pods if file not in files]:
            self._remove(file)
        for file in files:
            self._take(file)
        self._clock.at(self._clock.now_ns() + _PERIOD_NS, self.look)

    def _take(self, file: Path) -> None:
        try:
            content = file.read_bytes()
        except OSError as error:
            self._tell(file, "", f"cannot be read: {error.strerror}")
            return
        digest = hashlib.sha256(content).hexdigest()[:32]
        if self._wrong.get(file) == digest or self._runs(file, digest):
            return
        self._remove(file)
        try:
            self._create(file, _manifest(content), digest)
        except (YAMLError, UnicodeDecodeError, ValueError) as error:
            self._tell(file, digest, str(error))
        except StatusError as error:
            self._tell(file, digest, error.message)

    def _runs(self, file: Path, digest: str) -> bool:
        """Whether there is the mirror pod of what a file holds: somebody may have deleted it."""
        namespace, name, known = self._pods.get(file, ("", "", ""))
        return known == digest and self._hash(namespace, name) is not None

    def _hash(self, namespace: str, name: str) -> str | None:
        """Return the hash of what a mirror pod was made from, None if there is no such mirror pod."""
        try:
            pod = self._registry.get("pods", name, namespace)
        except NotFound:
            return None
        return str(found) if (found := pod.view.metadata.annotations.get(_MIRROR)) else None

    def _tell(self, file: Path, digest: str, message: str) -> None:
        if self._wrong.get(file) != digest:
            self._wrong[file] = digest
            self._warn(f"warning: static pod {file}: {message}")

    def _create(self, file: Path, manifest: Mapping[str, Any], digest: str) -> None:
        """Make the mirror pod of a file, or go on with one that an earlier process has left."""
        metadata = dict(manifest["metadata"])
        namespace = metadata.setdefault("namespace", "default")
        metadata["name"] = name = f"{metadata['name']}-{NODE}"
        is_ours = (namespace, name) in {known[:2] for known in self._pods.values()}
        left = None if is_ours else self._hash(namespace, name)
        if left is not None and left != digest:
            self._registry.delete("pods", name, namespace, DeleteOptions(grace_period_seconds=0))
        if left != digest:
            self._registry.create("pods", self._mirror(manifest, metadata, digest), namespace, _MANAGER)
        self._wrong.pop(file, None)
        self._pods[file] = namespace, name, digest

    def _mirror(self, manifest: Mapping[str, Any], metadata: dict[str, Any], digest: str) -> dict[str, Any]:
        """Return the mirror pod of a manifest."""
        seen = format_nano_time(self._clock.now_ns())
        config = {"config.hash": digest, "config.seen": seen, "config.source": "file"}
        added = {_MIRROR: digest, **{f"kubernetes.io/{key}": value for key, value in config.items()}}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}
        node = self._registry.get("nodes", NODE)
        owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node.uid, "controller": True}
        metadata["ownerReferences"] = [owner]
        tolerations = [*(manifest["spec"].get("tolerations") or ()), {"operator": "Exists", "effect": "NoExecute"}]
        spec = {**manifest["spec"], "nodeName": NODE, "tolerations": tolerations}
        return self._registry.decode("pods", {**manifest, "metadata": metadata, "spec": spec})

    def _remove(self, file: Path) -> None:
        known = self._pods.pop(file, None)
        if known is not None:
            namespace, name, _ = known
            try:
                self._registry.delete("pods", name, namespace, DeleteOptions(grace_period_seconds=0))
            except StatusError:
                return  # it is gone already


def _manifest(content: bytes) -> Mapping[str, Any]:
    manifest = load(content)
    if not isinstance(manifest, dict) or manifest.get("kind") != "Pod":
        raise ValueError("holds no Pod")
    metadata, spec = manifest.get("metadata"), manifest.get("spec")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not isinstance(spec, dict):
        raise ValueError("has no metadata.name or no spec")  # noqa: TRY004 - of the file, not of an argument
    return manifest


def _node() -> dict[str, Any]:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, _ROLE: ""}},
        "spec": {"taints": [{"key": _ROLE, "effect": "NoSchedule"}]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - told to whoever runs the cluster
