"""Runs one workload: its operations, one after the other, on a target; then the figures.

Mirrors: runWorkload of test/integration/scheduler_perf/scheduler_perf.go (v1.36).
Differs: one figure per measured operation; pods of one operation are created one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from schedlab.apimachinery.features import FeatureGates
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.decisions.annotations import AnnotationMode
from schedlab.kernel.errors import SchedlabError
from schedlab.registry.admission.plugins import DEFAULT_NAMES
from schedlab.scheduler.config.file import read_configuration
from schedlab.scheduler_perf import operations as ops
from schedlab.scheduler_perf.batch import BatchTarget
from schedlab.scheduler_perf.config import Params, TestCase, Workload
from schedlab.scheduler_perf.live import LiveTarget, Processes
from schedlab.scheduler_perf.measurement import Figures, figures_of
from schedlab.scheduler_perf.objects import DEFAULT_NODE, DEFAULT_POD, Body, NodeStrategy, Templates
from schedlab.scheduler_perf.target import ChurnPlan, Selection, Target

Mode = Literal["batch", "live"]

#: Admission plugins that scheduler_perf switches off: its nodes have no kubelet and its pods no accounts.
_WITHOUT: Final = frozenset(("ServiceAccount", "TaintNodesByCondition", "Priority", "StorageObjectInUseProtection"))
_ADMISSION: Final = tuple(name for name in DEFAULT_NAMES if name not in _WITHOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a workload is run.

    whole: with kubelets, controllers and all admission, as `schedlab up` has them. profile: tell where the time goes;
    the figures suffer. params: in place of the workload's own. seed and watch: of a batch run (`batch.BatchTarget`).
    processes: of a live run's server.
    """

    mode: Mode = "batch"
    annotations: AnnotationMode = "auto"
    full: bool = True
    whole: bool = False
    profile: bool = False
    params: tuple[tuple[str, Any], ...] = ()
    seed: int = 1
    watch: Callable[[Cluster], None] | None = None
    processes: Processes = 1


def run(path: Path, case: TestCase, workload: Workload, options: RunOptions) -> list[Figures]:
    """Run a workload of a file once; raises SchedlabError when it cannot be carried out."""
    location = f"{path}: {case.name}/{workload.name}"
    params = Params({**workload.params, **dict(options.params)}, location)
    settings = _settings(path, case, workload, options, location)
    runner = _Runner(path, case, params, location)
    steps = [runner.plan(operation) for operation in case.workload_template]
    params.refuse_unused()
    target: Target
    if options.mode == "batch":
        target = BatchTarget(settings, profile=options.profile, seed=options.seed, watch=options.watch)
    else:
        target = LiveTarget(settings, options.processes)
    try:
        started = time.perf_counter()
        for step in steps:
            step(target)
        facts = target.facts()
    finally:
        target.close()
    facts["totalSeconds"] = round(time.perf_counter() - started, 2)
    return [figures_of(name, measured, setup_s, facts) for name, measured, setup_s in runner.measured]


def _settings(path: Path, case: TestCase, workload: Workload, options: RunOptions, location: str) -> ClusterSettings:
    config = None
    if case.scheduler_config_path:
        config = read_configuration(path.parent / case.scheduler_config_path, "schedulerConfigPath")
    return ClusterSettings(
        scheduler_config=config,
        scheduler_config_location=case.scheduler_config_path,
        feature_gates=FeatureGates.default().with_overrides(case.gates(workload), location=location),
        annotations=options.annotations,
        full=options.full,
        kubelets=options.whole,
        controllers=("*",) if options.whole else (),
        admission=DEFAULT_NAMES if options.whole else _ADMISSION,
    )


Step = Callable[[Target], None]


