"""`schedlab replay`: play a record into the running simulator."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from schedlab.cli import simulator_api
from schedlab.cli.kube_context import NameOption, resolve
from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.recording import read_record

_PATH = "/api/v1/replay"


def replay(
    path: Path | None = None,
    *,
    action: Annotated[
        Literal["start", "status", "pause", "resume", "seek", "stop"],
        Parameter(help="What to do with the replay; seek goes to --from."),
    ] = "start",
    speed: Annotated[
        float, Parameter(help="1 is as fast as it was recorded, 10 ten times as fast, 0 as fast as it goes.")
    ] = 0,
    seek: Annotated[int, Parameter(name=["--from", "--seek"], help="Number of the first event to play, from 0.")] = 0,
    resource: Annotated[
        tuple[str, ...], Parameter(negative="", help="Play only these kinds. May be given several times.")
    ] = (),
    namespace: Annotated[
        tuple[str, ...], Parameter(name=["--namespace", "-n"], negative="", help="Play only these namespaces.")
    ] = (),
    edit: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", help='Change what is played: KIND=MERGE-PATCH, as pods={"spec":{"schedulerName":"mine"}}.'
        ),
    ] = (),
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"], help="Form of the answer.")] = "text",
    name: NameOption = None,
) -> int:
    """Play what a recorder has written; our scheduler decides where its pods go.

    Parameters
    ----------
    path
        The file, for `--action start`.
    """
    home = resolve(name, None)[0]
    if not 0 <= speed < math.inf:
        raise SchedlabError(
            f"{speed} is no speed", location="--speed", hint="1 is as it was recorded, 0 without waiting"
        )
    if action == "start":
        asked = {
            "speed": speed,
            "from": seek,
            "resources": list(resource),
            "namespaces": list(namespace),
            "edits": dict(map(_edit, edit)),
        }
        _start(home, path, asked)
        return 0
    if action == "stop":
        simulator_api.ask(home, "DELETE", _PATH)
        print("the replay has stopped")
        return 0
    if action == "status":
        status = simulator_api.ask(home, "GET", _PATH)
    elif action == "seek":
        status = simulator_api.ask(home, "PATCH", _PATH, {"position": seek})
    else:
        status = simulator_api.ask(home, "PATCH", _PATH, {"paused": action == "pause"})
    print(json.dumps(status, indent=2) if output == "json" else "\n".join(status_lines(status)))
    return 0


def _start(home: Home, path: Path | None, asked: Mapping[str, Any]) -> None:
    if path is None:
        raise SchedlabError("no file is named", location="replay", hint="schedlab replay record.jsonl")
    # Mistakes are told here, before the simulator is asked.
    read_record(path)
    answer = simulator_api.ask(home, "POST", _PATH, {"file": str(path.absolute()), **asked})
    for warning in answer["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)
    print("playing; `schedlab replay --action status` tells how far it is")


def _edit(text: str) -> tuple[str, Any]:
    kind, _, patch = text.partition("=")
    try:
        return kind, json.loads(patch)
    except json.JSONDecodeError as error:
        raise SchedlabError(
            f"{patch!r} is not JSON: {error}", location=f"--edit {kind}", hint="write a merge patch of the objects"
        ) from error


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """Word how far a replay is."""
    if status["state"] == "stopped":
        return ["nothing is replayed"]
    lines = [f"state     {status['state']}, event {status['position']} of {status['events']}"]
    for key, word in (("done", "done"), ("tolerated", "odd"), ("skipped", "left out"), ("failed", "failed")):
        lines += [f"{word:9} {count:6}  {what}" for what, count in status[key].items()]
    lines += [f"  {problem}" for problem in status["problems"][:20]]
    return lines
