"""Which taints a pod tolerates.

Mirrors: staging/src/k8s.io/api/core/v1/toleration.go and component-helpers/scheduling/corev1/helpers.go (v1.36).
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from schedlab.api.views.core import Taint, Toleration

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"
#: Effects that keep a pod off a node.
DO_NOT_SCHEDULE: Final = (NO_SCHEDULE, NO_EXECUTE)

UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)

_DECIMAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


def tolerates(toleration: Toleration, taint: Taint, *, comparison: bool = False) -> bool:
    """Whether the toleration covers the taint; `comparison` is the TaintTolerationComparisonOperators gate.

    Without a key or an effect it covers every key or effect. Gt and Lt compare the taint's value with its own.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparison:
            return _compares(toleration, taint)
        case _:
            return False


def tolerates_any(tolerations: Iterable[Toleration], taint: Taint, *, comparison: bool = False) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(tolerates(toleration, taint, comparison=comparison) for toleration in tolerations)


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    effects: Sequence[str] = DO_NOT_SCHEDULE,
    *,
    comparison: bool = False,
) -> Taint | None:
    """Return the first taint with one of the effects that no toleration covers, or None."""
    for taint in taints:
        if taint.effect in effects and not tolerates_any(tolerations, taint, comparison=comparison):
            return taint
    return None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    own, other = _int64(toleration.value), _int64(taint.value)
    if own is None or other is None:
        return False
    return other < own if toleration.operator == "Lt" else other > own


def _int64(text: str) -> int | None:
    """The number as a human writes it: no leading zeros, no plus sign."""
    if not _DECIMAL_INTEGER.fullmatch(text) or len(text) > 20:
        return None
    number = int(text)
    return number if _INT64_MIN <= number <= _INT64_MAX else None
