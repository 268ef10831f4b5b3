"""A search of configurations in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from schedlab.cli.columns import columns
from schedlab.cli.compare_text import number_text
from schedlab.kernel.words import counted
from schedlab.scenario.sweeps.candidates import Candidate, Tuning
from schedlab.scenario.sweeps.space import Objective

_FRONT_SHOWN: Final = 20
_FAILED_SHOWN: Final = 5


def tune_text(found: Tuning, files: Mapping[str, str]) -> str:
    """Return what a search came to; `files` has the configurations by the names of their candidates."""
    return "\n".join(_lines(found, files))


def _lines(found: Tuning, files: Mapping[str, str]) -> Iterator[str]:
    front = found.front
    yield f"{found.scenario}, {counted(len(found.trials), 'configuration')} tried; no other one beats these:"
    yield ""
    yield from columns(front_table(found)[: _FRONT_SHOWN + 1])
    if len(front) > _FRONT_SHOWN:
        yield f"  and {len(front) - _FRONT_SHOWN} more; -o json and the folder have all"
    beaten = [one for one in found.baselines if one not in front]
    if beaten:
        yield ""
        yield f"{' and '.join(one.name for one in beaten)}: beaten"
    yield ""
    for one in front[:_FRONT_SHOWN]:
        yield f"{files[one.name]}: {headline(one)}"
    if found.failed:
        yield ""
        yield f"{counted(len(found.failed), 'configuration')} could not be judged"
        yield from (f"  {headline(one)}: {' '.join(one.reason.split())}" for one in found.failed[:_FAILED_SHOWN])


def front_table(found: Tuning) -> list[list[str]]:
    """Return the front as rows of texts, names of columns first, the baselines that are beaten last."""
    front = found.front
    shown = [*front, *(one for one in found.baselines if one.results and one not in front)]
    first = found.baselines[0].results if found.baselines else ()
    names = [objective_name(one) for one in found.objectives]
    rows = [["", *names]]
    for one in shown:
        cells = []
        for place, value in enumerate(one.results):
            change = "" if not first or one is found.baselines[0] else f" ({value - first[place]:+.3g})"
            cells.append(f"{number_text(value)}{change}")
        rows.append([one.name, *cells])
    return rows


def objective_name(one: Objective) -> str:
    """Return an objective as a heading."""
    return f"{one.metric} ({'high' if one.maximize else 'low'})"


def objective_text(one: Objective, value: float) -> str:
    """Return what an objective came to."""
    return f"{one.metric} {number_text(value)}"


def headline(one: Candidate) -> str:
    """Return a candidate with its values."""
    values = ", ".join(f"{name} {value}" for name, value in one.values.items())
    return f"{one.name}: {values}" if values else one.name
