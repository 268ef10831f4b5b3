"""Stateful sets.

Mirrors: pkg/registry/apps/statefulset/strategy.go, pkg/apis/apps/{v1/defaults,validation/validation}.go (v1.36)
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.plain import (
    first_generation_without_status,
    metadata_only,
    metadata_update,
    update_of_spec,
    update_of_status,
)
from schedlab.api.kinds.pod.defaults import default_claim_spec, default_template
from schedlab.api.kinds.strategy import Context, Strategy
from schedlab.api.object import Object
from schedlab.apimachinery import names


def _default(stateful: Object, context: Context) -> None:
    spec = stateful["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        if strategy.get("rollingUpdate") is None:
            strategy["rollingUpdate"] = {"partition": 0}
    if strategy["type"] == "RollingUpdate" and (rolling := strategy.get("rollingUpdate")) is not None:
        rolling.setdefault("partition", 0)
        if context.features.enabled("MaxUnavailableStatefulSet"):
            rolling.setdefault("maxUnavailable", 1)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["status"].setdefault("phase", "Pending")
        default_claim_spec(claim["spec"])


STATEFUL_SET: Final = Strategy(
    resource="statefulsets.apps",
    validate=metadata_only(names.name_is_dns_label, namespaced=True),
    update=update_of_spec(metadata_update),
    default=_default,
    prepare=first_generation_without_status({"replicas": 0, "availableReplicas": 0}),
    subresources={"status": update_of_status()},
)
