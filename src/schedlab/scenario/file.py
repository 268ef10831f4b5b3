"""Scenario files: read strictly, every mistake told at once with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.yaml import duplicates_message
from schedlab.apimachinery.yaml_file import documents_of
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario import model
from schedlab.scenario.compiling import compile_plan
from schedlab.scenario.manifests import configuration
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.plan import Plan
from schedlab.scenario.reader import Reader
from schedlab.scenario.shape import mistakes_of
from schedlab.scenario.source import Source
from schedlab.scheduler.config.file import configuration_of

HINT: Final = "name a scenario file"


def read_scenario(file: Path) -> Plan:
    """Return the plan of a scenario file; raises SchedlabError, MistakesError with all mistakes."""
    return read_source(Source(file))


def read_source(source: Source) -> Plan:
    """Return the plan of a scenario; raises as `read_scenario` does."""
    text = source.read(HINT)
    return plan_of(document_of(text, source.file), text, source)


def document_of(text: str, file: Path) -> Any:
    """Return the one document of a file; raises SchedlabError."""
    documents = documents_of(text, str(file))
    if len(documents) != 1:
        raise SchedlabError(
            f"holds {len(documents)} documents", location=str(file), hint="a scenario is one YAML document"
        )
    if documents[0].duplicates:
        raise SchedlabError(duplicates_message(documents[0].duplicates), location=str(file), hint="name each key once")
    return documents[0].value


def plan_of(document: Any, text: str, source: Source) -> Plan:
    """Return the plan of a scenario as a document says it; `text` is what it was read from, for lines."""
    location = str(source.file)
    if not isinstance(document, Mapping):
        raise SchedlabError(
            f"holds {type(document).__name__}, not a {model.KIND}",
            location=location,
            hint=f"it begins with `apiVersion: {model.API_VERSION}` and `kind: {model.KIND}`",
        )
    mistakes = [*mistakes_of(document, model.Scenario)]
    if mistakes:
        raise MistakesError(location, text, mistakes)
    reader = Reader(source)
    plan = compile_plan(msgspec.convert(document, model.Scenario), reader)
    if reader.mistakes:
        raise MistakesError(location, text, reader.mistakes)
    return plan


def with_configuration(plan: Plan, source: Source) -> Plan:
    """Return the same plan with another scheduler configuration; raises SchedlabError when it cannot be used."""
    raw = read_configuration(source, plan.settings.feature_gates)
    settings = replace(plan.settings, scheduler_config=raw, scheduler_config_location=str(source.file))
    return replace(plan, settings=settings)


def read_configuration(source: Source, gates: FeatureGates) -> Mapping[str, Any]:
    """Return a scheduler configuration that can be used with these feature gates; raises SchedlabError."""
    location = str(source.file)
    reader = Reader(source)
    given = configuration_of(source.read("name a KubeSchedulerConfiguration file"), location)
    configuration((), given, gates, reader)
    if reader.mistakes:
        raise SchedlabError(reader.mistakes[0].message, location=location, hint=reader.mistakes[0].hint)
    return given
