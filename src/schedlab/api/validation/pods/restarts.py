"""Whether a container that has ended may run again.

Mirrors: pkg/api/v1/pod/util.go (ContainerShouldRestart, AllContainersCouldRestart) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schedlab.api.validation.pods.rules import Spec
from schedlab.apimachinery.features import FeatureGates


def may_restart(container: Mapping[str, Any], spec: Spec, exit_code: int, features: FeatureGates) -> bool:
    """Ask the rules of the container first, then its policy, then that of the pod."""
    policy = container.get("restartPolicy")
    if policy is not None:
        action = _action(container, exit_code)
        restarts_all = features.enabled("RestartAllContainersOnContainerExits")
        if action == "Restart" or (action == "RestartAllContainers" and restarts_all):
            return True
    if policy not in ("Always", "OnFailure", "Never"):
        policy = spec.get("restartPolicy", "")
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"


def _action(container: Mapping[str, Any], exit_code: int) -> str:
    """Return what the first rule that fits an exit code says."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        is_listed = exit_code in (codes.get("values") or ())
        if codes.get("operator") == ("In" if is_listed else "NotIn"):
            action: str = rule.get("action", "")
            return action
    return ""


def may_restart_all(spec: Spec) -> bool:
    """Whether the end of some container may restart all of them."""
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    return any(
        rule.get("action") == "RestartAllContainers"
        for container in containers
        for rule in container.get("restartPolicyRules") or ()
    )
