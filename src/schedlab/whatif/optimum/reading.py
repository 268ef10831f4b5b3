"""A cluster read as a problem: which of its pods could be elsewhere, and what the filters of their profiles demand.

Pods of DaemonSets and of nodes stay and make no node a used one; pods of other schedulers and those on their way out stay
and hold their nodes. A pod may always be where it is: a node that has too little now has as much as is used of it, and a
demand that the cluster as it is does not meet is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from schedlab.api.rules.declared_features import required_features
from schedlab.api.rules.ports import conflicts
from schedlab.api.views.core import Volume
from schedlab.scheduler.framework.interface import CycleState
from schedlab.scheduler.framework.status import Code
from schedlab.scheduler.plugins.inter_pod_affinity.terms import namespace_labels
from schedlab.whatif.capacity import waiting_pods
from schedlab.whatif.optimum.problem import Exclusion, Group, Problem, Spread
from schedlab.whatif.trial import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schedlab.cluster.cluster import Cluster
    from schedlab.scheduler.framework.pod_facts import AffinityTerm
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.plugins.pod_topology_spread.constraints import Constraint

#: Filters whose verdicts do not depend on other pods: they are asked as they are.
_OF_NODES: Final = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity")
_FIT, _PORTS, _SPREAD, _AFFINITY = "NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity"
_KNOWN: Final = (*_OF_NODES, _FIT, _PORTS, _SPREAD, _AFFINITY)
#: Filters that are left out, which is said of pods for which they matter.
_OF_OTHERS: Final = (
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
#: What is modelled, in the words of the answer.
MODELLED: Final = (
    "requests of every resource and the number of pods",
    "node names, selectors and affinity, taints, cordons",
    "host ports",
    "required pod anti-affinity",
    "hard spread constraints",
)
_UNCOUNTED: Final = ("DaemonSet", "Node")
_Requests: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _SpreadKey:
    """A constraint as pods of one kind have it: the same selector, over the same nodes. counted: bool[N] as bytes."""

    namespace: str
    constraint: Constraint
    counted: bytes


@dataclass(slots=True)
class _Kind:
    """Pods of one group, as they are read. checked: whether NodeResourcesFit looks at them."""

    pod: PodInfo
    requests: _Requests
    checked: bool
    terms: tuple[AffinityTerm, ...]
    spreads: tuple[_SpreadKey, ...]
    pods: list[str] = field(default_factory=list)
    now: Counter[int] = field(default_factory=Counter)
    waiting: int = 0


def read_problem(cluster: Cluster) -> Problem:
    """Return the problem of a cluster as it is now."""
    trial = Trial.of(cluster)
    trial.scheduler.cache.refresh()
    return _Reading(trial).problem()


class _Reading:
    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._table = trial.scheduler.cache.table
        self._namespaces = trial.listers.lister("namespaces")
        placed = [pod for pod in trial.scheduler.cache.pods() if pod.pod.spec.node_name in self._table.row_of]
        waiting = [pod for pod in waiting_pods(trial) if not pod.pod.spec.scheduling_gates]
        self._still = [pod for pod in placed if self._stays(pod)]
        moving = [pod for pod in placed if not self._stays(pod)] + waiting
        #: Every term and constraint that any pod has.
        self._terms: dict[AffinityTerm, int] = {}
        self._spreads: dict[_SpreadKey, None] = {}
        self._left_out: dict[str, None] = {}
        self._masks: dict[Any, NDArray[np.bool_]] = {}
        self._spoken_of: dict[Any, tuple[int, ...]] = {}
        for pod in (*self._still, *moving):
            for term in pod.required_anti_affinity_terms:
                self._terms.setdefault(term, len(self._terms))
        self._kinds = self._grouped(moving)

    def _stays(self, pod: PodInfo) -> bool:
        return pod.terminating or _owner(pod) in _UNCOUNTED or pod.pod.spec.scheduler_name not in self._profiles

    @property
    def _profiles(self) -> Mapping[str, Any]:
        return self._trial.scheduler.profiles

    def _plugin(self, pod: PodInfo, name: str) -> Any | None:
        """Return a filter of the pod's profile that can be modelled, None when that does not have it.

        One with hooks around it may say something else; it has no signature.
        """
        filters = self._profiles[pod.pod.spec.scheduler_name].filter_plugins
        known = (plugin for plugin in filters if plugin.name == name and name in _KNOWN)
        return next((plugin for plugin in known if hasattr(plugin, "sign_pod")), None)

    # --- Groups ------------------------------------------------------------------------------------------------------

    def _grouped(self, moving: Iterable[PodInfo]) -> list[_Kind]:
        found: dict[Any, _Kind] = {}
        for pod in moving:
            self._note_left_out(pod)
            fit = self._plugin(pod, _FIT)
            requests = () if fit is None else self._requests(fit, pod)
            terms = pod.required_anti_affinity_terms if self._plugin(pod, _AFFINITY) is not None else ()
            spreads = self._spreads_of(pod)
            key = (
                pod.pod.spec.scheduler_name,
                requests,
                _asked_of_nodes(pod),
                pod.host_ports,
                tuple(self._terms[term] for term in terms),
                spreads,
                self._speaks_of(pod),
                pod.namespace if self._spreads else "",
                tuple(sorted(pod.labels.items())) if self._spreads else (),
            )
            kind = found.get(key)
            if kind is None:
                kind = found[key] = _Kind(pod, requests, fit is not None, terms, spreads)
            kind.pods.append(pod.key)
            if pod.pod.spec.node_name:
                kind.now[self._table.row_of[pod.pod.spec.node_name]] += 1
            else:
                kind.waiting += 1
        return list(found.values())

    def _requests(self, fit: Any, pod: PodInfo) -> _Requests:
        asked: _Requests = fit.judged_requests(pod)
        found = tuple(each for each in asked if not fit.is_for_devices(each[0]))
        if found != asked:
            self._left_out["devices"] = None
        return found

    def _note_left_out(self, pod: PodInfo) -> None:
        if pod.required_affinity_terms:
            self._left_out["required pod affinity"] = None
        if any(volume != Volume(name=volume.name, image=volume.image) for volume in pod.pod.spec.volumes):
            self._left_out["volumes"] = None
        if pod.pod.spec.resource_claims:
            self._left_out["devices"] = None
        if required_features(pod.pod.spec):
            self._left_out["features that nodes declare"] = None
        if self._trial.scheduler.extenders:
            self._left_out["extenders"] = None
        for plugin in self._profiles[pod.pod.spec.scheduler_name].filter_plugins:
            if plugin.name not in _OF_OTHERS and self._plugin(pod, plugin.name) is None:
                self._left_out[f"the filter {plugin.name}"] = None

    def _spreads_of(self, pod: PodInfo) -> tuple[_SpreadKey, ...]:
        plugin = self._plugin(pod, _SPREAD)
        counted = () if plugin is None else plugin.counted_nodes(pod, self._table)
        found = tuple(_SpreadKey(pod.namespace, one, nodes.tobytes()) for one, nodes in counted)
        self._spreads |= dict.fromkeys(found)
        return found

    def _speaks_of(self, pod: PodInfo) -> tuple[int, ...]:
        """Return the anti-affinity terms that speak of a pod."""
        key = pod.namespace, tuple(sorted(pod.labels.items()))
        found = self._spoken_of.get(key)
        if found is None:
            labels = namespace_labels(pod.namespace, self._namespaces)
            found = tuple(number for term, number in self._terms.items() if term.matches(pod, labels))
            self._spoken_of[key] = found
        return found

    # --- Where pods may be -------------------------------------------------------------------------------------------

    def _allowed(self, kind: _Kind) -> NDArray[np.bool_]:
        key = kind.pod.pod.spec.scheduler_name, _asked_of_nodes(kind.pod)
        mask = self._masks.get(key)
        if mask is None:
            mask = self._masks[key] = self._asked(kind.pod.on_node(""))
        allowed = mask.copy()
        for one in kind.spreads:
            allowed &= self._table.label(one.constraint.topology_key).ids >= 0
        for other in self._still:
            self._keep_away(allowed, kind, other)
        allowed[list(kind.now)] = True
        return allowed

    def _asked(self, pod: PodInfo) -> NDArray[np.bool_]:
        """Return bool[N]: what filters say that do not look at other pods."""
        allowed = np.ones(len(self._table), np.bool_)
        for name in _OF_NODES:
            plugin, state = self._plugin(pod, name), CycleState()
            if plugin is None:
                continue
            if hasattr(plugin, "pre_filter"):
                result, status = plugin.pre_filter(state, pod, self._table)
                if status is not None and status.code == Code.SKIP:
                    continue
                if status is not None and status.code != Code.SUCCESS:
                    return np.zeros(len(self._table), np.bool_)
                if result is not None and result.node_names is not None:
                    allowed &= np.isin(self._table.names, result.node_names)
            allowed &= plugin.filter_nodes(state, pod, self._table, slice(None)).code == 0
        return allowed

    def _keep_away(self, allowed: NDArray[np.bool_], kind: _Kind, other: PodInfo) -> None:
        """Take out nodes where a pod that stays is in the way."""
        row = self._table.row_of[other.pod.spec.node_name]
        if self._plugin(kind.pod, _PORTS) is not None and _share_a_port(kind.pod, other):
            allowed[row] = False
        if self._plugin(kind.pod, _AFFINITY) is None:
            return
        mine, theirs = self._speaks_of(kind.pod), self._speaks_of(other)
        between = [term for term in kind.terms if self._terms[term] in theirs]
        between += [term for term in other.required_anti_affinity_terms if self._terms[term] in mine]
        for term in between:
            domains = self._domains(term.topology_key)
            allowed[(domains == domains[row]) & (domains >= 0)] = False

    def _domains(self, key: str) -> NDArray[np.int64]:
        return self._table.label(key).ids.astype(np.int64)

    # --- The whole ---------------------------------------------------------------------------------------------------

    def problem(self) -> Problem:
        kinds, table = self._kinds, self._table
        names = dict.fromkeys(name for kind in kinds for name, _ in kind.requests)
        held = np.zeros(len(table), np.bool_)
        held[[table.row_of[pod.pod.spec.node_name] for pod in self._still if _owner(pod) not in _UNCOUNTED]] = True
        requests = [[*(dict(kind.requests).get(name, 0) for name in names), int(kind.checked)] for kind in kinds]
        groups = [
            Group(kind.pods, asked, self._allowed(kind), kind.now, kind.waiting)
            for kind, asked in zip(kinds, requests, strict=True)
        ]
        return Problem(
            list(table.names),
            [*names, "pods"],
            self._capacity([*names], groups),
            held,
            len(self._still),
            groups,
            [one for one in self._exclusions() if self._holds_now(one, groups)],
            [*self._modelled_spreads(groups)],
            [*self._left_out],
        )

    def _capacity(self, names: list[str], groups: list[Group]) -> NDArray[np.int64]:
        table = self._table
        capacity = np.zeros((len(names) + 1, len(table)), np.int64)
        for place, name in enumerate(names):
            index = table.resource_index(name)
            capacity[place] = table.allocatable[index] if index >= 0 else 0
        capacity[-1] = table.allowed_pods
        for pod in self._still:
            row = table.row_of[pod.pod.spec.node_name]
            capacity[:, row] -= [*(pod.requests.get(name, 0) for name in names), 1]
        taken = np.zeros_like(capacity)
        for group in groups:
            for row, count in group.now.items():
                taken[:, row] += np.array(group.requests, np.int64) * count
        return np.maximum(capacity, taken)

    def _exclusions(self) -> Iterator[Exclusion]:
        kinds = self._kinds
        every_node = np.arange(len(self._table), dtype=np.int64)
        spoken_of = [self._speaks_of(kind.pod) if self._plugin(kind.pod, _AFFINITY) else () for kind in kinds]
        found: dict[tuple[str, int, int], None] = {}
        for one, kind in enumerate(kinds):
            for term in kind.terms:
                for other, spoken in enumerate(spoken_of):
                    if self._terms[term] in spoken:
                        found[term.topology_key, min(one, other), max(one, other)] = None
            for other in range(one, len(kinds)) if kind.pod.host_ports else ():
                checked = self._plugin(kind.pod, _PORTS) and self._plugin(kinds[other].pod, _PORTS)
                if checked and _share_a_port(kind.pod, kinds[other].pod):
                    yield Exclusion(one, other, every_node)
        for key, one, other in found:
            yield Exclusion(one, other, self._domains(key))

    def _holds_now(self, exclusion: Exclusion, groups: list[Group]) -> bool:
        counts = [
            Counter(int(exclusion.domains[row]) for row, count in groups[place].now.items() for _ in range(count))
            for place in (exclusion.one, exclusion.other)
        ]
        if exclusion.one == exclusion.other:
            broken = any(count > 1 for domain, count in counts[0].items() if domain >= 0)
        else:
            broken = any(domain in counts[1] for domain in counts[0] if domain >= 0)
        if broken:
            self._left_out["anti-affinity and host ports that pods do not keep now"] = None
        return not broken

    def _modelled_spreads(self, groups: list[Group]) -> Iterator[Spread]:
        """Yield the constraints of which the skew is a bound at the end: all pods that they count have them."""
        for key in self._spreads:
            owners = [place for place, kind in enumerate(self._kinds) if key in kind.spreads]
            counted = np.frombuffer(key.counted, np.bool_)
            domains = np.where(counted, self._domains(key.constraint.topology_key), -1)
            spread = Spread(owners, domains, key.constraint.max_skew, _number(domains) < key.constraint.min_domains)
            if not self._counts_only(key, owners) or not all(counted[groups[one].allowed].all() for one in owners):
                self._left_out["spread constraints that count pods or leave out nodes of other kinds"] = None
            elif _skew(spread, groups) > spread.skew:
                self._left_out["spread constraints that pods do not keep now"] = None
            else:
                yield spread

    def _counts_only(self, key: _SpreadKey, owners: list[int]) -> bool:
        """Whether a constraint counts all pods that have it, and no others."""
        selector = key.constraint.selector
        if any(pod.namespace == key.namespace and selector.matches(pod.labels) for pod in self._still):
            return False
        return all(
            (kind.pod.namespace == key.namespace and selector.matches(kind.pod.labels)) == (place in owners)
            for place, kind in enumerate(self._kinds)
        )


def _owner(pod: PodInfo) -> str:
    owner = pod.pod.metadata.controller()
    return "" if owner is None else owner.kind


def _asked_of_nodes(pod: PodInfo) -> tuple[Any, ...]:
    """Return what makes two pods the same for filters that do not look at other pods."""
    spec = pod.pod.spec
    affinity = spec.affinity and spec.affinity.node_affinity
    return tuple(sorted(spec.node_selector.items())), repr(affinity), repr(spec.tolerations)


def _share_a_port(one: PodInfo, other: PodInfo) -> bool:
    return any(conflicts(mine, theirs) for mine in one.host_ports for theirs in other.host_ports)


def _number(domains: NDArray[np.int64]) -> int:
    return len(np.unique(domains[domains >= 0]))


def _skew(spread: Spread, groups: list[Group]) -> int:
    """Return by how much domains differ now."""
    counts = dict.fromkeys(spread.domains[spread.domains >= 0].tolist(), 0)
    for place in spread.groups:
        for row, count in groups[place].now.items():
            counts[int(spread.domains[row])] += count
    return max(counts.values(), default=0) - (0 if spread.from_zero else min(counts.values(), default=0))
