"""Fields of pods that say the same: which one counts, and that all of them say it.

Mirrors: pkg/apis/core/v1/conversion.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.object import Object

#: Annotations of old releases that fields took the place of.
_DROPPED_ANNOTATIONS: Final = (
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
)


def settle_pod(pod: Object) -> None:
    settle_template(pod)
    spec, status = pod["spec"], pod["status"]
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses and addresses[0].get("ip"):
        status["podIP"] = addresses[0]["ip"]


def settle_template(template: Object) -> None:
    """Settle a pod template; a pod is one too."""
    annotations = template["metadata"].get("annotations")
    if annotations and any(key in annotations for key in _DROPPED_ANNOTATIONS):
        kept = {key: value for key, value in annotations.items() if key not in _DROPPED_ANNOTATIONS}
        if kept:
            template["metadata"]["annotations"] = kept
        else:
            del template["metadata"]["annotations"]
    spec = template["spec"]
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
