"""Warnings about files of one volume that would hide each other.

Mirrors: pkg/api/pod/warnings.go (warningsForOverlappingVirtualPaths) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from schedlab.api.validation.sound_values import SoundValues
from schedlab.apimachinery.gojson import quote


class _File(NamedTuple):
    """A path, and what puts a file there."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quote(self.path)} ({self.source})" if self.source else quote(self.path)


#: Every pod has the volume with the token of its account.
_quiet_sources: Final = SoundValues()


def overlap_warnings(volumes: Sequence[Mapping[str, Any]]) -> list[str]:
    warnings: list[str] = []
    for volume in volumes:
        for what, files in _simple_sources(volume):
            warnings += _overlaps(volume, what, files)
        if projected := volume.get("projected"):
            sources = projected.get("sources") or ()
            warnings += _quiet_sources.look(sources, partial(_projected_warnings, volume, sources))
    return warnings


def _projected_warnings(volume: Mapping[str, Any], sources: Sequence[Mapping[str, Any]]) -> list[str]:
    empty = f"volume {quote(volume.get('name', ''))} (Projected) has no sources provided"
    warnings = [empty for source in sources if not source]
    return warnings + _overlaps(volume, "Projected", (file for source in sources for file in _files(source)))


def _simple_sources(volume: Mapping[str, Any]) -> Iterable[tuple[str, Iterable[_File]]]:
    for key, kind, name_key in (("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName")):
        if key in volume and "items" in volume[key]:
            yield f"{kind} {quote(volume[key].get(name_key, ''))}", _items(volume[key])
    if "downwardAPI" in volume:
        yield "DownwardAPI", _items(volume["downwardAPI"])


def _items(source: Mapping[str, Any], name: str = "") -> Iterable[_File]:
    return (_File(item.get("path", ""), name) for item in source.get("items") or ())


def _files(source: Mapping[str, Any]) -> Iterable[_File]:
    """Return the files of one source of a projected volume; the first kind that is there counts."""
    for key, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if key in source and "items" in source[key]:
            return _items(source[key], f"{kind} {quote(source[key].get('name', ''))}")
    if "downwardAPI" in source and "items" in source["downwardAPI"]:
        return _items(source["downwardAPI"], "DownwardAPI")
    if "serviceAccountToken" in source:
        return [_File(source["serviceAccountToken"].get("path", ""), "ServiceAccountToken")]
    if "clusterTrustBundle" in source:
        bundle = source["clusterTrustBundle"]
        name = bundle.get("name", bundle.get("signerName", ""))
        return [_File(bundle.get("path", ""), f"ClusterTrustBundle {quote(name)}")]
    certificate = source.get("podCertificate") or {}
    kinds = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
    return [_File(certificate[key], f"PodCertificate {what}") for key, what in kinds if certificate.get(key)]


def _overlaps(volume: Mapping[str, Any], what: str, files: Iterable[_File]) -> list[str]:
    warnings: list[str] = []
    known: list[_File] = []
    for given in files:
        file = _File(given.path.rstrip("/"), given.source)
        for other in known:
            if file.path and other.path and _contains(file.path, other.path):
                body = f"{file} with {other}"
                warnings.append(f"volume {quote(volume.get('name', ''))} ({what}): overlapping paths: {body}")
        known.append(file)
    return warnings


def _contains(path: str, other: str) -> bool:
    """Whether one of two paths is, or is inside, the other."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")
