"""The REST API of kube-scheduler-simulator, and what ours adds to it: import, sync and replay.

    GET, POST /api/v1/schedulerconfiguration      the configuration in force; its profiles and extenders anew (?dryRun=All)
    PUT /api/v1/reset                             back to the start
    GET /api/v1/export, POST /api/v1/import       snapshots; ?replace=true empties the cluster first
    GET /api/v1/listwatchresources                changes of seven kinds, as lines of JSON
    POST /api/v1/extender/{verb}/{id}             asks an extender of the configuration
    GET, POST /api/v1/snapshot                    complete snapshots; ?replace=true takes away what they do not hold
    POST /api/v1/objects                          loads objects of files: {"objects":…,"problems":[…]}
    POST /api/v1/sources/import                   imports the cluster of a kubeconfig; progress as lines of JSON
    GET, POST, DELETE /api/v1/sources/sync        follows one
    GET, POST, PATCH, DELETE /api/v1/replay       plays a record

Mirrors: simulator/server of kube-scheduler-simulator
Differs: an error tells its cause; a configuration that is refused leaves the old one in force and says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final, cast, get_args

import orjson

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.patch.merge_patch import merge
from schedlab.apimachinery.resources import known_resources
from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.importer import Controllers, ImportOptions
from schedlab.mirror.service import Mirroring
from schedlab.mirror.stream import ResourceStream
from schedlab.remote.kubeconfig import Access, load_access
from schedlab.web.routing import Answer, Refusal, Request, Route, Stream, json_answer
from schedlab.web.simulator import Simulator
from schedlab.web.whatif import asked

_SNAPSHOT_BYTES_MAX: Final = 1024 * 1024 * 1024
_NDJSON: Final = "application/x-ndjson"


def _mirroring(simulator: Simulator) -> Mirroring:
    if simulator.mirroring is None:
        raise Refusal(400, "there is no cluster here, only a scheduler")
    return simulator.mirroring


# --- kube-scheduler-simulator's own ----------------------------------------------------------------------------------


async def get_configuration(simulator: Simulator, _request: Request) -> Answer:
    """Show the scheduler's configuration."""
    return json_answer(_mirroring(simulator).scheduler_configuration())


async def post_configuration(simulator: Simulator, request: Request) -> Answer:
    """Put profiles and extenders in force, or with `?dryRun=All` tell whether that could be done."""
    wanted = await request.json()
    if not isinstance(wanted, dict):
        raise Refusal(500, "the body is no KubeSchedulerConfiguration")
    if request.word("dryRun") == "All":
        mirroring = _mirroring(simulator)
        # Nobody but the copy of this process that answers is changed.
        await asked(simulator, request, lambda _: mirroring.apply_scheduler_configuration(wanted))
        return Answer(b"", status=202)
    if request.word("dryRun"):
        raise Refusal(400, f"dryRun: {request.word('dryRun')!r} is not All")
    try:
        _mirroring(simulator).apply_scheduler_configuration(wanted)
    except SchedlabError as error:
        raise Refusal(500, f"the old configuration stays in force: {error.message}", hint=error.hint) from error
    return Answer(b"", status=202)


async def put_reset(simulator: Simulator, _request: Request) -> Answer:
    """Go back to the start."""
    await _mirroring(simulator).reset()
    return Answer(b"", status=202)


async def get_export(simulator: Simulator, _request: Request) -> Answer:
    """Return a snapshot."""
    return Answer(_mirroring(simulator).export() + b"\n")


async def post_import(simulator: Simulator, request: Request) -> Answer:
    """Load a snapshot."""
    document = await request.json(_SNAPSHOT_BYTES_MAX)
    loaded = await _mirroring(simulator).load(document, replace=request.flag("replace"))
    if loaded.problems:
        first = loaded.problems[0]
        more = f" (and {len(loaded.problems) - 1} more)" if len(loaded.problems) > 1 else ""
        raise Refusal(500, f"{first}{more}", problems=loaded.problems, loaded=loaded.objects)
    return Answer(b"")


async def get_stream(simulator: Simulator, request: Request) -> Stream:
    """Stream changes."""
    versions = {key: values[-1] for key, values in request.query.items()}
    mirroring = _mirroring(simulator)
    return Stream(ResourceStream(mirroring.registry, versions, strict=simulator.strict).lines(), "application/json")


