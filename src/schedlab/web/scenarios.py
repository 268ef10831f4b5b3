"""Scenarios: chosen, checked, run and compared in processes of their own, and what came out of them.

GET /api/v1/scenarios                          the files that may be chosen, how much is run at once and kept
GET /api/v1/scenarios/{name}                   the text of one
GET /api/v1/scenario-schema                    the JSON schema of a scenario
POST /api/v1/scenario-checks                   mistakes of a scenario or a configuration, with their lines
GET, POST /api/v1/scenario-runs                all that are kept; begins a run
POST /api/v1/scenario-comparisons              begins a comparison of configurations, or of two runs
GET, DELETE /api/v1/scenario-runs/{id}         one with its result; forgets it
GET /api/v1/scenario-runs/{id}/progress        how it goes on, as lines of JSON
POST /api/v1/scenario-runs/{id}/cancel         ends it; what had happened until then is kept
GET /api/v1/scenario-runs/{id}/files/{file...} a file that came out
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import orjson

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.comparing import Variant
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.model import scenario_schema
from schedlab.scenario.opening import check
from schedlab.scenario.seeds import read_seeds
from schedlab.scenario.service import RESULT, BusyError, Kept, Task
from schedlab.scenario.source import Source
from schedlab.web.routing import Answer, Refusal, Request, Route, Stream, json_answer
from schedlab.web.simulator import Scenarios, Simulator
from schedlab.web.whatif import asked

#: A scenario that was written, and not changed from a file.
_WRITTEN: Final = "scenario.yaml"
_SEEDS_MAX: Final = 100
_CONFIGURATIONS_MAX: Final = 5


def _scenarios(simulator: Simulator) -> Scenarios:
    if simulator.scenarios is None:
        raise Refusal(404, "no scenarios are run here: only a scheduler runs")
    return simulator.scenarios


# --- What there is to choose -----------------------------------------------------------------------------------------


async def get_scenarios(simulator: Simulator, _request: Request) -> Answer:
    """List scenarios and configurations, and say what limits there are."""
    found = _scenarios(simulator)
    files = await asyncio.to_thread(found.catalog.files)
    return json_answer(
        {
            "scenarios": [{"name": one.name, "about": one.about} for one in files if not one.is_configuration],
            "configurations": [{"name": one.name, "about": one.about} for one in files if one.is_configuration],
            "atOnce": found.runs.at_once_max,
            "kept": found.runs.kept_max,
            "seconds": found.runs.run_s_max,
        }
    )


async def get_scenario(simulator: Simulator, request: Request) -> Answer:
    """Give a file's text."""
    name = request.parameters["name"]
    try:
        listed = await asyncio.to_thread(_scenarios(simulator).catalog.find, name, "name")
    except SchedlabError as error:
        raise Refusal(404, error.message, hint=error.hint) from error
    return json_answer({"name": listed.name, "text": listed.text, "about": listed.about})


async def get_schema(_simulator: Simulator, _request: Request) -> Answer:
    """Give the schema."""
    return json_answer(scenario_schema())


# --- Reading what is asked -------------------------------------------------------------------------------------------


def _scenario_of(scenarios: Scenarios, body: Mapping[str, Any]) -> Source:
    """Return the scenario of a request: a file, or a text that may name the files beside it."""
    name, text = body.get("scenario", ""), body.get("text")
    if not name and text is None:
        raise SchedlabError("no scenario is given", location="scenario", hint="give the name of one, or text")
    if not name:
        return Source(scenarios.catalog.written(_WRITTEN), text, scenarios.catalog.root)
    listed = scenarios.catalog.find(name, "scenario")
    if text is None or text == listed.text:
        return Source(listed.file, listed.text)
    return Source(listed.file, text, scenarios.catalog.root)


