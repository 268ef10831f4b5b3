"""CEL expressions of admission: what they can speak of, and what they must evaluate to.

Mirrors: staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/compile.go (v1.36)
Differs: the fields of request and namespace are not checked; nor are the costs. Functions that only Kubernetes has
are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from schedlab.apimachinery.cel import DYN, CelError, Checker

_ALWAYS: Final = ("object", "oldObject", "namespaceObject", "request")
_AUTHORIZER: Final = ("authorizer",)
#: Types in the words of the run-time library to those of Go.
_NAMES: Final[Mapping[str, str]] = {"NULL": "null_type"}

BOOLEAN: Final = ("bool",)
TEXT: Final = ("string",)
TEXT_OR_NULL: Final = ("string", "null_type")
ANYTHING: Final[Sequence[str]] = ()


def expression_problem(
    expression: str,
    results: Sequence[str],
    *,
    has_params: bool,
    has_authorizer: bool = True,
    has_variables: bool = False,
) -> str:
    """Return what is wrong with an expression, an empty text if nothing is; `results` are the types it may have."""
    try:
        kind = _checker(has_params, has_authorizer, has_variables).check(expression)
    except CelError as error:
        return f"compilation failed: {error}"
    found = _go_name(kind)
    if not kind or not results or found in results:
        return ""
    if len(results) == 1:
        return f"must evaluate to {results[0]} but got {found}"
    return f"must evaluate to one of [{' '.join(results)}] but got {found}"


@cache
def _checker(has_params: bool, has_authorizer: bool, has_variables: bool) -> Checker:  # noqa: FBT001 - keys of a cache
    known = [*_ALWAYS]
    known += ["params"] * has_params + [*_AUTHORIZER] * has_authorizer + ["variables"] * has_variables
    return Checker(dict.fromkeys(known, DYN))


def _go_name(kind: str) -> str:
    return _NAMES.get(kind, kind.lower().replace("<", "(").replace(">", ")"))
