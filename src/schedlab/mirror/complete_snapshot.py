"""Complete snapshots: all that a cluster holds, revisions and decisions included, in one file, a zip archive of

    cluster.json     the form, the revision, the time, the scheduler's configuration
    objects.jsonl    {"resource":"pods","revision":412,"object":{…}}, one line per stored object of any kind
    decisions.db     the decision log, as `--data-dir` keeps it (cluster.decision_file)

Loaded into a cluster, objects keep their uids, times, owners and status, and the order of their revisions; a server
never goes back, so the revisions are new ones. Attempts are known under their pods' uids; how the cluster was at them
cannot be rebuilt elsewhere.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.time import format_time
from schedlab.cluster.decision_file import FILE_NAME, DecisionFile
from schedlab.decisions.log import DecisionLog, PodStory
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.kept_state import FIRST, KeptState, stored_resources
from schedlab.mirror.snapshot import Loaded
from schedlab.registry import Registry

FORMAT: Final = 1
#: What such a file begins with.
MAGIC: Final = b"PK\x03\x04"
_CLUSTER, _OBJECTS = "cluster.json", "objects.jsonl"
#: Made after everything else.
_LAST: Final = ("nodes", "pods")
_ALL: Final = 2**62


@dataclass(frozen=True, slots=True)
class KeptObject:
    """One object: the resource that it is stored as, its revision there, and the whole of it."""

    resource: str
    revision: int
    object: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompleteSnapshot:
    """What a file holds; objects are in the order in which they can be made."""

    revision: int
    scheduler_config: Mapping[str, Any]
    objects: Sequence[KeptObject]
    stories: Sequence[PodStory] = field(repr=False, default=())


# --- Saving ----------------------------------------------------------------------------------------------------------


class Saving:
    """Gathers a snapshot in a folder: first `steps`, in the loop of the cluster, then `finish`, anywhere."""

    def __init__(self, registry: Registry, log: DecisionLog, configuration: Mapping[str, Any], now_ns: int) -> None:
        # Objects are immutable: this is the cluster at one revision, whatever happens while the file is made.
        self._objects = [
            (resource, obj) for resource in stored_resources(registry) for obj in registry.list(resource).items
        ]
        self._head = {
            "format": FORMAT,
            "revision": registry.revision,
            "savedAt": format_time(now_ns),
            "schedulerConfig": configuration,
        }
        self._log = log

    def steps(self, file: DecisionFile) -> Iterator[None]:
        """Hand the decisions to a file, attempt by attempt."""
        for _, story, attempt in self._log.oldest_first():
            file.keep(story, attempt)
            if attempt.complete_since:
                file.keep_end(attempt)
            yield
        for story in self._log.every_story():
            for move in story.moves:
                file.keep_move(story, move)
            yield

    def finish(self, folder: Path, target: Path) -> None:
        """Write the snapshot, with the decisions of a folder whose file was closed."""
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(_CLUSTER, orjson.dumps(self._head))
            with archive.open(_OBJECTS, "w") as lines:
                for resource, obj in self._objects:
                    head = b'{"resource":"%b","revision":%d,"object":' % (resource.encode(), obj.revision)
                    lines.write(head + obj.json() + b"}\n")
            archive.write(folder / FILE_NAME, FILE_NAME)


# --- Loading ---------------------------------------------------------------------------------------------------------


def read_complete(content: bytes, location: str = "") -> CompleteSnapshot:
    """Return what a file holds; raises SchedlabError before anything is changed when it is not whole."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            head = orjson.loads(archive.read(_CLUSTER))
            if head["format"] != FORMAT:
                raise SchedlabError(
                    f"has format {head['format']}, this schedlab knows {FORMAT}",
                    location=location,
                    hint="use the schedlab that made it",
                )
            objects = [_kept_object(line) for line in archive.read(_OBJECTS).splitlines()]
            stories = _stories(archive.read(FILE_NAME))
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise SchedlabError(
            f"is no complete snapshot: {error}",
            location=location,
            hint="take one that `schedlab snapshot save --complete` has written whole",
        ) from error
    return CompleteSnapshot(head["revision"], head["schedulerConfig"], sorted(objects, key=_place), stories)


def _kept_object(line: bytes) -> KeptObject:
    found = orjson.loads(line)
    obj = found["object"]
    if not obj["metadata"]["name"] or not obj["kind"]:
        raise ValueError("an object has no name or kind")
    return KeptObject(found["resource"], int(found["revision"]), obj)


def _place(kept: KeptObject) -> tuple[int, int, int]:
    first = FIRST.index(kept.resource) if kept.resource in FIRST else len(FIRST)
    last = _LAST.index(kept.resource) + 1 if kept.resource in _LAST else 0
    return first, last, kept.revision


def _stories(database: bytes) -> Sequence[PodStory]:
    with TemporaryDirectory(prefix="schedlab-") as folder:
        (Path(folder) / FILE_NAME).write_bytes(database)
        file = DecisionFile(Path(folder), bytes_max=0)
        try:
            uids = dict.fromkeys(story.uid for _, story, _ in file.oldest_first(_ALL))
            uids |= dict.fromkeys(story.uid for story in file.stories())
            return tuple(story for uid in uids if (story := file.story(uid)) is not None)
        finally:
            file.close()


def load_steps(registry: Registry, snapshot: CompleteSnapshot, loaded: Loaded, *, replace: bool) -> Iterator[None]:
    """Bring the objects of a snapshot into a cluster, object by object; with `replace` take away all others first."""
    if replace:
        yield from _state(registry, snapshot.objects).removals()
    for kept in snapshot.objects:
        try:
            registry.adopt(kept.resource, kept.object)
            loaded.objects += 1
        except StatusError as error:
            metadata = kept.object["metadata"]
            place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
            loaded.problems.append(f"{kept.resource} {place}{metadata['name']}: {error.message}")
        yield


def _state(registry: Registry, objects: Sequence[KeptObject]) -> KeptState:
    by_resource: dict[str, dict[tuple[str, str], StoredObject]] = {}
    for kept in objects:
        stored = StoredObject.encode(kept.resource, kept.object, kept.revision)
        by_resource.setdefault(kept.resource, {})[stored.namespace, stored.name] = stored
    return KeptState(registry, by_resource)
