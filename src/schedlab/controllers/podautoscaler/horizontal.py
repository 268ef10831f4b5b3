"""The horizontal pod autoscaler: every 15 seconds each autoscaler looks at the usage of its pods and scales its target.

Mirrors: pkg/controller/podautoscaler/horizontal.go (v1.36) with the flags of kube-controller-manager at their defaults.
Differs: Object, Pods and External metrics fail as in a cluster without adapters for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from schedlab.api.object import Object, StoredObject, WatchEvent
from schedlab.api.views.meta import LabelSelector
from schedlab.apimachinery import quantity, selectors
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.selectors import Selector, SelectorError
from schedlab.apimachinery.time import format_time
from schedlab.client.protocol import Write
from schedlab.client.resource_metrics import PodMetrics
from schedlab.controllers.framework import kinds
from schedlab.controllers.framework.controller import (
    Asking,
    Controller,
    ControllerContext,
    Steps,
    SyncError,
    attempt,
    split_key,
)
from schedlab.controllers.framework.selector_text import selector_text
from schedlab.controllers.framework.status import Condition, new_status
from schedlab.controllers.podautoscaler.behavior import (
    History,
    Limits,
    Moment,
    Verdict,
    normalize,
    normalize_with_behavior,
    store_scaling,
)
from schedlab.controllers.podautoscaler.replica_calculator import (
    TOLERANCE,
    Proposal,
    Question,
    Tolerances,
    by_average,
    by_utilization,
    read_metrics,
)
from schedlab.controllers.podautoscaler.scales import Scale, Scales
from schedlab.kernel.clock import SECOND_NS

SYNC_PERIOD_NS: Final = 15 * SECOND_NS
_KIND: Final = kinds.HORIZONTAL_POD_AUTOSCALER
_ABLE, _ACTIVE, _LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"
_NO_METRICS: Final = "the server could not find the requested resource (get pods.metrics.k8s.io)"
_NO_ADAPTER: Final = (
    "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
)


@dataclass(eq=False)
class Session:
    """One autoscaler on its way through a sync, with the status that it will have."""

    stored: StoredObject
    spec: Mapping[str, Any]
    status: Object
    metrics: list[Object] | None = None

    def set_condition(self, kind: str, verdict: Verdict, now: str) -> None:
        """Set a condition; its time changes with its status."""
        conditions: list[Condition] = self.status["conditions"]
        status = "True" if verdict.status else "False"
        new = {"type": kind, "status": status, "reason": verdict.reason, "message": verdict.message}
        known = next((each for each in conditions if each["type"] == kind), None)
        if known is None:
            conditions.append({**new, "lastTransitionTime": now})
        else:
            since = known["lastTransitionTime"] if known["status"] == status else now
            conditions[conditions.index(known)] = {**new, "lastTransitionTime": since}


class MetricError(Exception):
    """A metric that cannot be had: the reason of the condition, and what users and callers are told."""

    def __init__(self, reason: str, told: str, prefix: str = "") -> None:
        super().__init__(f"{prefix}{told}")
        self.reason = reason
        self.told = told


class Wish(NamedTuple):
    """How many replicas are wanted, why, and whether that is a change."""

    replicas: int
    reason: str
    rescale: bool


class HorizontalController(Controller):
    """Keys are those of autoscalers."""

    name: ClassVar[str] = "horizontal-pod-autoscaler-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, component="horizontal-pod-autoscaler")
        self._autoscalers = context.lister(_KIND.resource)
        self._pods = context.lister("pods")
        self._scales = Scales(context)
        self._histories: dict[str, History] = {}
        self._selectors: dict[str, Selector] = {}
        self._autoscalers.on_change(self._on_autoscaler)

    def _on_autoscaler(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self.queue.add(event.object.key)
        else:
            self.queue.add_after(event.object.key, SYNC_PERIOD_NS)

    def on_failure(self, key: str, error: StatusError | SyncError) -> None:  # noqa: ARG002 - the period is always the same
        """Look again as often as ever."""
        self.queue.add_after(key, SYNC_PERIOD_NS)

    def sync(self, key: str) -> Steps:
        """Look at one autoscaler."""
        namespace, name = split_key(key)
        stored = self._autoscalers.stored(name, namespace)
        if stored is None:
            self._histories.pop(key, None)
            self._selectors.pop(key, None)
            return
        known: Mapping[str, Any] = stored.raw.get("status") or {}
        status = {**known, "conditions": list(known.get("conditions") or ())}
        session = Session(stored, stored.raw["spec"], status)
        yield from self._reconcile(session, key)
        self.queue.add_after(key, SYNC_PERIOD_NS)

    # --- One look ----------------------------------------------------------------------------------------------------

    def _reconcile(self, session: Session, key: str) -> Steps:
        spec = session.spec
        target = spec["scaleTargetRef"]
        reference = f"{target['kind']}/{session.stored.namespace}/{target['name']}"
        try:
            scale = self._scales.find(target, session.stored.namespace)
        except SyncError as error:
            self._warn(session, "FailedGetScale", str(error))
            text = f"the HPA controller was unable to get the target's current scale: {error}"
            self._set(session, _ABLE, "FailedGetScale", text, status=False)
            yield from self._update_status(session)
            raise SyncError(f"failed to query scale subresource for {reference}: {error}") from None
        text = "the HPA controller was able to get the target's current scale"
        self._set(session, _ABLE, "SucceededGetScale", text)
        history = self._histories.setdefault(key, History())
        if not history.recommendations:
            history.recommendations.append(Moment(scale.replicas, self.clock.now_ns()))
        try:
            wish = self._wish(session, scale, history)
        except SyncError as error:
            self._set_replicas(session, scale.replicas, session.status.get("desiredReplicas", 0))
            yield from self._update_status(session)
            self._warn(session, "FailedComputeMetricsReplicas", str(error))
            text = "failed to compute desired number of replicas based on listed metrics"
            raise SyncError(f"{text} for {reference}: {error}") from None
        desired = scale.replicas
        if wish.rescale:
            yield from self._rescale(session, scale, wish, reference)
            store_scaling(history, spec.get("behavior"), scale.replicas, wish.replicas, self.clock.now_ns())
            desired = wish.replicas
            session.status["lastScaleTime"] = self._now()
        self._set_replicas(session, scale.replicas, desired)
        yield from self._update_status(session)

    def _wish(self, session: Session, scale: Scale, history: History) -> Wish:
        spec, current = session.spec, scale.replicas
        least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
        if not current and least:
            text = "scaling is disabled since the replica count of the target is zero"
            self._set(session, _ACTIVE, "ScalingDisabled", text, status=False)
            return Wish(0, "", rescale=False)
        if current > most:
            return Wish(most, "Current number of replicas above Spec.MaxReplicas", rescale=True)
        if current < least:
            return Wish(least, "Current number of replicas below Spec.MinReplicas", rescale=True)
        proposed, metric = self._propose(session, scale)
        behavior, limits, now_ns = spec.get("behavior"), Limits(least, most, current), self.clock.now_ns()
        if behavior is None:
            wanted = normalize(history, limits, proposed, now_ns)
        else:
            wanted = normalize_with_behavior(history, limits, proposed, behavior, now_ns)
        self._set_verdict(session, _ABLE, wanted.able)
        self._set_verdict(session, _LIMITED, wanted.limited)
        above = f"{metric} above target" if proposed > current else ""
        reason = "All metrics below target" if proposed < current else above
        return Wish(wanted.replicas, reason, rescale=wanted.replicas != current)

    def _rescale(self, session: Session, scale: Scale, wish: Wish, reference: str) -> Steps:
        body = scale.with_replicas(wish.replicas)
        namespace, name = session.stored.namespace, session.spec["scaleTargetRef"]["name"]
        outcome = yield from attempt(Write("update", scale.resource, namespace, name, body, subresource="scale"))
        error = outcome.error
        if error is not None:
            text = f"New size: {wish.replicas}; reason: {wish.reason}; error: {error}"
            self._warn(session, "FailedRescale", text)
            text = f"the HPA controller was unable to update the target scale: {error}"
            self._set(session, _ABLE, "FailedUpdateScale", text, status=False)
            self._set_replicas(session, scale.replicas, session.status.get("desiredReplicas", 0))
            yield from self._update_status(session)
            raise SyncError(f"failed to rescale {reference}: {error}")
        text = f"the HPA controller was able to update the target scale to {wish.replicas}"
        self._set(session, _ABLE, "SucceededRescale", text)
        self.events.normal(
            _KIND, session.stored, "SuccessfulRescale", f"New size: {wish.replicas}; reason: {wish.reason}"
        )

    # --- Metrics -----------------------------------------------------------------------------------------------------

    def _propose(self, session: Session, scale: Scale) -> tuple[int, str]:
        """Return the highest number that a metric asks for, and its name."""
        selector = self._selector(session, scale)
        namespace = session.stored.namespace
        pods = [pod for pod in self._pods.all_stored(namespace) if selector.matches(pod.labels)]
        specs: Sequence[Mapping[str, Any]] = session.spec.get("metrics") or ()
        session.metrics = []
        best, name = 0, ""
        failures: list[MetricError] = []
        for spec in specs:
            try:
                proposal, called, status = self._propose_for(session, spec, scale, pods)
            except MetricError as error:
                failures.append(error)
                session.metrics.append({"type": ""})
                continue
            session.metrics.append(status)
            if not best or proposal > best:
                best, name = proposal, called
        if failures and (len(failures) == len(specs) or best < scale.replicas):
            first = failures[0]
            text = f"the HPA was unable to compute the replica count: {first.told}"
            self._set(session, _ACTIVE, first.reason, text, status=False)
            raise SyncError(f"invalid metrics ({len(failures)} invalid out of {len(specs)}), first error is: {first}")
        text = f"the HPA was able to successfully calculate a replica count from {name}"
        self._set(session, _ACTIVE, "ValidMetricFound", text)
        return best, name

    def _selector(self, session: Session, scale: Scale) -> Selector:
        key = session.stored.key
        if not scale.selector:
            self._warn(session, "SelectorRequired", "selector is required")
            text = "the HPA target's scale is missing a selector"
            self._set(session, _ACTIVE, "InvalidSelector", text, status=False)
            raise SyncError("selector is required")
        try:
            selector = self._selectors[key] = selectors.parse(scale.selector)
        except SelectorError as error:
            text = f"couldn't convert selector into a corresponding internal selector object: {error}"
            self._warn(session, "InvalidSelector", text)
            self._set(session, _ACTIVE, "InvalidSelector", text, status=False)
            raise SyncError(text) from None
        others = self._sharing(key, selector)
        if len(others) > 1:
            text = f"pods by selector {scale.selector} are controlled by multiple HPAs: [{' '.join(others)}]"
            self._warn(session, "AmbiguousSelector", text)
            self._set(session, _ACTIVE, "AmbiguousSelector", text, status=False)
            raise SyncError(text)
        return selector

    def _sharing(self, key: str, selector: Selector) -> list[str]:
        """Return the autoscalers of which pods are selected by this one, too, as Go prints them."""
        namespace, _ = split_key(key)
        pods = [pod for pod in self._pods.all_stored(namespace) if selector.matches(pod.labels)]
        found = []
        for other, known in self._selectors.items():
            place, name = split_key(other)
            if place == namespace and any(known.matches(pod.labels) for pod in pods):
                found.append(f"{{{name} {place}}}")
        return found

    def _propose_for(
        self, session: Session, spec: Mapping[str, Any], scale: Scale, pods: Sequence[StoredObject]
    ) -> tuple[int, str, Object]:
        """Return what a metric asks for, its name and its status; tells of a metric that cannot be had."""
        kind = spec["type"]
        try:
            if kind not in ("Resource", "ContainerResource"):
                raise _unavailable(spec, session.stored.namespace)
            return self._propose_for_resource(session, spec, scale, pods)
        except MetricError as error:
            self._warn(session, error.reason, error.told)
            raise

    def _propose_for_resource(
        self, session: Session, spec: Mapping[str, Any], scale: Scale, pods: Sequence[StoredObject]
    ) -> tuple[int, str, Object]:
        kind = spec["type"]
        member = f"{kind[0].lower()}{kind[1:]}"
        source: Mapping[str, Any] = spec[member]
        name, container, target = source["name"], source.get("container", ""), source["target"]
        question = Question(name, container, scale.replicas, _tolerances(session.spec.get("behavior") or {}))
        average = target.get("averageValue")
        prefix = f"failed to get {name} resource metric value: "
        if container:
            prefix = f"failed to get {container} container metric value: "
        try:
            if average is not None:
                proposal = self._by_average(quantity.from_json(average).milli_value(), pods, question)
                called = f"{name} resource"
            else:
                proposal = self._by_utilization(target["averageUtilization"], pods, question)
                called = f"{name} {'container ' * bool(container)}resource utilization (percentage of request)"
        except SyncError as error:
            what = "usage" if average is not None else "utilization"
            raise MetricError(f"FailedGet{kind}Metric", f"failed to get {name} {what}: {error}", prefix) from None
        current: Object = {"averageValue": str(quantity.of_milli(proposal.average_milli))}
        if proposal.utilization is not None:
            current["averageUtilization"] = proposal.utilization
        status: Object = {"name": name, "current": current}
        if container:
            status["container"] = container
        return proposal.replicas, called, {"type": kind, member: status}

    def _by_utilization(self, target: int, pods: Sequence[StoredObject], question: Question) -> Proposal:
        found = self._metrics(pods, question)
        return by_utilization(found, pods, target, question, self.clock.now_ns())

    def _by_average(self, target: int, pods: Sequence[StoredObject], question: Question) -> Proposal:
        found = self._metrics(pods, question)
        return by_average(found, pods, target, question, self.clock.now_ns())

    def _metrics(self, pods: Sequence[StoredObject], question: Question) -> dict[str, Any]:
        try:
            return read_metrics(self._measured(pods), question)
        except SyncError as error:
            raise SyncError(f"unable to get metrics for resource {question.resource}: {error}") from None

    def _measured(self, pods: Sequence[StoredObject]) -> list[PodMetrics]:
        source = self.context.metrics
        if source is None:
            raise SyncError(f"unable to fetch metrics from resource metrics API: {_NO_METRICS}")
        found = (source.pod(pod.name, pod.namespace) for pod in pods)
        return [each for each in found if each is not None]

    # --- Status ------------------------------------------------------------------------------------------------------

    def _now(self) -> str:
        return format_time(self.clock.now_ns())

    def _set(self, session: Session, kind: str, reason: str, message: str, *, status: bool = True) -> None:
        self._set_verdict(session, kind, Verdict(status, reason, message))

    def _set_verdict(self, session: Session, kind: str, verdict: Verdict) -> None:
        session.set_condition(kind, verdict, self._now())

    def _warn(self, session: Session, reason: str, message: str) -> None:
        self.events.warning(_KIND, session.stored, reason, message)

    @staticmethod
    def _set_replicas(session: Session, current: int, desired: int) -> None:
        session.status |= {"currentReplicas": current, "desiredReplicas": desired, "currentMetrics": session.metrics}

    def _update_status(self, session: Session) -> Asking[None]:
        known: Mapping[str, Any] = session.stored.raw.get("status") or {}
        if _comparable(known) == _comparable(session.status):
            return
        outcome = yield from attempt(new_status(session.stored, session.status))
        if outcome.error is not None:
            self._warn(session, "FailedUpdateStatus", str(outcome.error))
            raise SyncError(f"failed to update status for {session.stored.name}: {outcome.error}")


def _comparable(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status without what is zero or empty."""
    return {key: value for key, value in status.items() if value}


