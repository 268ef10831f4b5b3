"""Less of a request: the most that a pod may ask for and still fit somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from schedlab.api.object import Object
from schedlab.api.rules.requests import amounts_of
from schedlab.apimachinery.quantity import Format, of_int, of_milli
from schedlab.scheduler.framework.amounts import CPU, EPHEMERAL_STORAGE, MEMORY
from schedlab.whatif.search.edits import Edit, Suggestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "NodeResourcesFit"
_KUBERNETES_ORDER: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_COST: Final = 30


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield the largest request of each single resource that fits, or of several where one is not enough."""
    rows = case.only(_PLUGIN)
    if not len(rows):
        return
    needs, short = shortages(case, rows)
    single = False
    for name in needs:
        alone = [at for at, row in enumerate(rows.tolist()) if list(short[row]) == [name]]
        if not alone:
            continue
        most = max(short[int(rows[at])][name] for at in alone)
        found = _largest(case, name, needs[name], most)
        if found is not None:
            single = True
            yield found
    if not single:
        best = min((short[row] for row in rows.tolist() if short[row]), key=partial(_loss, needs), default=None)
        if best is not None:
            edits = [lower(name, needs[name], amount) for name, amount in best.items()]
            node = case.land(edits)
            if node:
                yield Suggestion(tuple(edits), node)


def shortages(case: Case, rows: NDArray[np.int64]) -> tuple[dict[str, int], dict[int, dict[str, int]]]:
    """Return what the pod asks for, and for each row what is free of the resources that are short there.

    A row without room for one more pod has no entry that helps, and none at all here.
    """
    table = case.table
    needs = {name: amount for name, amount in case.pod.requests.items() if amount}
    short: dict[int, dict[str, int]] = {row: {} for row in rows.tolist()}
    for name in sorted(needs, key=_order):
        index = table.resource_index(name)
        free = np.zeros(len(rows), np.int64)
        if index >= 0:
            free = table.allocatable[index, rows] - table.requested[index, rows]
        for at in np.flatnonzero(free < needs[name]).tolist():
            short[int(rows[at])][name] = max(0, int(free[at]))
    full = table.pod_count[rows] + 1 > table.allowed_pods[rows]
    for row in rows[full].tolist():
        short[row] = {}
    return needs, short


def _order(name: str) -> tuple[int, str]:
    return (_KUBERNETES_ORDER.index(name) if name in _KUBERNETES_ORDER else len(_KUBERNETES_ORDER), name)


def _loss(needs: Mapping[str, int], targets: Mapping[str, int]) -> float:
    """Return which part of its requests the pod would give up."""
    return sum((needs[name] - amount) / needs[name] for name, amount in targets.items())


def _largest(case: Case, name: str, need: int, guess: int) -> Suggestion | None:
    """Find the largest amount that fits; the guess from the numbers is mostly right, and then two tries tell."""

    def fits(amount: int) -> str:
        return case.try_pod(partial(_lower, name, amount))

    node = fits(guess)
    low, high = (guess, need) if node else (0, guess)
    if node:
        if guess + 1 >= need or not fits(guess + 1):
            return Suggestion((lower(name, need, guess),), node)
        low = guess + 1
    elif guess == 0 or not fits(0):
        return None
    amount = largest_that(lambda middle: bool(fits(middle)), low, high)
    return Suggestion((lower(name, need, amount),), fits(amount))


def largest_that(works: Callable[[int], bool], low: int, high: int) -> int:
    """Return the largest integer in [low, high) that works; `low` does, `high` does not, and so on between."""
    while high - low > 1:
        middle = (low + high) // 2
        if works(middle):
            low = middle
        else:
            high = middle
    return low


def lower(name: str, need: int, amount: int) -> Edit:
    """Return the edit that makes the pod ask for so much of a resource."""
    before, after = quantity(name, need), quantity(name, amount)
    return Edit(
        "request",
        f"ask for {after} {name} instead of {before}",
        _COST + 30 * (need - amount) // need,
        pod=partial(_lower, name, amount),
        details={"resource": name, "from": before, "to": after},
    )


def quantity(name: str, amount: int) -> str:
    """Write an amount as Kubernetes does."""
    if name == CPU:
        return str(of_milli(amount))
    return str(of_int(amount, Format.BINARY_SI if name in (MEMORY, EPHEMERAL_STORAGE) else Format.DECIMAL_SI))


def _lower(name: str, amount: int, pod: Object) -> None:
    """Cut what containers ask for, the largest first, until the pod asks for no more than the amount."""
    spec = pod["spec"]
    amount -= amounts_of({name: str((spec.get("overhead") or {}).get(name, "0"))})[name]
    if _text(spec, name) is not None:
        _set(spec["resources"], name, amount)
    containers: list[dict[str, Any]] = [*spec.get("containers", ())]
    for init in spec.get("initContainers", ()):
        if init.get("restartPolicy") == "Always":
            containers.append(init)
        elif _asked(init, name) > amount:
            _set(init["resources"], name, amount)
    excess = sum(_asked(container, name) for container in containers) - amount
    for container in sorted(containers, key=lambda each: -_asked(each, name)):
        if excess <= 0:
            return
        asked = _asked(container, name)
        cut = min(asked, excess)
        if cut:
            _set(container["resources"], name, asked - cut)
            excess -= cut


def _text(holder: Mapping[str, Any], name: str) -> Any:
    return ((holder.get("resources") or {}).get("requests") or {}).get(name)


def _asked(container: Mapping[str, Any], name: str) -> int:
    text = _text(container, name)
    return 0 if text is None else amounts_of({name: str(text)})[name]


def _set(resources: dict[str, Any], name: str, amount: int) -> None:
    text = quantity(name, max(0, amount))
    resources.setdefault("requests", {})[name] = text
    if name not in _KUBERNETES_ORDER and name in (resources.get("limits") or {}):
        # Extended resources cannot be overcommitted: both must say the same.
        resources["limits"][name] = text
