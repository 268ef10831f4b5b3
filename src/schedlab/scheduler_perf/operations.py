"""The operations of a workload, as they stand in a file.

Mirrors: the op types of test/integration/scheduler_perf/operations.go and dra.go (v1.36).
Differs: operations that need the process of the real test are refused (REFUSED).
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import msgspec

from schedlab.apimachinery.time import TimeError, parse_duration


class Operation(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="opcode", forbid_unknown_fields=True
):
    """What all operations have: nothing."""


class _Counted(Operation, frozen=True, kw_only=True):
    count: int = 0
    count_param: str = ""

    def __post_init__(self) -> None:
        _check_count(self.count, self.count_param)


class CreateNodes(_Counted, frozen=True, kw_only=True, tag="createNodes"):
    """Create nodes; a strategy gives them labels or more to allocate."""

    node_template_path: str = ""
    node_allocatable_strategy: dict[str, Any] | None = None
    label_node_prepare_strategy: dict[str, Any] | None = None
    unique_node_label_strategy: dict[str, Any] | None = None
    template_params: dict[str, Any] = {}


class CreateNamespaces(_Counted, frozen=True, kw_only=True, tag="createNamespaces"):
    """Create the namespaces PREFIX-0, PREFIX-1, and so on."""

    prefix: str
    namespace_template_path: str = ""


class CreatePods(_Counted, frozen=True, kw_only=True, tag="createPods"):
    """Create pods and wait until all are scheduled, or keep as many for a while (steadyState)."""

    count_multiplier_param: str = ""
    steady_state: bool = False
    steady_state_param: str = ""
    duration: str = ""
    duration_param: str = ""
    collect_metrics: bool = False
    namespace: str = ""
    pod_template_path: str = ""
    skip_wait_to_completion: bool = False
    persistent_volume_template_path: str = ""
    persistent_volume_claim_template_path: str = ""
    template_params: dict[str, Any] = {}
    signature_batch_size: int = 0
    signature_batch_size_param: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.collect_metrics and self.skip_wait_to_completion:
            raise ValueError("collectMetrics and skipWaitToCompletion cannot be true at the same time")
        if self.steady_state and self.skip_wait_to_completion:
            raise ValueError("skipWaitToCompletion and steadyState cannot be true at the same time")
        if bool(self.persistent_volume_template_path) != bool(self.persistent_volume_claim_template_path):
            raise ValueError("persistentVolumeTemplatePath and persistentVolumeClaimTemplatePath go together")
        _check_duration(self.duration)


class CreatePodSets(_Counted, frozen=True, kw_only=True, tag="createPodSets"):
    """Create a set of pods in each of the namespaces PREFIX-0, PREFIX-1, and so on."""

    namespace_prefix: str
    create_pods_op: CreatePods


class DeletePods(Operation, frozen=True, kw_only=True, tag="deletePods"):
    """Delete the pods of a namespace, all at once or so many per second."""

    namespace: str
    label_selector: dict[str, str] = {}
    delete_pods_per_second: int = 0
    skip_wait_to_completion: bool = False

    def __post_init__(self) -> None:
        if self.delete_pods_per_second < 0:
            raise ValueError(f"invalid deletePodsPerSecond={self.delete_pods_per_second}; should be non-negative")


class CreateAny(Operation, frozen=True, kw_only=True, tag="createAny"):
    """Create any object."""

    template_path: str
    namespace: str = ""
    count: int | None = None
    count_param: str = ""
    template_params: dict[str, Any] = {}


class UpdateAny(Operation, frozen=True, kw_only=True, tag="updateAny"):
    """Merge a template into objects that are there, all at once or so many per second."""

    template_path: str
    namespace: str = ""
    count: int | None = None
    count_param: str = ""
    update_per_second: int = 0
    subresources: list[str] = []
    template_params: dict[str, Any] = {}


class Churn(Operation, frozen=True, kw_only=True, tag="churn"):
    """From now on create objects at intervals; with `recreate` delete them again after `number` intervals."""

    mode: Literal["create", "recreate"]
    number: int = 0
    interval_milliseconds: int = 500
    namespace: str = ""
    template_paths: list[str]

    def __post_init__(self) -> None:
        if self.number < 0:
            raise ValueError(f"number ({self.number}) cannot be negative")
        if self.mode == "recreate" and not self.number:
            raise ValueError("number cannot be 0 when mode is recreate")
        if not self.template_paths:
            raise ValueError("at least one template spec file needs to be specified")
        if self.interval_milliseconds < 0:
            raise ValueError(f"intervalMilliseconds ({self.interval_milliseconds}) cannot be negative")


class Barrier(Operation, frozen=True, kw_only=True, tag="barrier"):
    """Wait until pods are scheduled, or have been tried."""

    namespaces: list[str] = []
    label_selector: dict[str, str] = {}
    stage_requirement: Literal["", "Scheduled", "Attempted"] = ""


class Sleep(Operation, frozen=True, kw_only=True, tag="sleep"):
    """Let time pass."""

    duration: str = ""
    duration_param: str = ""

    def __post_init__(self) -> None:
        _check_duration(self.duration)


class StartCollectingMetrics(Operation, frozen=True, kw_only=True, tag="startCollectingMetrics"):
    """Begin to measure the pods of some namespaces."""

    name: str = ""
    namespaces: list[str]
    label_selector: dict[str, str] = {}

    def __post_init__(self) -> None:
        if not self.namespaces:
            raise ValueError("namespaces cannot be empty")


class StopCollectingMetrics(Operation, frozen=True, kw_only=True, tag="stopCollectingMetrics"):
    """Measure no longer."""


class CreateResourceClaims(_Counted, frozen=True, kw_only=True, tag="createResourceClaims"):
    """Create ResourceClaims."""

    namespace: str
    template_path: str


AnyOperation: TypeAlias = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | DeletePods
    | CreateAny
    | UpdateAny
    | Churn
    | Barrier
    | Sleep
    | StartCollectingMetrics
    | StopCollectingMetrics
    | CreateResourceClaims
)

#: Opcodes of upstream that are refused, and why.
REFUSED: Final = {
    "allocResourceClaims": "it allocates claims past the scheduler, inside of the real scheduler's process",
    "createResourceDriver": "it runs a driver's code in the real test; publish ResourceSlices with createAny",
    "waitForPodGroups": "it looks into the real scheduler's cache",
}


def _check_count(count: int, param: str) -> None:
    if not param and count < 0:
        raise ValueError(f"invalid count={count}; should be non-negative")
    if param and not param.startswith("$"):
        raise ValueError(f'invalid countParam="{param}"; a parameter is written $name')


def _check_duration(text: str) -> None:
    if text:
        try:
            parse_duration(text)
        except TimeError as error:
            raise ValueError(str(error)) from error