def _configuration_of(scenarios: Scenarios, given: Mapping[str, Any] | None) -> Source | None:
    """Return a configuration of a request; none, and {}, is the scenario's own."""
    if not given:
        return None
    name, text = given.get("name"), given.get("text")
    if not isinstance(name, str) or not name:
        raise SchedlabError("has no name", location="configuration", hint='it is like {"name": "packing.yaml"}')
    if text is None:
        listed = scenarios.catalog.find(name, "configuration")
        return Source(Path(listed.name), listed.text)
    if not isinstance(text, str):
        raise SchedlabError("is no text", location="configuration.text", hint="give YAML, as in a file")
    return Source(Path(name), text)


def _mistakes(variants: Sequence[Variant]) -> list[dict[str, str]]:
    """Return what is wrong with scenarios and configurations; empty when they can be run."""
    found: dict[tuple[str, str, str], None] = {}
    for one in variants:
        try:
            check(one.scenario, one.config)
        except SchedlabError as error:
            errors = error.errors if isinstance(error, MistakesError) else (error,)
            found |= {(each.message, each.location, each.hint): None for each in errors}
    return [{"message": message, "location": location, "hint": hint} for message, location, hint in found]


async def post_check(simulator: Simulator, request: Request) -> Answer:
    """Tell what is wrong with a scenario, and with the configuration it is to be run with."""
    scenarios = _scenarios(simulator)
    body = await request.fields({}, {"scenario": str, "text": str, "configuration": dict})
    variant = Variant(_scenario_of(scenarios, body), _configuration_of(scenarios, body.get("configuration")))
    return json_answer({"mistakes": await asked(simulator, request, lambda _: _mistakes([variant]))})


# --- Runs ------------------------------------------------------------------------------------------------------------


async def post_run(simulator: Simulator, request: Request) -> Answer:
    """Begin a run."""
    scenarios = _scenarios(simulator)
    body = await request.fields({}, {"scenario": str, "text": str, "configuration": dict, "seed": int, "workload": str})
    source = _scenario_of(scenarios, body)
    config = _configuration_of(scenarios, body.get("configuration"))
    task = Task("run", (Variant(source, config, body.get("seed")),), workload=body.get("workload", ""))
    return await _begin(simulator, request, task)


async def post_comparison(simulator: Simulator, request: Request) -> Answer:
    """Begin a comparison: of one scenario under several configurations, or of two runs."""
    scenarios = _scenarios(simulator)
    body = await request.fields(
        {}, {"scenario": str, "text": str, "configurations": list, "seeds": str, "first": str, "second": str}
    )
    if "first" in body or "second" in body:
        task = Task("comparison", tuple(_variant_of_run(scenarios, body, name) for name in ("first", "second")))
        return await _begin(simulator, request, task)
    given = body.get("configurations", [])
    if not 2 <= len(given) <= _CONFIGURATIONS_MAX:
        raise SchedlabError(
            f"{len(given)} configurations are given", location="configurations", hint=f"give 2 to {_CONFIGURATIONS_MAX}"
        )
    seeds = body.get("seeds", "1")
    if len(read_seeds(seeds, "seeds")) > _SEEDS_MAX:
        raise SchedlabError(
            f"{seeds} are too many", location="seeds", hint=f"give {_SEEDS_MAX} at most, or use `schedlab compare`"
        )
    source = _scenario_of(scenarios, body)
    variants = tuple(Variant(source, _configuration_of(scenarios, one)) for one in given)
    return await _begin(simulator, request, Task("comparison", variants, seeds=seeds))


def _variant_of_run(scenarios: Scenarios, body: Mapping[str, Any], field: str) -> Variant:
    """Return what a run has run, so that it can be run once more beside another one."""
    kept = _run(scenarios, body.get(field, ""))
    if kept.task.kind != "run":
        raise SchedlabError(f"{kept.id} is a comparison", location=field, hint="name two runs")
    [variant] = kept.task.variants
    return replace(variant, name=f"run {kept.id}: {kept.scenario}, {variant}{_seed(variant)}")