async def post_extender(simulator: Simulator, request: Request) -> Answer:
    """Ask an extender what the scheduler would ask it."""
    number, verb = request.parameters["id"], request.parameters["verb"]
    if not (number.isascii() and number.isdecimal()):
        raise Refusal(400, f"{number!r} is not the number of an extender")
    if verb not in ("filter", "prioritize", "preempt", "bind"):
        raise Refusal(404, f"an extender has no verb {verb}: filter, prioritize, preempt, bind")
    body = await request.body()
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"the body is not JSON: {error}") from error
    return await asyncio.to_thread(_ask_extender, _mirroring(simulator), int(number), verb, body)


def _ask_extender(mirroring: Mirroring, number: int, verb: str, body: bytes) -> Answer:
    outcome = mirroring.ask_extender(number, verb, body)
    if outcome.error or outcome.status != 200:
        raise Refusal(500, outcome.error or f"the extender answered with status {outcome.status}")
    return Answer(outcome.body)


async def get_snapshot(simulator: Simulator, _request: Request) -> Stream:
    """Return a complete snapshot."""
    return Stream(_mirroring(simulator).export_complete(), "application/zip")


async def post_snapshot(simulator: Simulator, request: Request) -> Answer:
    """Load a complete snapshot."""
    content = await request.body(_SNAPSHOT_BYTES_MAX)
    loaded = await _mirroring(simulator).load_complete(content, replace=request.flag("replace"))
    return json_answer({"objects": loaded.objects, "problems": loaded.problems})


async def post_objects(simulator: Simulator, request: Request) -> Answer:
    """Load objects of files."""
    objects = await request.json(_SNAPSHOT_BYTES_MAX)
    if not isinstance(objects, list) or not all(_is_object(one) for one in objects):
        raise Refusal(400, "the body is no list of objects with kind and metadata.name")
    loaded = await _mirroring(simulator).load_objects(objects)
    return json_answer({"objects": loaded.objects, "problems": loaded.problems})


