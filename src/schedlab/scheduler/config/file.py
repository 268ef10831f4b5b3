"""Reading the file that holds a scheduler's configuration; `load` judges what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedlab.apimachinery.yaml_file import read_object
from schedlab.scheduler.config.types import API_VERSION, KIND


def read_configuration(file: Path, option: str) -> dict[str, Any]:
    """Return a decoded configuration file, which `option` names; raises SchedlabError with the place of the mistake."""
    return read_object(file, f"name a readable file with {option}", KIND, API_VERSION)
