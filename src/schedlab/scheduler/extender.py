"""HTTP extenders: what is asked of them and what their answers mean.

Nothing is sent from here. A request is a value; the runtime has it carried out (a `CallEffect`) and hands the answer to
the method that reads it.

Mirrors: pkg/scheduler/extender.go and staging/src/k8s.io/kube-scheduler/extender/v1/types.go (v1.36).
Differs: the answer to a filter call names nodes of the request, also when it comes as a node list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

from schedlab.api.views.core import Node
from schedlab.client.effects import CallEffect, CallOutcome
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config import types as config
from schedlab.scheduler.extender_answers import read_binding, read_filter, read_preemption, read_scores
from schedlab.scheduler.framework.interface import ExtenderAnswer, ExtenderRequest, Victims
from schedlab.scheduler.framework.status import Status, error
from schedlab.scheduler.framework.types import MAX_NODE_SCORE

if TYPE_CHECKING:
    from schedlab.client.listers import Lister
    from schedlab.scheduler.framework.node_table import NodeTable
    from schedlab.scheduler.framework.types import NodeInfo, PodInfo

DEFAULT_TIMEOUT_NS: Final = 5 * SECOND_NS
MAX_EXTENDER_PRIORITY: Final = 10


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Nodes an extender leaves, in its order, and those it turned down with its words.

    `objects` are the nodes as the extender sent them back, None when it sent names.
    """

    nodes: tuple[str, ...]
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    objects: tuple[Node, ...] | None = None


