"""Typed views of groups of pods.

Mirrors: staging/src/k8s.io/api/scheduling/v1alpha2/types.go (v1.36), the fields in use here.
"""

from __future__ import annotations

from schedlab.api.views.meta import ObjectMeta, View
from schedlab.api.views.resource import Condition


class GangSchedulingPolicy(View):
    """spec.schedulingPolicy.gang: so many pods at once, or none."""

    min_count: int = 0


class PodGroupSchedulingPolicy(View):
    """spec.schedulingPolicy of a group."""

    gang: GangSchedulingPolicy | None = None


class PodGroupSpec(View):
    """spec of a group."""

    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()


class PodGroupStatus(View):
    """status of a group."""

    conditions: tuple[Condition, ...] = ()


class PodGroup(View):
    """scheduling.k8s.io/v1alpha2 PodGroup."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