class _Runner:
    """Turns operations into steps with the workload's numbers in them, and keeps what was measured."""

    def __init__(self, path: Path, case: TestCase, params: Params, location: str) -> None:
        self._case, self._params, self._location = case, params, location
        self._templates = Templates(path)
        self._number = 0
        self._namespaces: dict[str, None] = {"default": None}
        self._started = time.perf_counter()
        self._collecting = ""
        #: (name, raw figures, seconds before) of each measured stretch.
        self.measured: list[tuple[str, Any, float]] = []

    def plan(self, operation: ops.AnyOperation) -> Step:
        """Return what the operation does; its parameters are looked up now."""
        self._number += 1
        return _PLANS[type(operation)](self, operation)

    # --- Objects -----------------------------------------------------------------------------------------------------

    def nodes(self, operation: ops.CreateNodes) -> Step:
        count = self._params.count(operation.count, operation.count_param)
        params = self._params.resolve(operation.template_params)
        strategy = NodeStrategy(operation, self._location)
        bodies = self._templates.bodies(operation.node_template_path, DEFAULT_NODE, count, params)

        def step(target: Target) -> None:
            target.create(strategy.prepare(body, index) for index, body in enumerate(bodies))

        return step

    def namespaces(self, operation: ops.CreateNamespaces) -> Step:
        count = self._params.count(operation.count, operation.count_param)
        plain: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {}}
        bodies = self._templates.bodies(operation.namespace_template_path, plain, count)
        names = [f"{operation.prefix}-{number}" for number in range(count)]
        self._namespaces.update(dict.fromkeys(names))

        def step(target: Target) -> None:
            target.create(
                {**body, "metadata": {**body["metadata"], "name": name}}
                for body, name in zip(bodies, names, strict=True)
            )

        return step

    def any(self, operation: ops.CreateAny) -> Step:
        count = self._params.count(1 if operation.count is None else operation.count, operation.count_param)
        params = self._params.resolve(operation.template_params)
        bodies = self._templates.bodies(operation.template_path, None, count, params)
        prepare = self._namespace(operation.namespace) if operation.namespace else _nothing

        def step(target: Target) -> None:
            prepare(target)
            target.create(bodies, operation.namespace)

        return step

    def update(self, operation: ops.UpdateAny) -> Step:
        count = self._params.count(1 if operation.count is None else operation.count, operation.count_param)
        params = self._params.resolve(operation.template_params)
        bodies = self._templates.bodies(operation.template_path, None, count, params)
        return lambda target: target.update(
            bodies, operation.namespace, operation.subresources, operation.update_per_second
        )

    def claims(self, operation: ops.CreateResourceClaims) -> Step:
        count = self._params.count(operation.count, operation.count_param)
        bodies = self._templates.bodies(operation.template_path, None, count)
        prepare = self._namespace(operation.namespace)

        def step(target: Target) -> None:
            prepare(target)
            target.create(bodies, operation.namespace)

        return step

    # --- Pods --------------------------------------------------------------------------------------------------------

    def pods(self, operation: ops.CreatePods, namespace: str = "") -> Step:
        params = self._params
        count = params.count(operation.count, operation.count_param)
        if operation.count_multiplier_param:
            count *= params.count(1, operation.count_multiplier_param)
        batch = params.count(operation.signature_batch_size, operation.signature_batch_size_param)
        steady = params.flag(operation.steady_state, operation.steady_state_param)
        duration_ns = params.duration_ns(operation.duration, operation.duration_param)
        namespace = namespace or operation.namespace or f"namespace-{self._number}"
        path = operation.pod_template_path or self._case.default_pod_template_path
        values = params.resolve(operation.template_params)
        bodies = self._templates.bodies(path, DEFAULT_POD, count, values)
        if batch:
            bodies = _signed(bodies, batch)
        if operation.persistent_volume_template_path:
            raise SchedlabError(
                "createPods with volume templates is not supported",
                location=self._location,
                hint="make volumes and claims with createAny",
            )
        prepare = self._namespace(namespace)

        def step(target: Target) -> None:
            prepare(target)
            if operation.collect_metrics:
                self._start(target, Selection((namespace,)), "")
            if steady:
                more = self._templates.bodies(path, DEFAULT_POD, 1 << 40, values)
                target.keep_steady(more, namespace, count, duration_ns)
            else:
                target.create_pods(bodies, namespace, wait=not operation.skip_wait_to_completion)
            if operation.collect_metrics:
                self._stop(target)

        return step

    def pod_sets(self, operation: ops.CreatePodSets) -> Step:
        count = self._params.count(operation.count, operation.count_param)
        steps = [
            self.pods(operation.create_pods_op, f"{operation.namespace_prefix}-{number}") for number in range(count)
        ]

        def step(target: Target) -> None:
            for one in steps:
                one(target)

        return step

    def delete(self, operation: ops.DeletePods) -> Step:
        selection = Selection((operation.namespace,), operation.label_selector)
        wait = not operation.skip_wait_to_completion
        return lambda target: target.delete_pods(selection, operation.delete_pods_per_second, wait=wait)

    # --- Time --------------------------------------------------------------------------------------------------------

    def churn(self, operation: ops.Churn) -> Step:
        templates = [self._templates.get(path) for path in operation.template_paths]
        namespace = operation.namespace or f"namespace-{self._number}"
        prepare = self._namespace(namespace)

        def bodies(number: int) -> list[Body]:
            return [template.make(number, 0, {}) for template in templates]

        def step(target: Target) -> None:
            prepare(target)
            target.churn(
                ChurnPlan(
                    operation.mode == "recreate",
                    operation.number,
                    operation.interval_milliseconds * 1_000_000,
                    namespace,
                    bodies,
                )
            )

        return step

    def barrier(self, operation: ops.Barrier) -> Step:
        selection = Selection(tuple(operation.namespaces), operation.label_selector)
        return lambda target: target.wait_for(selection, attempted=operation.stage_requirement == "Attempted")

    def sleep(self, operation: ops.Sleep) -> Step:
        duration_ns = self._params.duration_ns(operation.duration, operation.duration_param)
        return lambda target: target.sleep(duration_ns)

    # --- Measuring ---------------------------------------------------------------------------------------------------

    def start(self, operation: ops.StartCollectingMetrics) -> Step:
        selection = Selection(tuple(operation.namespaces), operation.label_selector)
        return lambda target: self._start(target, selection, operation.name)

    def stop(self, operation: ops.StopCollectingMetrics) -> Step:  # noqa: ARG002 - it says nothing but that it is there
        return self._stop

    def _start(self, target: Target, selection: Selection, name: str) -> None:
        self._collecting, self._setup_s = name, time.perf_counter() - self._started
        target.start_measuring(selection)

    def _stop(self, target: Target) -> None:
        self.measured.append((self._collecting, target.stop_measuring(), self._setup_s))

    def _namespace(self, name: str) -> Step:
        """Return what makes a namespace that no operation before has made."""
        if name in self._namespaces:
            return _nothing
        self._namespaces[name] = None
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

        def step(target: Target) -> None:
            target.create([body])

        return step


def _nothing(_: Target) -> None:
    """Do nothing."""


def _signed(bodies: Iterator[Body], batch: int) -> Iterator[Body]:
    """Label pods so that so many after each other are alike."""
    for index, body in enumerate(bodies):
        metadata: Mapping[str, Any] = body["metadata"]
        labels = {**metadata.get("labels", {}), "signature": f"signature-label-{index // batch}"}
        yield {**body, "metadata": {**metadata, "labels": labels}}


_PLANS: Final[Mapping[type[Any], Callable[[_Runner, Any], Step]]] = {
    ops.CreateNodes: _Runner.nodes,
    ops.CreateNamespaces: _Runner.namespaces,
    ops.CreatePods: _Runner.pods,
    ops.CreatePodSets: _Runner.pod_sets,
    ops.DeletePods: _Runner.delete,
    ops.CreateAny: _Runner.any,
    ops.UpdateAny: _Runner.update,
    ops.Churn: _Runner.churn,
    ops.Barrier: _Runner.barrier,
    ops.Sleep: _Runner.sleep,
    ops.StartCollectingMetrics: _Runner.start,
    ops.StopCollectingMetrics: _Runner.stop,
    ops.CreateResourceClaims: _Runner.claims,
}
