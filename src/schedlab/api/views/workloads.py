"""Typed views of the kinds that make pods, and of scheduling and policy kinds.

Templates are not part of a view: whoever makes pods of one takes it from the object's `raw`.

Mirrors: staging/src/k8s.io/api/{apps,batch,policy,scheduling}/v1/types.go (v1.36), the fields in use here.
"""

from __future__ import annotations

from schedlab.api.views.meta import LabelSelector, ObjectMeta, View

#: A number, or a percentage as text.
IntOrPercent = int | str


class Condition(View):
    """status.conditions[i] of a kind that makes pods."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_update_time: str | None = None


class ReplicaCounts(View):
    """status of a ReplicaSet or ReplicationController."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class ReplicaSetSpec(View):
    """spec of a ReplicaSet."""

    selector: LabelSelector | None = None
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSet(View):
    """apps/v1 ReplicaSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaCounts = ReplicaCounts()


class ReplicationControllerSpec(View):
    """spec of a replication controller: its selector is a plain map."""

    selector: dict[str, str] = {}
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicationController(View):
    """core/v1 ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaCounts = ReplicaCounts()


class RollingUpdate(View):
    """How many pods a rolling update may add and take away."""

    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    partition: int | None = None


class UpdateStrategy(View):
    """spec.strategy of a Deployment, spec.updateStrategy of a DaemonSet or StatefulSet."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(View):
    """spec of a Deployment."""

    selector: LabelSelector | None = None
    replicas: int = 1
    min_ready_seconds: int = 0
    paused: bool = False
    strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int | None = None
    progress_deadline_seconds: int | None = None


class DeploymentStatus(View):
    """status of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[Condition, ...] = ()


class Deployment(View):
    """apps/v1 Deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class VolumeClaimRetention(View):
    """spec.persistentVolumeClaimRetentionPolicy of a StatefulSet."""

    when_deleted: str = ""
    when_scaled: str = ""


class Ordinals(View):
    """spec.ordinals of a StatefulSet."""

    start: int = 0


class StatefulSetSpec(View):
    """spec of a StatefulSet."""

    selector: LabelSelector | None = None
    replicas: int = 1
    min_ready_seconds: int = 0
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int | None = None
    persistent_volume_claim_retention_policy: VolumeClaimRetention | None = None
    ordinals: Ordinals | None = None


class StatefulSetStatus(View):
    """status of a StatefulSet."""

    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    current_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: int | None = None


class StatefulSet(View):
    """apps/v1 StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(View):
    """spec of a DaemonSet."""

    selector: LabelSelector | None = None
    min_ready_seconds: int = 0
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int | None = None


class DaemonSetStatus(View):
    """status of a DaemonSet."""

    current_number_scheduled: int = 0
    number_misscheduled: int = 0
    desired_number_scheduled: int = 0
    number_ready: int = 0
    observed_generation: int = 0
    updated_number_scheduled: int = 0
    number_available: int = 0
    number_unavailable: int = 0
    collision_count: int | None = None


class DaemonSet(View):
    """apps/v1 DaemonSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class ControllerRevision(View):
    """apps/v1 ControllerRevision, without its data."""

    metadata: ObjectMeta = ObjectMeta()
    revision: int = 0


class PodTemplateSpecPolicy(View):
    """template.spec of a Job, as far as its controller decides by it."""

    restart_policy: str = ""


class JobTemplate(View):
    """template of a Job."""

    spec: PodTemplateSpecPolicy = PodTemplateSpecPolicy()


class ExitCodes(View):
    """onExitCodes of a pod failure rule."""

    container_name: str | None = None
    operator: str = ""
    values: tuple[int, ...] = ()


class ConditionPattern(View):
    """onPodConditions[i] of a pod failure rule."""

    type: str = ""
    status: str = ""


class PodFailureRule(View):
    """podFailurePolicy.rules[i] of a Job."""

    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class PodFailurePolicy(View):
    """podFailurePolicy of a Job."""

    rules: tuple[PodFailureRule, ...] = ()


class SuccessRule(View):
    """successPolicy.rules[i] of a Job."""

    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(View):
    """successPolicy of a Job."""

    rules: tuple[SuccessRule, ...] = ()


class JobSpec(View):
    """spec of a Job."""

    parallelism: int = 1
    completions: int | None = None
    active_deadline_seconds: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    selector: LabelSelector | None = None
    template: JobTemplate = JobTemplate()
    ttl_seconds_after_finished: int | None = None
    completion_mode: str = ""
    suspend: bool = False
    pod_replacement_policy: str = ""
    managed_by: str | None = None


class UncountedPods(View):
    """status.uncountedTerminatedPods of a Job."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobStatus(View):
    """status of a Job."""

    conditions: tuple[Condition, ...] = ()
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    ready: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedPods | None = None


class Job(View):
    """batch/v1 Job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def finished(self) -> Condition | None:
        """Return the condition that says that it has ended, one way or the other."""
        ends = ("Complete", "Failed")
        return next((each for each in self.status.conditions if each.type in ends and each.status == "True"), None)


class JobReference(View):
    """status.active[i] of a CronJob."""

    name: str = ""
    namespace: str = ""
    uid: str = ""


class CronJobSpec(View):
    """spec of a CronJob, without the template of its Jobs."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str = ""
    suspend: bool = False
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None


class CronJobStatus(View):
    """status of a CronJob."""

    active: tuple[JobReference, ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(View):
    """batch/v1 CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class PodDisruptionBudgetSpec(View):
    """spec of a disruption budget; minAvailable and maxUnavailable are int or percentage text."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class PodDisruptionBudgetStatus(View):
    """status of a disruption budget."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(View):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(View):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
