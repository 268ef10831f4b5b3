"""Answers as programs read them."""

from __future__ import annotations

import json
from typing import Any, Literal


def data_text(answer: Any, form: Literal["json", "yaml"]) -> str:
    """Return JSON values as text of that form."""
    if form == "json":
        return json.dumps(answer, indent=2)
    import yaml

    return yaml.dump(answer, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120).rstrip()
