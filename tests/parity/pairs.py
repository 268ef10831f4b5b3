"""The families without a cluster: an object and what defaulting makes of it, a configuration with its defaults.

Defaulting reads the clock for a few fields (when a condition changed, when a device was tainted). The recorder's clock
is an input like the object, but is only seen in the output, so it is taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.time import parse_time
from schedlab.scheduler.config import ConfigError, dump, load
from tests.parity.families import Case
from tests.parity.front_door import CREATED_NS, FrontDoor

_CLOCK_FIELDS: Final = ("lastTransitionTime", "timeAdded")


def run_pair(family: str, pair: Case, features: FeatureGates) -> dict[str, Any]:
    """Return `output` or `error`, as the judge compares it."""
    if family == "configdefaults":
        return _configuration(pair["input"], features)
    return {"output": FrontDoor(features, _recorded_at(pair)).admit(pair["input"])}


def _configuration(raw: Any, features: FeatureGates) -> dict[str, Any]:
    try:
        return {"output": dump(load(raw, features))}
    except ConfigError as error:
        return {"error": error.message}


def _recorded_at(pair: Case) -> int:
    """Return the time that the recorder's clock showed, if the output has it."""
    given = json.dumps(pair["input"])
    return next((parse_time(text) for text in _times(pair.get("output")) if text not in given), CREATED_NS)


def _times(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _times(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key in _CLOCK_FIELDS and isinstance(one, str):
                yield one
            else:
                yield from _times(one)
