"""Manifests that a user names: a YAML or JSON file, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedlab.apimachinery.yaml import duplicates_message
from schedlab.apimachinery.yaml_file import documents_of, read_text
from schedlab.kernel.errors import SchedlabError

_STDIN = "-"


def read_manifests(source: str) -> Sequence[Mapping[str, Any]]:
    """Return the objects of a file, lists opened; - is standard input. Raises SchedlabError."""
    text = sys.stdin.read() if source == _STDIN else read_text(Path(source), "name a readable file of manifests")
    documents = documents_of(text, source)
    for document in documents:
        if document.duplicates:
            raise SchedlabError(duplicates_message(document.duplicates), location=source, hint="name each key once")
    found = [document.value for document in documents]
    flat = [item for value in found for item in (value.get("items") or [value] if isinstance(value, dict) else [value])]
    wrong = next((item for item in flat if not isinstance(item, dict)), None)
    if wrong is not None or not flat:
        what = "holds no manifest" if wrong is None else f"holds {type(wrong).__name__}, not a manifest"
        raise SchedlabError(what, location=source, hint="give objects as kubectl apply takes them")
    return [item for item in flat if isinstance(item, dict)]


def read_manifest(source: str) -> Mapping[str, Any]:
    """Return the one object of a file; raises SchedlabError when there are more."""
    found = read_manifests(source)
    if len(found) != 1:
        raise SchedlabError(f"holds {len(found)} objects", location=source, hint="give one")
    return found[0]
