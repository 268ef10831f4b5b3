"""Reading the file that holds a scheduler's configuration; `load` judges what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedlab.apimachinery.yaml_file import object_of, read_object
from schedlab.scheduler.config.types import API_VERSION, KIND


def read_configuration(file: Path, option: str) -> dict[str, Any]:
    """Return a decoded configuration file, which `option` names; raises SchedlabError with the place of the mistake."""
    return read_object(file, f"name a readable file with {option}", KIND, API_VERSION)


def configuration_of(text: str, location: str) -> dict[str, Any]:
    """Return the decoded configuration that a text holds; raises SchedlabError with the place of the mistake."""
    return object_of(text, location, KIND, API_VERSION)