def _is_object(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return False
    metadata = value.get("metadata")
    return isinstance(metadata, dict) and isinstance(metadata.get("name"), str)


# --- Ours ------------------------------------------------------------------------------------------------------------


async def post_source_import(simulator: Simulator, request: Request) -> Stream:
    """Import the cluster of a kubeconfig."""
    asked = await _object(request)
    access = _access(asked)
    options = ImportOptions(
        namespaces=_texts(asked, "namespaces"),
        selector=_text(asked, "selector"),
        selected=_texts(asked, "selected") or ("pods",),
        controllers=_controllers(asked),
        more=_texts(asked, "more"),
    )
    options.resources()
    options.selects("")
    return Stream(_lines(_mirroring(simulator).import_from(access, options)), _NDJSON)


def _controllers(asked: Mapping[str, Any]) -> Controllers:
    word = asked.get("controllers") or "live"
    if word not in get_args(Controllers):
        raise Refusal(400, f"controllers: {word!r} is none of {', '.join(get_args(Controllers))}")
    return cast("Controllers", word)


async def _lines(progress: AsyncIterator[Mapping[str, Any]]) -> AsyncIterator[bytes]:
    try:
        async for one in progress:
            yield orjson.dumps(one) + b"\n"
    except StatusError as error:
        yield orjson.dumps({"error": error.message}) + b"\n"
    except SchedlabError as error:
        yield orjson.dumps({"error": error.message, "hint": error.hint}) + b"\n"


async def get_sync(simulator: Simulator, _request: Request) -> Answer:
    """Tell how far the sync is."""
    return json_answer(_mirroring(simulator).sync_status())


async def post_sync(simulator: Simulator, request: Request) -> Answer:
    """Follow the cluster of a kubeconfig."""
    asked = await _object(request)
    _mirroring(simulator).start_sync(_access(asked))
    return Answer(b"", status=202)


async def delete_sync(simulator: Simulator, _request: Request) -> Answer:
    """Follow no more."""
    await _mirroring(simulator).stop_sync()
    return Answer(b"", status=202)


async def get_replay(simulator: Simulator, _request: Request) -> Answer:
    """Tell how far the replay is."""
    return json_answer(_mirroring(simulator).replay_status())


async def post_replay(simulator: Simulator, request: Request) -> Answer:
    """Play a record."""
    asked = await _object(request)
    kinds = tuple(_resource(word, "resources") for word in _texts(asked, "resources"))
    namespaces = _texts(asked, "namespaces")

    def wanted(resource: str, obj: Mapping[str, Any]) -> bool:
        namespace = obj["metadata"].get("namespace")
        return (not kinds or resource in kinds) and (not namespaces or not namespace or namespace in namespaces)

    edits = _edits(asked)

    def edited(resource: str, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        return merge(obj, edits[resource]) if resource in edits else obj

    warnings = _mirroring(simulator).start_replay(
        edited=edited,
        file=Path(_text(asked, "file")),
        speed=0 if simulator.strict else _number(asked, "speed"),
        wanted=wanted,
        since=int(_number(asked, "from")),
    )
    return json_answer({"warnings": list(warnings)}, 202)


async def patch_replay(simulator: Simulator, request: Request) -> Answer:
    """Pause a replay, let it go on, or go to another event."""
    asked = await _object(request)
    replayer = _mirroring(simulator).replayer
    if replayer is None:
        raise Refusal(400, "nothing is replayed")
    if "position" in asked:
        replayer.seek(int(_number(asked, "position")))
    if "speed" in asked and not simulator.strict:
        replayer.change_speed(_number(asked, "speed"))
    if asked.get("paused") is True:
        replayer.pause()
    elif asked.get("paused") is False:
        replayer.start()
    return await get_replay(simulator, request)


async def delete_replay(simulator: Simulator, _request: Request) -> Answer:
    """End a replay."""
    _mirroring(simulator).stop_replay()
    return Answer(b"", status=202)


def _edits(asked: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return merge patches by the resource whose objects they change."""
    given = asked.get("edits") or {}
    if not isinstance(given, dict) or not all(isinstance(patch, dict) for patch in given.values()):
        raise Refusal(400, "edits are no merge patches by kind")
    return {_resource(word, "edits"): patch for word, patch in given.items()}


def _resource(word: str, place: str) -> str:
    """Return the full name of a kind that is named as kubectl does."""
    found = known_resources().search(word)
    if found is None:
        raise Refusal(400, f"{place}: no kind {word!r} is known")
    return found.full_name


def _access(asked: Mapping[str, Any]) -> Access:
    """Return how the source is reached: `kubeconfig` names files as KUBECONFIG does, none those of this process."""
    files = _text(asked, "kubeconfig")
    environment = {**os.environ, "KUBECONFIG": files} if files else os.environ
    return load_access(context=_text(asked, "context"), environment=environment)


async def _object(request: Request) -> Mapping[str, Any]:
    found = await request.json()
    if not isinstance(found, dict):
        raise Refusal(400, "the body is no object")
    return found


def _text(asked: Mapping[str, Any], key: str) -> str:
    value = asked.get(key) or ""
    if not isinstance(value, str):
        raise Refusal(400, f"{key} is no text")
    return value


def _texts(asked: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = asked.get(key) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise Refusal(400, f"{key} is no list of texts")
    return tuple(value)


def _number(asked: Mapping[str, Any], key: str) -> float:
    value = asked.get(key) or 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise Refusal(400, f"{key} is no number from 0 on")
    return float(value)


ROUTES: Final = (
    Route("GET", "/api/v1/schedulerconfiguration", get_configuration),
    Route("POST", "/api/v1/schedulerconfiguration", post_configuration),
    Route("PUT", "/api/v1/reset", put_reset),
    Route("GET", "/api/v1/export", get_export),
    Route("POST", "/api/v1/import", post_import),
    Route("GET", "/api/v1/listwatchresources", get_stream),
    Route("POST", "/api/v1/extender/{verb}/{id}", post_extender),
    Route("GET", "/api/v1/snapshot", get_snapshot),
    Route("POST", "/api/v1/snapshot", post_snapshot),
    Route("POST", "/api/v1/objects", post_objects),
    Route("POST", "/api/v1/sources/import", post_source_import),
    Route("GET", "/api/v1/sources/sync", get_sync),
    Route("POST", "/api/v1/sources/sync", post_sync),
    Route("DELETE", "/api/v1/sources/sync", delete_sync),
    Route("GET", "/api/v1/replay", get_replay),
    Route("POST", "/api/v1/replay", post_replay),
    Route("PATCH", "/api/v1/replay", patch_replay),
    Route("DELETE", "/api/v1/replay", delete_replay),
)
