"""What scheduling computes of a pod, once for all pods that have it in common.

It depends on the namespace, the spec without the node, and what the status says was allocated: pods that were made
from one template share it, and a pod keeps it from one state to the next.

Mirrors: the parsed parts of PodInfo in pkg/scheduler/framework/types.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakValueDictionary

import msgspec
import orjson

from schedlab.api.rules.ports import HostPort, host_ports
from schedlab.api.rules.requests import NonZeroRequest, is_resize_infeasible, non_zero_request, pod_requests
from schedlab.api.rules.templates import template_key
from schedlab.apimachinery.selectors import Selector, selector_from_view
from schedlab.scheduler.framework.amounts import Resource
from schedlab.scheduler.framework.helpers.lazy import lazy

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.views.core import Pod, PodAffinityTerm, WeightedPodAffinityTerm

_SHARED_MAX: Final = 1024
#: So many kinds of pods with the same facts are remembered.
_KINDS_MAX: Final = 4
_shared: dict[tuple[bytes, str], PodFacts] = {}


class LabelledPod(Protocol):
    """A pod as selectors see it."""

    @property
    def namespace(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """A pod affinity term, parsed; `namespaces` are explicit ones, the selector picks more by their labels."""

    namespaces: tuple[str, ...]
    selector: Selector
    topology_key: str
    namespace_selector: Selector
    weight: int = 0

    def matches(self, pod: LabelledPod, namespace_labels: Mapping[str, str] | None) -> bool:
        """Whether `pod` is one the term speaks of; labels of the pod's namespace, None when it is unknown."""
        if pod.namespace in self.namespaces or self.namespace_selector.matches(namespace_labels or {}):
            return self.selector.matches(pod.labels)
        return False


class TermKind(Enum):
    """What a pod on a node wants of others."""

    REQUIRED = "required affinity"
    REQUIRED_ANTI = "required anti-affinity"
    PREFERRED = "preferred affinity"
    PREFERRED_ANTI = "preferred anti-affinity"


class KnownTerm:
    """A term and what kind it is; there is one object for all pods that have it, so that it can be counted by."""

    __slots__ = ("__weakref__", "kind", "term")

    def __init__(self, kind: TermKind, term: AffinityTerm) -> None:
        self.kind, self.term = kind, term


class PodKind:
    """Pods that no query for pods tells apart: namespace, labels, whether terminating; one object for all of them."""

    __slots__ = ("__weakref__", "labels", "namespace", "terminating")

    def __init__(self, namespace: str, labels: Mapping[str, str], *, terminating: bool) -> None:
        self.namespace, self.labels, self.terminating = namespace, labels, terminating


_known_terms: WeakValueDictionary[tuple[TermKind, AffinityTerm], KnownTerm] = WeakValueDictionary()
_kinds: WeakValueDictionary[tuple[str, bool, tuple[tuple[str, str], ...]], PodKind] = WeakValueDictionary()


def kind_of(namespace: str, labels: Mapping[str, str], *, terminating: bool) -> PodKind:
    """Return the kind of such pods."""
    key = namespace, terminating, tuple(sorted(labels.items()))
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = PodKind(namespace, dict(labels), terminating=terminating)
    return found


def _known(kind: TermKind, term: AffinityTerm) -> KnownTerm:
    found = _known_terms.get((kind, term))
    if found is None:
        found = _known_terms[kind, term] = KnownTerm(kind, term)
    return found


def _term(namespace: str, term: PodAffinityTerm, weight: int = 0) -> AffinityTerm:
    names = tuple(term.namespaces)
    if not names and term.namespace_selector is None:
        names = (namespace,)
    return AffinityTerm(
        names,
        selector_from_view(term.label_selector),
        term.topology_key,
        selector_from_view(term.namespace_selector),
        weight,
    )


