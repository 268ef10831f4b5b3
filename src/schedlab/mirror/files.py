"""Clusters from files: a snapshot, complete or not, or files and folders of manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedlab.apimachinery.yaml_file import read_document
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.complete_snapshot import MAGIC, read_complete
from schedlab.mirror.importer import ImportOptions
from schedlab.mirror.manifests import read_objects
from schedlab.mirror.snapshot import SCHEDULER_CONFIG, check, whole_objects


@dataclass(frozen=True, slots=True)
class ClusterFiles:
    """What files hold: objects in the order in which they can be made, a scheduler's configuration if there is one."""

    objects: list[dict[str, Any]]
    scheduler_config: Mapping[str, Any] | None
    warnings: Sequence[str]


def read_cluster(paths: Sequence[Path]) -> ClusterFiles:
    """Read one snapshot, complete or not, or any files and folders of manifests; raises SchedlabError."""
    if len(paths) == 1 and is_complete(paths[0]):
        whole = read_complete(paths[0].read_bytes(), str(paths[0]))
        # Nothing else has a say in where pods go.
        counts = ImportOptions().resources()
        objects = [kept.object for kept in whole.objects if kept.resource in counts]
        return ClusterFiles(objects, whole.scheduler_config, ())
    if len(paths) == 1 and not paths[0].is_dir():
        document = read_document(paths[0], "name a snapshot, or files and folders of manifests", strict=False)
        if isinstance(document, dict) and "kind" not in document:
            snapshot = _checked(document, paths[0])
            return ClusterFiles(whole_objects(snapshot), snapshot.get(SCHEDULER_CONFIG), ())
    objects, warnings = read_objects(paths)
    if not objects:
        raise SchedlabError(
            "no objects are there",
            location=", ".join(map(str, paths)),
            hint="name a snapshot, or files and folders of manifests",
        )
    return ClusterFiles(objects, None, warnings)


def is_complete(file: Path) -> bool:
    """Whether a file is a complete snapshot; False for one that cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_snapshot(file: Path) -> dict[str, Any]:
    """Return the content of a snapshot file, JSON or YAML; raises SchedlabError."""
    return _checked(read_document(file, "name a file that `snapshot save` has written", strict=False), file)


def _checked(document: object, file: Path) -> dict[str, Any]:
    try:
        return dict(check(document))
    except SchedlabError as error:
        error.location = f"{file}: {error.location}" if error.location else str(file)
        raise
