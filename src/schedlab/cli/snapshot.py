"""`schedlab snapshot`: the state of the simulated cluster as a file, back into a cluster, and back to the start."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import orjson
import yaml
from cyclopts import App, Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cli.output_file import write_file
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.mirror.anonymize import Anonymizer
from schedlab.mirror.complete_snapshot import read_complete
from schedlab.mirror.files import is_complete, read_snapshot
from schedlab.mirror.kinds import KINDS
from schedlab.mirror.snapshot import SCHEDULER_CONFIG

#: What makes pods or stands before them, and is in no snapshot.
_NOT_SAVED: Final = (
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "services",
    "poddisruptionbudgets.policy",
)

snapshot = App(name="snapshot", help="Save the cluster to a file, load one, or go back to the start.")


@snapshot.command
def save(
    file: Path,
    *,
    complete: Annotated[
        bool, Parameter(negative="", help="Save all there is, of every kind, with revisions and decisions.")
    ] = False,
    anonymize: Annotated[
        bool, Parameter(help="Replace names by pseudonyms and leave out what is nobody's business.")
    ] = False,
    key: Annotated[str, Parameter(help="With --anonymize: the same key gives the same pseudonyms.")] = "",
    keep: Annotated[
        tuple[Literal["args", "command", "env"], ...],
        Parameter(
            negative="", help="With --anonymize: what stays in containers, as it is. May be given several times."
        ),
    ] = (),
    name: NameOption = None,
) -> int:
    """Save pods, nodes, volumes, claims, classes, namespaces and the scheduler's configuration, as
    kube-scheduler-simulator does, or everything.

    Parameters
    ----------
    file
        Where to; a name that ends in .json gives JSON, any other YAML. A complete snapshot is a zip archive.
    """
    if complete:
        return _save_complete(file, name, anonymize=anonymize)
    home, _ = resolve(name, None)
    document = simulator_api.ask(home, "GET", "/api/v1/export")
    if anonymize:
        anonymizer = Anonymizer(key.encode() or secrets.token_bytes(32), keep)
        for kind in KINDS:
            document[kind.snapshot] = [anonymizer.anonymous(obj) for obj in document[kind.snapshot]]
        document[SCHEDULER_CONFIG] = anonymizer.scheduler_configuration(document[SCHEDULER_CONFIG] or {})
        _tell(document, anonymizer)
    text = orjson.dumps(document).decode() if file.suffix == ".json" else yaml.safe_dump(document, sort_keys=False)
    write_file(file, [text], private=True)
    print(f"{counted(sum(len(document[kind.snapshot]) for kind in KINDS), 'object')} saved to {file}")
    _, status = simulator_api.get(home, "/api/v1/status")
    left = [f"{count} {kind}" for kind, count in status.get("objects", {}).items() if kind in _NOT_SAVED and count]
    if left:
        print(f"warning: a snapshot holds no controllers and services: not saved: {', '.join(left)}", file=sys.stderr)
    return 0


@snapshot.command
def restore(
    file: Path,
    *,
    replace: Annotated[
        bool, Parameter(help="Empty the cluster first; otherwise objects are added and changed.")
    ] = False,
    name: NameOption = None,
) -> int:
    """Load a snapshot of ours, complete or not, or of kube-scheduler-simulator: the file tells what it is."""
    query = "?replace=true" if replace else ""
    if is_complete(file):
        answer = simulator_api.ask(resolve(name, None)[0], "POST", f"/api/v1/snapshot{query}", file.read_bytes())
        print(f"{counted(answer['objects'], 'object')} loaded, with their decisions and the scheduler's configuration")
        for problem in answer["problems"]:
            print(f"error: {problem}", file=sys.stderr)
        return 1 if answer["problems"] else 0
    document = read_snapshot(file)
    simulator_api.ask(resolve(name, None)[0], "POST", f"/api/v1/import{query}", document)
    count = sum(len(document.get(kind.snapshot) or ()) for kind in KINDS)
    config = ", and the scheduler's configuration" if document.get(SCHEDULER_CONFIG) else ""
    print(f"{counted(count, 'object')} loaded{config}")
    return 0


@snapshot.command
def reset(*, name: NameOption = None) -> int:
    """Bring the cluster back to how it was when the simulator started."""
    simulator_api.ask(resolve(name, None)[0], "PUT", "/api/v1/reset", {})
    print("the cluster is as it was at the start")
    return 0


def _tell(document: Mapping[str, Any], anonymizer: Anonymizer) -> None:
    """Report what leaves: objects by kind, texts that are pseudonyms now and values that were left out, by field."""
    counts = {kind.snapshot: len(document[kind.snapshot]) for kind in KINDS}
    for what, numbers in (
        ("what leaves", counts),
        ("pseudonyms", anonymizer.replaced),
        ("left out", anonymizer.dropped),
    ):
        told = ", ".join(f"{number} {name}" for name, number in sorted(numbers.items()) if number)
        print(f"{what}: {told or 'nothing'}", file=sys.stderr)


def _save_complete(file: Path, name: str | None, *, anonymize: bool) -> int:
    if anonymize:
        raise SchedlabError(
            "a complete snapshot has names everywhere, in decisions and events, too",
            location="--anonymize",
            hint="leave --complete out",
        )
    content = simulator_api.download(resolve(name, None)[0], "/api/v1/snapshot")
    snapshot = read_complete(content, str(file))
    write_file(file, [content], private=True)
    attempts = sum(len(story.attempts) for story in snapshot.stories)
    print(
        f"{counted(len(snapshot.objects), 'object')} of revision {snapshot.revision} and {counted(attempts, 'attempt')} saved to {file}"
    )
    return 0
