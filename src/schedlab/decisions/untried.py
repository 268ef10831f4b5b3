"""Why no scheduler of ours has tried a pod: it is not there, not ours, held back, or placed by somebody else."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.api.views.core import Pod
from schedlab.decisions.schedulers import KnownScheduler


def why_untried(key: str, pod: Pod | None, schedulers: Sequence[KnownScheduler]) -> str:
    """Return one sentence about the pod `namespace/name` of which no attempt is recorded."""
    if pod is None:
        return f"there is no pod {key}, and no attempt to schedule one of that name is recorded"
    spec = pod.spec
    if spec.node_name:
        end = f", which refused it: {pod.status.message}" if pod.status.phase == "Failed" and pod.status.message else ""
        return (
            f"pod {key} was put on {spec.node_name} by its creator or another scheduler{end}; nothing was decided here"
        )
    responsible = [one for one in schedulers if spec.scheduler_name in one.names]
    if not responsible:
        known = ", ".join(dict.fromkeys(name for one in schedulers for name in one.names)) or "none"
        return f"pod {key} asks for the scheduler {spec.scheduler_name!r}, which is not here; schedulers here: {known}"
    if spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in spec.scheduling_gates)
        return f"pod {key} waits for its scheduling gates to be removed: {gates}"
    if all(one.state != "scheduling" for one in responsible):
        return f"pod {key} waits for its scheduler {spec.scheduler_name}: {_how(responsible)}{_condition(pod)}"
    if spec.resource_claims:
        claims = ", ".join(claim.name for claim in spec.resource_claims)
        return f"pod {key} has not been tried yet: it waits for its resource claims: {claims}"
    return f"pod {key} has not been tried yet"


def _how(responsible: Sequence[KnownScheduler]) -> str:
    return "; ".join(one.told() for one in responsible)


def _condition(pod: Pod) -> str:
    """Return what a scheduler that is not recorded has said of the pod."""
    condition = pod.status.condition("PodScheduled")
    said = condition is not None and condition.status == "False" and condition.message
    return f"; it says: {said}" if said else ""
