"""Which claims a pod has, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.api.views.core import Pod
from schedlab.scheduler.dra.claims import ClaimTracker
from schedlab.scheduler.plugins.dynamic_resources.podclaims import ClaimNotReadyError, pod_claims
from schedlab.testing.builders import make_pod
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import CLAIMS, claim

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-default/p", "controller": True}


def tracker(*claims: Mapping[str, Any]) -> ClaimTracker:
    made = ClaimTracker(lambda *_: None, with_shares=True)
    for revision, raw in enumerate(claims, 1):
        made.observe(None, StoredObject.encode(CLAIMS, raw, revision))
    return made


def pod(*references: Mapping[str, str], named: Mapping[str, str | None] | None = None) -> Pod:
    statuses = [
        {"name": name, **({} if claim is None else {"resourceClaimName": claim})}
        for name, claim in (named or {}).items()
    ]
    builder = make_pod("p").set("spec.resourceClaims", list(references))
    return builder.set("status.resourceClaimStatuses", statuses).view()


BY_NAME = {"name": "x", "resourceClaimName": "c"}
FROM_TEMPLATE = {"name": "x", "resourceClaimTemplateName": "t"}


@pytest.mark.parametrize(
    ("given", "claims", "expected"),
    [
        (pod(BY_NAME), [claim("c")], ["c"]),
        (pod(FROM_TEMPLATE, named={"x": "c"}), [claim("c", metadata={"ownerReferences": [OWNER]})], ["c"]),
        (pod(FROM_TEMPLATE, named={"x": None}), [], []),
        (pod(FROM_TEMPLATE, named={"y": "c"}), [claim("c")], 'pod "default/p": ResourceClaim not created yet'),
        (pod({"name": "x"}), [], 'pod "default/p", spec.resourceClaim "x": none of the supported fields are set'),
        (pod(BY_NAME), [], 'could not find ResourceClaim "default/c"'),
        (
            pod(BY_NAME),
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            'resourceclaim "c" is being deleted',
        ),
        (
            pod(FROM_TEMPLATE, named={"x": "c"}),
            [claim("c", metadata={"ownerReferences": [OWNER | {"uid": "other"}]})],
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
        (
            pod(FROM_TEMPLATE, named={"x": "c"}),
            [claim("c", metadata={"ownerReferences": [OWNER | {"controller": False}]})],
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
    ],
)
def test_claims_of_a_pod(given: Pod, claims: list[Mapping[str, Any]], expected: list[str] | str) -> None:
    """They are named by the pod, or by its status where a template made them; a generated one must be the pod's."""
    if isinstance(expected, list):
        assert [each.view.metadata.name for each in pod_claims(given, tracker(*claims))] == expected
    else:
        with pytest.raises(ClaimNotReadyError) as failure:
            pod_claims(given, tracker(*claims))
        assert str(failure.value) == expected
