"""Stages that a cluster has from its start: the definition of the resource, and the Stages of files and built-in sets.

A reference is the name of a set that comes with schedlab (`general`, `chaos`), a YAML file or a folder of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.yaml import YAMLError, load_documents
from schedlab.kernel.errors import SchedlabError
from schedlab.kubelet.stages.definition import STAGE, STAGES, stage_definition
from schedlab.kubelet.stages.stage import StageError, read_stage
from schedlab.registry import Registry, WriteOptions
from schedlab.registry.custom.provided import provide

#: The sets that come with schedlab.
SETS: Final = ("general", "chaos")
_OPTIONS: Final = WriteOptions(field_manager="schedlab")
_SUFFIXES: Final = (".yaml", ".yml")

Object = Mapping[str, Any]


def install(registry: Registry) -> None:
    """Serve Stages, unless a definition of them is there already."""
    provide(registry, stage_definition())


def load_stages(references: Sequence[str]) -> tuple[Object, ...]:
    """Return the Stages of all references, of which none has a mistake; raises SchedlabError."""
    found: dict[str, tuple[Object, str]] = {}
    for reference in references:
        for stage, location in _read(reference):
            name = _checked(stage, location)
            if name in found and found[name][1] != location:
                raise SchedlabError(
                    f"there is a Stage {name} in {found[name][1]} already",
                    location=location,
                    hint="leave one of them out, or give it another metadata.name",
                )
            found[name] = stage, location
    return tuple(stage for stage, _ in found.values())


def _read(reference: str) -> Iterator[tuple[Object, str]]:
    if reference in SETS:
        folder = resources.files("schedlab.kubelet.stages") / "sets" / reference
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            yield from _documents(entry.read_text(encoding="utf-8"), f"{reference}/{entry.name}")
        return
    path = Path(reference)
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    chosen = [file for file in files if file.suffix in _SUFFIXES] if path.is_dir() else files
    found = False
    for file in chosen:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise SchedlabError(
                f"cannot be read: {reason}",
                location=f"--stages {reference}",
                hint=f"name a YAML file, a folder of them, or one of the sets {', '.join(SETS)}",
            ) from error
        for stage in _documents(text, str(file)):
            found = True
            yield stage
    if not found:
        raise SchedlabError(
            "holds no Stage",
            location=f"--stages {reference}",
            hint=f"a Stage begins with `apiVersion: {STAGE.api_version}` and `kind: {STAGE.kind}`",
        )


def _documents(text: str, location: str) -> Iterator[tuple[Object, str]]:
    """Yield the Stages of a stream; other objects, such as kustomizations, are left out."""
    try:
        documents = [document.value for document in load_documents(text)]
    except YAMLError as error:
        raise SchedlabError(str(error), location=location, hint="the file must hold YAML documents") from error
    for document in documents:
        items = document.get("items") if isinstance(document, dict) and document.get("kind") == "List" else [document]
        for item in items or ():
            if isinstance(item, dict) and item.get("kind") == STAGE.kind:
                yield item, location


def _checked(stage: Object, location: str) -> str:
    """Return the name of a Stage that can be played; raises SchedlabError."""
    if stage.get("apiVersion") != STAGE.api_version:
        raise SchedlabError(
            f"apiVersion is {stage.get('apiVersion')!r}", location=location, hint=f"write {STAGE.api_version}"
        )
    try:
        read_stage(stage)
    except StageError as error:
        raise SchedlabError(
            f"Stage {stage['metadata']['name']}: {error}",
            location=location,
            hint="docs/reference/stages.md says what a Stage may have",
        ) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise SchedlabError(
            f"the Stage has not the form of one: {error}",
            location=location,
            hint="it needs metadata.name and spec.resourceRef.kind; docs/reference/stages.md has the rest",
        ) from error
    return str(stage["metadata"]["name"])


def apply_stages(registry: Registry, stages: Sequence[Object]) -> None:
    """Bring Stages into the API, as server-side apply does; raises SchedlabError for what it refuses."""
    options = WriteOptions(field_manager="schedlab", force=True)
    for stage in stages:
        try:
            registry.apply(STAGES, stage["metadata"]["name"], stage, "", options)
        except StatusError as error:
            raise SchedlabError(
                error.message, location="--stages", hint="docs/reference/stages.md says what a Stage may have"
            ) from error
