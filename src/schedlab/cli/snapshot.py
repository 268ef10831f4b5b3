"""`schedlab snapshot`: the state of the simulated cluster as a file, back into a cluster, and back to the start."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import yaml
from cyclopts import App, Parameter

from schedlab.apimachinery.yaml import YAMLError, load
from schedlab.cli import simulator_api
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.anonymize import Anonymizer
from schedlab.mirror.kinds import KINDS
from schedlab.mirror.snapshot import SCHEDULER_CONFIG, check

snapshot = App(name="snapshot", help="Save the cluster to a file, load one, or go back to the start.")
NameOption = Annotated[str, Parameter(help="Name of the simulated cluster.")]


@snapshot.command
def save(
    file: Path,
    *,
    anonymize: Annotated[
        bool, Parameter(help="Replace names by pseudonyms and leave out what is nobody's business.")
    ] = False,
    key: Annotated[str, Parameter(help="With --anonymize: the same key gives the same pseudonyms.")] = "",
    name: NameOption = "default",
) -> int:
    """Save pods, nodes, volumes, claims, classes, namespaces and the scheduler's configuration, as
    kube-scheduler-simulator does.

    Parameters
    ----------
    file
        Where to; a name that ends in .json gives JSON, any other YAML.
    """
    document = simulator_api.ask(Home.of(name), "GET", "/api/v1/export")
    if anonymize:
        anonymizer = Anonymizer(key.encode() or secrets.token_bytes(32))
        for kind in KINDS:
            document[kind.snapshot] = [anonymizer.anonymous(obj) for obj in document[kind.snapshot]]
        replaced, dropped = sum(anonymizer.replaced.values()), sum(anonymizer.dropped.values())
        fields = ", ".join(sorted(anonymizer.dropped))
        print(f"{replaced} texts are pseudonyms now, {dropped} values were left out: {fields}", file=sys.stderr)
    text = orjson.dumps(document) if file.suffix == ".json" else yaml.safe_dump(document, sort_keys=False).encode()
    try:
        file.touch(mode=0o600)
        file.write_bytes(text)
    except OSError as error:
        raise SchedlabError(f"cannot be written: {error.strerror}", location=str(file), hint="name another") from error
    print(f"{sum(len(document[kind.snapshot]) for kind in KINDS)} objects saved to {file}")
    return 0


@snapshot.command
def restore(
    file: Path,
    *,
    replace: Annotated[
        bool, Parameter(help="Empty the cluster first; otherwise objects are added and changed.")
    ] = False,
    name: NameOption = "default",
) -> int:
    """Load a snapshot of ours or of kube-scheduler-simulator."""
    document = read_snapshot(file)
    query = "?replace=true" if replace else ""
    simulator_api.ask(Home.of(name), "POST", f"/api/v1/import{query}", document)
    count = sum(len(document.get(kind.snapshot) or ()) for kind in KINDS)
    config = ", and the scheduler's configuration" if document.get(SCHEDULER_CONFIG) else ""
    print(f"{count} objects loaded{config}")
    return 0


@snapshot.command
def reset(*, name: NameOption = "default") -> int:
    """Bring the cluster back to how it was when the simulator started."""
    simulator_api.ask(Home.of(name), "PUT", "/api/v1/reset", {})
    print("the cluster is as it was at the start")
    return 0


def read_snapshot(file: Path) -> dict[str, Any]:
    """Return the content of a snapshot file, JSON or YAML; raises SchedlabError."""
    try:
        document = load(file.read_bytes())
    except OSError as error:
        raise SchedlabError(
            f"cannot be read: {error.strerror}", location=str(file), hint="name a file that `snapshot save` has written"
        ) from error
    except (YAMLError, UnicodeDecodeError) as error:
        raise SchedlabError(str(error), location=str(file), hint="the file must hold YAML or JSON") from error
    try:
        return dict(check(document))
    except SchedlabError as error:
        error.location = f"{file}: {error.location}" if error.location else str(file)
        raise
