"""A scenario's document with other values: parameters by their paths, configurations, weights of score plugins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.model import Scenario
from schedlab.scenario.shape import is_open
from schedlab.scenario.sweeps.paths import Named, Steps, no_such, with_value
from schedlab.scheduler.config.file import read_configuration
from schedlab.scheduler.config.types import API_VERSION, KIND

Document: TypeAlias = Mapping[str, Any]
CONFIG: Final = "schedulerConfig"


def with_own_configuration(document: Document, file: Path) -> Document:
    """Return a scenario's document with its configuration in place of a file's name; raises SchedlabError."""
    given = document.get(CONFIG)
    if not isinstance(given, str):
        return document
    return {**document, CONFIG: read_configuration(file.parent / given, CONFIG)}


def with_parameter(document: Document, steps: Steps, value: Any) -> Document:
    """Return a document with another value at a path; raises SchedlabError when the path leads nowhere.

    A field that a scenario may have need not stand in it. What a manifest may hold nobody knows, so there it must.
    """
    if steps[0] == CONFIG and len(steps) > 1:
        return {**document, CONFIG: with_value(configuration_of(document), steps[1:], value, grows=True, adds=True)}
    keys = tuple(step.name if isinstance(step, Named) else step for step in steps)
    must_be_there = is_open(Scenario, keys)
    found: Document = with_value(document, steps, value, grows=not must_be_there)
    if must_be_there:
        _require(document, steps)
    return found


def _require(document: Any, steps: Steps) -> None:
    """Refuse a last key that is not there."""
    at = document
    for step in steps:
        if isinstance(at, list):
            at = at[step] if isinstance(step, int) else next(one for one in at if one.get("name") == _key(step))
        elif _key(step) not in at:
            raise no_such(str(_key(step)), at)
        else:
            at = at[_key(step)]


def _key(step: Any) -> Any:
    return step.name if isinstance(step, Named) else step


def configuration_of(document: Document) -> dict[str, Any]:
    """Return the configuration of a document with its own, in which there is a profile at least."""
    given = document.get(CONFIG) or {}
    return {"apiVersion": API_VERSION, "kind": KIND, **given, "profiles": given.get("profiles") or [{}]}


def with_weight(document: Document, plugin: str, weight: int) -> Document:
    """Return a document in all of whose profiles a score plugin has this weight; with 0 it does not score."""
    config = configuration_of(document)
    profiles = [_weighted(profile, plugin, weight) for profile in config["profiles"]]
    return {**document, CONFIG: {**config, "profiles": profiles}}


def _weighted(profile: Any, plugin: str, weight: int) -> Any:
    if not isinstance(profile, Mapping):
        return profile
    plugins = profile.get("plugins") or {}
    score = plugins.get("score") or {}
    enabled = [one for one in score.get("enabled") or () if one.get("name") != plugin]
    disabled = [one for one in score.get("disabled") or () if one.get("name") != plugin]
    if weight:
        enabled.append({"name": plugin, "weight": weight})
    else:
        disabled.append({"name": plugin})
    return {**profile, "plugins": {**plugins, "score": {**score, "enabled": enabled, "disabled": disabled}}}


def with_configuration_file(document: Document, file: Path) -> Document:
    """Return a document with the configuration of a file; raises SchedlabError."""
    return {**document, CONFIG: read_configuration(file, "file")}


def whole_weight(value: Any) -> int:
    """Return a weight; raises SchedlabError for what is none."""
    if type(value) is not int or not 0 <= value <= 2**31 - 1:
        raise SchedlabError(f"{value!r} is no weight", hint="give a whole number from 0 on")
    return value
