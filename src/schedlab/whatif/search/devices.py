"""Fewer devices, or any device of the class: what a claim of the pod asks for and may do without."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from schedlab.api.object import Object, StoredObject
from schedlab.whatif.search.edits import Edit, ObjectChange, Suggestion
from schedlab.whatif.search.requests import largest_that
from schedlab.whatif.trial import changed

if TYPE_CHECKING:
    from schedlab.whatif.search.case import Case

_PLUGIN: Final = "DynamicResources"
_CLAIMS: Final = "resourceclaims.resource.k8s.io"
_COUNT_COST: Final = 35
_SELECTOR_COST: Final = 45


def suggest(case: Case) -> Iterator[Suggestion]:
    """Yield, for each request of each claim that is not allocated, the most devices that there are, or fewer wishes."""
    if _PLUGIN not in case.plugins or not case.blocked[case.plugins.index(_PLUGIN)].any():
        return
    for claim in _claims(case):
        for place, request in enumerate(claim.raw["spec"]["devices"].get("requests") or ()):
            exactly = request.get("exactly") or {}
            count = exactly.get("count") or 1
            found = _fewer(case, claim, place, count) if count > 1 else None
            if found is not None:
                yield found
                continue
            for at, selector in enumerate(exactly.get("selectors") or ()):
                text = (selector.get("cel") or {}).get("expression", "")
                edit = _edit(claim, f"drop {text} from", _SELECTOR_COST, partial(_drop_selector, place, at))
                node = case.land([edit])
                if node:
                    yield Suggestion((edit,), node)


def _claims(case: Case) -> Iterator[StoredObject]:
    """Return the pod's claims that have no devices yet."""
    lister = case.trial.listers.lister(_CLAIMS)
    made = {status.name: status.resource_claim_name for status in case.pod.pod.status.resource_claim_statuses}
    for reference in case.pod.pod.spec.resource_claims:
        name = reference.resource_claim_name or made.get(reference.name)
        claim = None if name is None else lister.stored(name, case.pod.namespace)
        if claim is not None and claim.view.status.allocation is None:
            yield claim


def _fewer(case: Case, claim: StoredObject, place: int, count: int) -> Suggestion | None:
    def land(fewer: int) -> str:
        return case.land([_less(claim, place, count, fewer)])

    if not land(1):
        return None
    most = largest_that(lambda fewer: bool(land(fewer)), 1, count)
    edit = _less(claim, place, count, most)
    return Suggestion((edit,), case.land([edit]))


def _less(claim: StoredObject, place: int, count: int, fewer: int) -> Edit:
    change = partial(_set_count, place, fewer)
    return _edit(claim, f"ask for {fewer} device{'s' if fewer > 1 else ''} instead of {count} in", _COUNT_COST, change)


def _edit(claim: StoredObject, what: str, cost: int, change: ObjectChange) -> Edit:
    """Return the edit of a claim: it cannot be changed, so it has to be made anew, and its pod with it."""
    after = changed(claim, change)
    template = claim.view.metadata.annotations.get("resource.kubernetes.io/pod-claim-name")
    change_of_claim = {
        "replace": f"resourceclaim/{claim.name}",
        "namespace": claim.namespace,
        "change": {"spec": after.raw["spec"]},
        "type": "merge",
    }
    return Edit(
        "device",
        f"{what} claim {claim.name}",
        cost,
        stored=(after,),
        # What was made from a template is made anew with its pod; the template is the owner's to change.
        changes=() if template else (change_of_claim,),
        details={"claim": claim.key, "spec": after.raw["spec"]},
    )


def _set_count(place: int, count: int, claim: Object) -> None:
    claim["spec"]["devices"]["requests"][place]["exactly"]["count"] = count


def _drop_selector(place: int, at: int, claim: Object) -> None:
    exactly = claim["spec"]["devices"]["requests"][place]["exactly"]
    del exactly["selectors"][at]
    if not exactly["selectors"]:
        del exactly["selectors"]
