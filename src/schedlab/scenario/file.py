"""Scenario files: read strictly, every mistake told at once with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from schedlab.apimachinery.yaml import duplicates_message
from schedlab.apimachinery.yaml_file import documents_of, read_text
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario import model
from schedlab.scenario.compiling import compile_plan
from schedlab.scenario.manifests import configuration
from schedlab.scenario.mistakes import MistakesError
from schedlab.scenario.plan import Plan
from schedlab.scenario.reader import Reader
from schedlab.scenario.shape import mistakes_of


def read_scenario(file: Path) -> Plan:
    """Return the plan of a scenario file; raises SchedlabError, MistakesError with all mistakes."""
    text = read_text(file, "name a scenario file")
    return plan_of(document_of(text, file), text, file)


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


def plan_of(document: Any, text: str, file: Path) -> Plan:
    """Return the plan of a scenario as a document says it; `text` is what it was read from, for lines."""
    if not isinstance(document, Mapping):
        raise SchedlabError(
            f"holds {type(document).__name__}, not a {model.KIND}",
            location=str(file),
            hint=f"it begins with `apiVersion: {model.API_VERSION}` and `kind: {model.KIND}`",
        )
    mistakes = [*mistakes_of(document, model.Scenario)]
    if mistakes:
        raise MistakesError(str(file), text, mistakes)
    reader = Reader(file)
    plan = compile_plan(msgspec.convert(document, model.Scenario), reader)
    if reader.mistakes:
        raise MistakesError(str(file), text, reader.mistakes)
    return plan


def with_configuration(plan: Plan, file: Path) -> Plan:
    """Return the same plan with another scheduler configuration; raises SchedlabError when it cannot be used."""
    reader = Reader(file)
    raw, _ = configuration((), file.name, plan.settings.feature_gates, reader)
    if reader.mistakes:
        raise SchedlabError(reader.mistakes[0].message, location=str(file), hint=reader.mistakes[0].hint)
    settings = replace(plan.settings, scheduler_config=raw, scheduler_config_location=str(file))
    return replace(plan, settings=settings)