def _terms(namespace: str, terms: Iterable[PodAffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(_term(namespace, term) for term in terms)


def _weighted(namespace: str, terms: Iterable[WeightedPodAffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(_term(namespace, term.pod_affinity_term, term.weight) for term in terms)


class PodFacts:
    """What is asked for more than once of pods with this namespace, spec and allocation."""

    def __init__(self, pod: Pod, stored: StoredObject | None) -> None:
        self._pod = pod
        self._stored = stored
        self._namespace = pod.metadata.namespace
        self._kinds: tuple[PodKind, ...] = ()

    def kind(self, labels: Mapping[str, str], *, terminating: bool) -> PodKind:
        """Return the kind of a pod with these labels; pods with the same facts are mostly of few kinds.

        Binding gives a pod labels of its node, so that it is of one kind before and of another one afterwards.
        """
        for known in self._kinds:
            if known.terminating == terminating and known.labels == labels:
                return known
        found = kind_of(self._namespace, labels, terminating=terminating)
        self._kinds = (found, *self._kinds[: _KINDS_MAX - 1])
        return found

    @lazy
    def requests(self) -> dict[str, int]:
        """What the pod asks of a node, by resource name; cpu in milli."""
        return pod_requests(self._pod)

    @lazy
    def request(self) -> Resource:
        """The same as a Resource."""
        return Resource.of(self.requests)

    @lazy
    def non_zero_request(self) -> NonZeroRequest:
        """(milli cpu, memory) with upstream's defaults for containers that ask for nothing; used by scoring."""
        return non_zero_request(self._pod)

    @lazy
    def required_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod affinity, parsed."""
        affinity = self._pod.spec.affinity and self._pod.spec.affinity.pod_affinity
        return _terms(self._namespace, affinity.required_during_scheduling_ignored_during_execution) if affinity else ()

    @lazy
    def required_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Required pod anti-affinity, parsed."""
        anti = self._pod.spec.affinity and self._pod.spec.affinity.pod_anti_affinity
        return _terms(self._namespace, anti.required_during_scheduling_ignored_during_execution) if anti else ()

    @lazy
    def preferred_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod affinity, parsed, with weights."""
        affinity = self._pod.spec.affinity and self._pod.spec.affinity.pod_affinity
        return (
            _weighted(self._namespace, affinity.preferred_during_scheduling_ignored_during_execution)
            if affinity
            else ()
        )

    @lazy
    def preferred_anti_affinity_terms(self) -> tuple[AffinityTerm, ...]:
        """Preferred pod anti-affinity, parsed, with weights."""
        anti = self._pod.spec.affinity and self._pod.spec.affinity.pod_anti_affinity
        return _weighted(self._namespace, anti.preferred_during_scheduling_ignored_during_execution) if anti else ()

    @lazy
    def known_terms(self) -> tuple[KnownTerm, ...]:
        """All of these terms, to count them by; one that the pod has twice is there twice."""
        if not self.has_affinity:
            return ()
        by_kind = {
            TermKind.REQUIRED: self.required_affinity_terms,
            TermKind.REQUIRED_ANTI: self.required_anti_affinity_terms,
            TermKind.PREFERRED: self.preferred_affinity_terms,
            TermKind.PREFERRED_ANTI: self.preferred_anti_affinity_terms,
        }
        return tuple(_known(kind, term) for kind, terms in by_kind.items() for term in terms)

    @lazy
    def has_affinity(self) -> bool:
        """Whether the pod has any pod affinity or anti-affinity (upstream's PodsWithAffinity)."""
        affinity = self._pod.spec.affinity
        return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)

    @lazy
    def host_ports(self) -> tuple[HostPort, ...]:
        """What the pod takes on its node."""
        return host_ports(self._pod)

    @lazy
    def named_claim_keys(self) -> tuple[str, ...]:
        """namespace/name of the persistent volume claims the pod names itself."""
        sources = (volume.persistent_volume_claim for volume in self._pod.spec.volumes)
        return tuple(f"{self._namespace}/{source.claim_name}" for source in sources if source is not None)

    @lazy
    def volume_sources(self) -> tuple[str, ...]:
        """The sources of all volumes but config maps and secrets, as JSON, in an order of their own."""
        if not self._pod.spec.volumes:
            return ()
        # The typed view leaves out sources that do not constrain scheduling; pods without a stored object have no others.
        sources: Iterable[dict[str, Any]] = (
            (msgspec.to_builtins(volume) for volume in self._pod.spec.volumes)
            if self._stored is None
            else msgspec.json.decode(self._stored.json(), type=_WithVolumes).spec.volumes
        )
        texts = []
        for source in sources:
            source.pop("name", None)
            if "configMap" not in source and "secret" not in source:
                texts.append(orjson.dumps(source, option=orjson.OPT_SORT_KEYS).decode())
        return tuple(sorted(texts))


class _Volumes(msgspec.Struct):
    """spec of a pod, of which only the volumes are decoded, with every field."""

    volumes: list[dict[str, Any]] = []


class _WithVolumes(msgspec.Struct):
    """A pod, of which only the volumes are decoded."""

    spec: _Volumes


def facts_of(pod: Pod, stored: StoredObject | None) -> PodFacts:
    """Return the facts of a pod; pods that wait for a node share them when they were stored alike."""
    if stored is None or pod.spec.node_name:
        return PodFacts(pod, stored)
    key = template_key(stored.body), stored.namespace
    found = _shared.get(key)
    if found is None:
        if len(_shared) >= _SHARED_MAX:
            _shared.clear()
        found = _shared[key] = PodFacts(pod, stored)
    return found


def asks_the_same(one: Pod, other: Pod) -> bool:
    """Whether two states of a pod with equal specs ask for the same, whatever their statuses say."""
    mine, theirs = one.status, other.status
    if (mine.conditions and is_resize_infeasible(one)) or (theirs.conditions and is_resize_infeasible(other)):
        return False
    if mine.allocated_resources != theirs.allocated_resources or mine.resources != theirs.resources:
        return False
    if (
        mine.container_statuses == theirs.container_statuses
        and mine.init_container_statuses == theirs.init_container_statuses
    ):
        return True
    return _applies_its_spec(one) and _applies_its_spec(other)


def _applies_its_spec(pod: Pod) -> bool:
    """Whether every container has been given exactly what the spec asks for, or nothing is known yet."""
    status, spec = pod.status, pod.spec
    statuses = (*status.container_statuses, *status.init_container_statuses)
    if not statuses:
        return True
    asked = {container.name: container.resources.requests for container in (*spec.containers, *spec.init_containers)}
    return all(
        (each.resources is None or each.resources.requests == asked.get(each.name))
        and (not each.allocated_resources or each.allocated_resources == asked.get(each.name))
        for each in statuses
    )