def _tolerances(behavior: Mapping[str, Any]) -> Tolerances:
    down, up = (
        quantity.from_json(found).as_approximate_float64()
        if (found := (behavior.get(key) or {}).get("tolerance")) is not None
        else TOLERANCE
        for key in ("scaleDown", "scaleUp")
    )
    return Tolerances(down, up)


def _unavailable(spec: Mapping[str, Any], namespace: str) -> MetricError:
    """Return the error of a metric for which a cluster needs an adapter."""
    kind = spec["type"]
    if kind == "Pods":
        told = f"unable to get metric {spec['pods']['metric']['name']}: {_NO_ADAPTER}"
        return MetricError("FailedGetPodsMetric", told, "failed to get pods metric value: ")
    if kind == "Object":
        source = spec["object"]
        about = source["describedObject"]
        place = f"{about['kind']} on {namespace} {about['name']}"
        told = f"unable to get metric {source['metric']['name']}: {place}/{_NO_ADAPTER}"
        return MetricError("FailedGetObjectMetric", told, "failed to get object metric value: ")
    metric = spec["external"]["metric"]
    selector = metric.get("selector")
    text = selector_text(None if selector is None else msgspec.convert(selector, LabelSelector))
    missing = f"the server could not find the requested resource (get {metric['name']}.external.metrics.k8s.io)"
    fetched = f"unable to fetch metrics from external metrics API: {missing}"
    told = f"unable to get external metric {namespace}/{metric['name']}/{text}: {fetched}"
    is_average = spec["external"]["target"].get("averageValue") is not None
    what = f"{metric['name']} external metric" if is_average else f"external metric {metric['name']}"
    prefix = f"failed to get {metric['name']} external metric value: failed to get {what}: "
    return MetricError("FailedGetExternalMetric", told, prefix)