def _seed(variant: Variant) -> str:
    return "" if variant.seed is None else f", seed {variant.seed}"


async def _begin(simulator: Simulator, request: Request, task: Task) -> Answer:
    """Begin what has no mistakes."""
    found = await asked(simulator, request, lambda _: _mistakes(task.variants))
    if found:
        raise Refusal(400, **found[0], mistakes=found)
    first = task.variants[0].scenario.file
    try:
        kept = await _scenarios(simulator).runs.start(task, first.name)
    except BusyError as error:
        raise Refusal(429, str(error)) from error
    return json_answer(kept.data(), 201)


async def get_runs(simulator: Simulator, _request: Request) -> Answer:
    """List what is kept."""
    return json_answer({"runs": [kept.data() for kept in _scenarios(simulator).runs.all()]})


def _run(scenarios: Scenarios, run_id: str) -> Kept:
    try:
        return scenarios.runs.find(run_id)
    except LookupError as error:
        raise Refusal(404, str(error.args[0])) from error


async def get_run(simulator: Simulator, request: Request) -> Answer:
    """Tell of a run, and what came out of it."""
    kept = _run(_scenarios(simulator), request.parameters["id"])
    told = orjson.dumps(kept.data())
    result = b"null"
    if kept.data()["hasResult"]:
        result = await asyncio.to_thread((kept.folder / RESULT).read_bytes)
    return Answer(b'{"run":' + told + b',"result":' + result + b"}\n")


async def get_progress(simulator: Simulator, request: Request) -> Stream:
    """Tell how a run goes on, until it is over."""
    found = _scenarios(simulator)
    return Stream(_progress(found, _run(found, request.parameters["id"])), "application/x-ndjson")


async def _progress(scenarios: Scenarios, kept: Kept) -> AsyncIterator[bytes]:
    async for told in scenarios.runs.follow(kept):
        yield orjson.dumps(told) + b"\n"


async def post_cancel(simulator: Simulator, request: Request) -> Answer:
    """End a run."""
    found = _scenarios(simulator)
    kept = _run(found, request.parameters["id"])
    found.runs.cancel(kept)
    return json_answer(kept.data(), 202)


async def delete_run(simulator: Simulator, request: Request) -> Answer:
    """Forget a run."""
    found = _scenarios(simulator)
    await found.runs.remove(_run(found, request.parameters["id"]))
    return json_answer({})


async def get_file(simulator: Simulator, request: Request) -> Answer:
    """Give a file; it is kept by the browser, and never shown as one of ours."""
    kept = _run(_scenarios(simulator), request.parameters["id"])
    name = request.parameters["file"]
    if name not in kept.files():
        raise Refusal(404, f"run {kept.id} has no file {name}: {', '.join(kept.files()) or 'none before its end'}")
    content = await asyncio.to_thread((kept.folder / name).read_bytes)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Answer(content, kind, headers=(("content-disposition", "attachment"),))


ROUTES: Final = (
    Route("GET", "/api/v1/scenarios", get_scenarios),
    Route("GET", "/api/v1/scenarios/{name}", get_scenario),
    Route("GET", "/api/v1/scenario-schema", get_schema),
    Route("POST", "/api/v1/scenario-checks", post_check),
    Route("GET", "/api/v1/scenario-runs", get_runs),
    Route("POST", "/api/v1/scenario-runs", post_run),
    Route("POST", "/api/v1/scenario-comparisons", post_comparison),
    Route("GET", "/api/v1/scenario-runs/{id}", get_run),
    Route("DELETE", "/api/v1/scenario-runs/{id}", delete_run),
    Route("GET", "/api/v1/scenario-runs/{id}/progress", get_progress),
    Route("POST", "/api/v1/scenario-runs/{id}/cancel", post_cancel),
    Route("GET", "/api/v1/scenario-runs/{id}/files/{file...}", get_file),
)
