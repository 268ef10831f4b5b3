"""The files that a container sees: what its volumes hold, at the paths where they are mounted.

ConfigMaps, Secrets and projected volumes come from the API, hostPath volumes from this machine.

Mirrors: pkg/volume/{configmap,secret,projected,hostpath} (v1.36), what a program that reads files sees of them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias

#: Returns an object of a namespace by resource and name, None when it is not there.
Lookup: TypeAlias = Callable[[str, str], Mapping[str, Any] | None]

_FILE_BYTES_MAX: Final = 1024 * 1024


class MissingFile(Exception):
    """A path that is not there, in the words of the program that looks for it."""


class MissingVolume(Exception):
    """A volume that cannot be mounted, in the kubelet's words: the container does not start."""


class ContainerFiles:
    """The files of one container of a pod; `lookup` finds ConfigMaps and Secrets of its namespace."""

    def __init__(self, spec: Mapping[str, Any], container: Mapping[str, Any], lookup: Lookup) -> None:
        self._volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
        self._mounts = sorted(
            container.get("volumeMounts") or (), key=lambda mount: len(mount["mountPath"]), reverse=True
        )
        self._lookup = lookup

    def check(self) -> None:
        """See that everything can be mounted; raises MissingVolume."""
        for mount in self._mounts:
            volume = self._volumes.get(mount["name"], {})
            for kind, source in _api_sources(volume):
                name = source.get("name") or source.get("secretName") or ""
                if self._lookup(kind, name) is None and not source.get("optional"):
                    word = "configmap" if kind == "configmaps" else "secret"
                    raise MissingVolume(
                        f'MountVolume.SetUp failed for volume "{volume["name"]}" : {word} "{name}" not found'
                    )

    def read(self, path: str) -> bytes:
        """Return what a file holds; raises MissingFile."""
        wanted = PurePosixPath(path)
        for mount in self._mounts:
            root = PurePosixPath(mount["mountPath"])
            if wanted != root and root not in wanted.parents:
                continue
            inside = str(wanted.relative_to(root))
            if mount.get("subPath"):
                inside = mount["subPath"] if inside == "." else f"{mount['subPath']}/{inside}"
            found = self._content(self._volumes.get(mount["name"], {}), inside)
            if found is not None:
                return found
            break
        raise MissingFile(f"open {path}: no such file or directory")

    def _content(self, volume: Mapping[str, Any], inside: str) -> bytes | None:
        if "hostPath" in volume:
            return _host_file(str(volume["hostPath"].get("path", "")), inside)
        for kind, source in _api_sources(volume):
            name = source.get("name") or source.get("secretName") or ""
            obj = self._lookup(kind, name)
            if obj is None:
                continue
            paths = {item["path"]: item["key"] for item in source.get("items") or ()}
            key = paths.get(inside, "") if paths else inside
            found = _value(obj, key)
            if found is not None:
                return found
        return None


def _api_sources(volume: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if "configMap" in volume:
        yield "configmaps", volume["configMap"]
    if "secret" in volume:
        yield "secrets", volume["secret"]
    for source in (volume.get("projected") or {}).get("sources") or ():
        # The account's token and the cluster's CA are there without an object to look up.
        if "configMap" in source and source["configMap"].get("name") != "kube-root-ca.crt":
            yield "configmaps", source["configMap"]
        if "secret" in source:
            yield "secrets", source["secret"]


def _value(obj: Mapping[str, Any], key: str) -> bytes | None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    if key in binary:
        return base64.b64decode(binary[key])
    if key not in data:
        return None
    text = str(data[key])
    return base64.b64decode(text) if obj.get("kind") == "Secret" else text.encode()


def _host_file(root: str, inside: str) -> bytes | None:
    file = Path(root) if inside == "." else Path(root) / inside
    try:
        if not file.is_file() or file.stat().st_size > _FILE_BYTES_MAX:
            return None
        return file.read_bytes()
    except OSError:
        return None