class HTTPExtender:
    """One configured extender; see framework.Extender."""

    def __init__(self, settings: config.Extender, nodes: Lister) -> None:
        self.name = settings.url_prefix
        self.ignorable = settings.ignorable
        self.weight = settings.weight
        self.settings = settings
        self.is_filter = bool(settings.filter_verb)
        self.is_prioritizer = bool(settings.prioritize_verb)
        self.is_binder = bool(settings.bind_verb)
        self.supports_preemption = bool(settings.preempt_verb)
        self._managed = {resource.name: None for resource in settings.managed_resources}
        self._nodes = nodes

    def is_interested(self, pod: PodInfo) -> bool:
        """See framework.Extender."""
        if not self._managed:
            return True
        spec = pod.pod.spec
        return any(
            name in self._managed
            for container in (*spec.containers, *spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
            for name in amounts
        )

    # --- Filter and prioritize ---

    def filter_request(self, pod: PodInfo, nodes: Sequence[str]) -> ExtenderRequest:
        """Ask which of the nodes suit the pod."""
        return ExtenderRequest(self, self.settings.filter_verb, self._args(pod, nodes))

    def filter_result(self, answer: ExtenderAnswer, asked: Sequence[str]) -> FilterResult | str:
        """Read the answer; a text is an error."""
        if answer.error:
            return answer.error
        result = read_filter(answer.result)
        if isinstance(result, str):
            return result
        if result.error:
            return result.error
        left: tuple[str, ...] = ()
        objects: tuple[Node, ...] | None = None
        if self.settings.node_cache_capable and result.node_names is not None:
            left = result.node_names
            known = frozenset(asked)
            for name in left:
                if name not in known:
                    return (
                        f'extender "{self.name}" claims a filtered node "{name}" '
                        "which is not found in the input node list"
                    )
        elif result.nodes is not None:
            objects = result.nodes.items
            left = tuple(node.metadata.name for node in objects)
        return FilterResult(left, result.failed_nodes, result.failed_and_unresolvable_nodes, objects)

    def prioritize_request(self, pod: PodInfo, nodes: Sequence[str]) -> ExtenderRequest:
        """Ask for a score of each node."""
        return ExtenderRequest(self, self.settings.prioritize_verb, self._args(pod, nodes))

    def prioritize_result(self, answer: ExtenderAnswer) -> list[tuple[str, int]] | str:
        """Read the answer: (node, score) pairs; a text is an error."""
        if answer.error:
            return answer.error
        scores = read_scores(answer.result)
        return scores if isinstance(scores, str) else [(each.host, each.score) for each in scores]

    def _args(self, pod: PodInfo, nodes: Sequence[str]) -> dict[str, Any]:
        if self.settings.node_cache_capable:
            return {"Pod": pod_body(pod), "Nodes": None, "NodeNames": list(nodes)}
        items = [self._node_body(name) for name in nodes]
        return {"Pod": pod_body(pod), "Nodes": {"metadata": {}, "items": items}, "NodeNames": None}

    def _node_body(self, name: str) -> Any:
        stored = self._nodes.stored(name)
        return {"metadata": {"name": name}} if stored is None else _without_type(stored.raw)

    # --- Preemption ---

    def preemption_request(self, pod: PodInfo, victims: Mapping[str, Victims]) -> ExtenderRequest:
        """See framework.Extender."""
        body: dict[str, Any] = {"Pod": pod_body(pod), "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self.settings.node_cache_capable:
            body["NodeNameToMetaVictims"] = {
                node: {"Pods": [{"UID": victim.uid} for victim in each.pods], "NumPDBViolations": each.pdb_violations}
                for node, each in victims.items()
            }
        else:
            body["NodeNameToVictims"] = {
                node: {"Pods": [pod_body(victim) for victim in each.pods], "NumPDBViolations": each.pdb_violations}
                for node, each in victims.items()
            }
        return ExtenderRequest(self, self.settings.preempt_verb, body)

    def preemption_result(self, answer: ExtenderAnswer, table: NodeTable) -> dict[str, Victims] | Status:
        """See framework.Extender."""
        if answer.error:
            return error(answer.error)
        result = read_preemption(answer.result)
        if isinstance(result, str):
            return error(result)
        found: dict[str, Victims] = {}
        for node, victims in result.node_name_to_meta_victims.items():
            row = table.row_of.get(node)
            if row is None:
                return error(f'nodeinfo not found for node name "{node}"')
            info = table.infos[row]
            pods = []
            for victim in victims.pods:
                pod = _find_pod(info, victim.uid)
                if pod is None:
                    return error(
                        f"extender: {self.name} claims to preempt pod (UID: &{{{victim.uid}}}) "
                        f"on node: {node}, but the pod is not found on that node"
                    )
                pods.append(pod)
            found[node] = Victims(tuple(pods), victims.pdb_violations)
        return found

    # --- Bind ---

    def bind_request(self, pod: PodInfo, node_name: str) -> ExtenderRequest:
        """Ask the extender to bind the pod."""
        body = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        return ExtenderRequest(self, self.settings.bind_verb, body)

    def bind_result(self, answer: ExtenderAnswer) -> str:
        """Read the answer: "" or an error."""
        if answer.error:
            return answer.error
        result = read_binding(answer.result)
        return result if isinstance(result, str) else result.error


def _find_pod(info: NodeInfo, uid: str) -> PodInfo | None:
    return next((pod for pod in info.pods if pod.uid == uid), None)


def pod_body(pod: PodInfo) -> Any:
    """Return the pod as an extender gets it: without managed fields."""
    if pod.stored is None:
        return {"metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}}
    body = _without_type(pod.stored.raw)
    if "managedFields" in body["metadata"]:
        body["metadata"] = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    return body


def _without_type(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key not in {"kind", "apiVersion"}}


# --- Requests as effects ---


def call_effect(request: ExtenderRequest, token: Any) -> CallEffect:
    """Return the effect that carries a request out."""
    extender = request.extender
    assert isinstance(extender, HTTPExtender)
    settings = extender.settings
    timeout = settings.http_timeout or DEFAULT_TIMEOUT_NS
    return CallEffect(token, call_url(request), orjson.dumps(request.body), timeout, _tls(settings))


def direct_call(extender: HTTPExtender, verb: str, body: bytes) -> CallEffect:
    """Return the effect that asks an extender past the scheduler; `verb` is filter, prioritize, preempt or bind.

    Raises ValueError when the extender does not have it.
    """
    settings = extender.settings
    path = getattr(settings, f"{verb}_verb")
    if not path:
        raise ValueError(f"the extender {extender.name} has no {verb}Verb")
    url = f"{extender.name.rstrip('/')}/{path}"
    return CallEffect(None, url, body, settings.http_timeout or DEFAULT_TIMEOUT_NS, _tls(settings))


def _tls(settings: config.Extender) -> config.ExtenderTLSConfig | None:
    """Return how to talk TLS; with HTTPS switched on and no authority given the server is not verified."""
    given = settings.tls_config
    if not settings.enable_https or (given is not None and (given.ca_file or given.ca_data)):
        return given
    given = config.ExtenderTLSConfig() if given is None else msgspec.structs.replace(given)
    given.insecure = True
    return given


def call_url(request: ExtenderRequest) -> str:
    """Return where a request goes."""
    return f"{request.extender.name.rstrip('/')}/{request.verb}"


def read_answer(request: ExtenderRequest, outcome: CallOutcome) -> ExtenderAnswer:
    """Decode what came back, or say what went wrong in upstream's words."""
    if outcome.error:
        return ExtenderAnswer(error=f'Post "{call_url(request)}": {outcome.error}')
    if outcome.status != 200:
        return ExtenderAnswer(
            error=f"failed {request.verb} with extender at URL {call_url(request)}, code {outcome.status}"
        )
    try:
        return ExtenderAnswer(orjson.loads(outcome.body))
    except orjson.JSONDecodeError as wrong:
        return ExtenderAnswer(error=str(wrong) if outcome.body else "EOF")


def add_score(total: int, score: int, weight: int) -> int:
    """Return a node's total with an extender's score, scaled to those of plugins; sums are of 64 bits, as upstream's."""
    total += score * weight * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    return (total + 2**63) % 2**64 - 2**63


def build_extenders(settings: Sequence[config.Extender], nodes: Lister) -> tuple[HTTPExtender, ...]:
    """Return the extenders in the order in which they are asked: ignorable ones last."""
    extenders = [HTTPExtender(each, nodes) for each in settings]
    return (*(e for e in extenders if not e.ignorable), *(e for e in extenders if e.ignorable))


def ignored_resources(settings: Sequence[config.Extender]) -> list[str]:
    """Return the extended resources that the scheduler leaves to extenders."""
    return [resource.name for each in settings for resource in each.managed_resources if resource.ignored_by_scheduler]
