"""YAML files that a user names: every mistake is a SchedlabError that tells the file, what was found and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.yaml import Document, YAMLError, load_document, load_documents
from schedlab.kernel.errors import SchedlabError


def read_text(file: Path, hint: str) -> str:
    """Return the text of a file; raises SchedlabError, with the hint when there is no such file."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SchedlabError(f"cannot be read: {error.strerror}", location=str(file), hint=hint) from error
    except UnicodeDecodeError as error:
        raise SchedlabError(
            f"is no text: {error}", location=str(file), hint="the file must hold YAML or JSON, in UTF-8"
        ) from error


def documents_of(text: str, location: str) -> list[Document]:
    """Return the documents of a text that say something; raises SchedlabError for a malformed one."""
    try:
        return [document for document in load_documents(text) if document.value is not None]
    except YAMLError as error:
        raise SchedlabError(str(error), location=location, hint="the file must hold YAML or JSON") from error


def read_document(file: Path, hint: str, *, strict: bool = True) -> JSONValue:
    """Return what the first document of a file says; strict: a key that stands there twice is a mistake, too."""
    return _value_of(read_text(file, hint), str(file), strict=strict)


def _value_of(text: str, location: str, *, strict: bool) -> JSONValue:
    try:
        document = load_document(text)
        if strict:
            document.raise_for_duplicates()
    except YAMLError as error:
        raise SchedlabError(str(error), location=location, hint="the file must hold one YAML document") from error
    return document.value


def read_object(file: Path, hint: str, kind: str, api_version: str) -> dict[str, JSONValue]:
    """Return the object that a file holds, its fields unchecked; the kind and version are told when it is none."""
    return object_of(read_text(file, hint), str(file), kind, api_version)


def object_of(text: str, location: str, kind: str, api_version: str) -> dict[str, JSONValue]:
    """Return the object that a text holds, as `read_object` does."""
    value = _value_of(text, location, strict=True)
    if not isinstance(value, dict):
        raise SchedlabError(
            f"holds {type(value).__name__}, not a {kind}",
            location=location,
            hint=f"it begins with `apiVersion: {api_version}`",
        )
    return value


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the line of a value in a text that was read, from 1: of its key, or of the innermost part that is there."""
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    line = 0
    for step in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        elif isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if found is None:
                break
            line, node = found[0].start_mark.line, found[1]
        else:
            break
    return line + 1
