"""The numbers and names of filter facts, worked out again from manifests alone: one pass over everything, no columns, no sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from tests.support import plain_storage_facts
from tests.support.plain_manifests import (
    Facts,
    HostPort,
    Json,
    Sight,
    in_error,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    number,
    requests_of,
    requirement_met,
    requirement_text,
    requirements,
    selector_text,
    selects,
    shown,
    spec_of,
    sum_of,
    taint_text,
    term_met,
    term_text,
    tolerates,
    wanted_node,
    written,
)

NAMED_MAX = 3
_LIMITED = ("NoSchedule", "NoExecute")
_TAINT_OF_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def check(sight: Sight, node: Json, plugin: str, facts: Facts) -> None:
    """Assert that every number and name of a plugin's facts about a node is true; all plugins are known."""
    _CHECKS[plugin](sight, node, facts)


# --- Plugins that look at one node ------------------------------------------------------------------------------------


def _node_name(sight: Sight, node: Json, facts: Facts) -> None:
    wanted = spec_of(sight.pod).get("nodeName") or ""
    text = f"the pod asks for node {wanted}, this is {name_of(node)}" if wanted else "the pod asks for no certain node"
    (fact,) = facts
    shown(fact, text, wanted in ("", name_of(node)), nodeName=wanted)


def _node_unschedulable(sight: Sight, node: Json, facts: Facts) -> None:
    (fact,) = facts
    tolerated = tolerates(sight.pod, _TAINT_OF_CORDON)
    if not spec_of(node).get("unschedulable"):
        shown(fact, "the node is not cordoned", fits=True, unschedulable=False, tolerated=tolerated)
        return
    how = "tolerates" if tolerated else "does not tolerate"
    text = f"the node is cordoned, and the pod {how} node.kubernetes.io/unschedulable:NoSchedule"
    shown(fact, text, tolerated, unschedulable=True, tolerated=tolerated)


def _taints(sight: Sight, node: Json, facts: Facts) -> None:
    there = [taint for taint in spec_of(node).get("taints") or () if taint["effect"] in _LIMITED]
    if not there:
        (fact,) = facts
        shown(fact, "the node has no taint that keeps pods away", fits=True)
        return
    for taint, fact in zip(there, facts, strict=True):
        fine, text = tolerates(sight.pod, taint), taint_text(taint)
        shown(fact, f"taint {text} is {'tolerated' if fine else 'not tolerated'}", fine, taint=text, tolerated=fine)


def _node_affinity(sight: Sight, node: Json, facts: Facts) -> None:
    rest, labels, spec = list(facts), labels_of(node), spec_of(sight.pod)
    if rest and rest[0]["text"].startswith("the profile's affinity"):
        del rest[0]
    for key, value in sorted((spec.get("nodeSelector") or {}).items()):
        has = labels.get(key)
        there = f"no label {key}" if has is None else f"{key}={has}"
        text = f"selector {key}={value}, the node has {there}"
        shown(rest.pop(0), text, has == value, selector=f"{key}={value}", has=has)
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is None:
        assert not rest
        return
    (fact,) = rest
    # A term that asks for nothing matches no node, and is left out.
    terms = [term for term in required.get("nodeSelectorTerms") or () if _asks(term)]
    met = next((term for term in terms if term_met(term, node)), None)
    if met is not None:
        shown(fact, f"node affinity {term_text(met)} is met", fits=True, term=term_text(met))
        return
    for term, told in zip(terms, fact["terms"], strict=True):
        assert told["term"] == ("a term in error" if in_error(term) else term_text(term))
        if not in_error(term):
            assert told["missing"] == list(_missing(term, node))
    missing = dict.fromkeys(text for told in fact["terms"] for text in told["missing"])
    wanted = " or ".join(f"({told['term']})" for told in fact["terms"]) or "nothing, which no node is"
    lacking = f": {'; '.join(missing)}" if missing else ""
    shown(fact, f"node affinity wants {wanted}{lacking}", fits=False, terms=fact["terms"])


def _asks(term: Json) -> bool:
    return bool(term.get("matchExpressions") or term.get("matchFields"))


def _missing(term: Json, node: Json) -> Iterator[str]:
    labels = labels_of(node)
    for each in requirements({"matchExpressions": term.get("matchExpressions")}):
        if not requirement_met(each, labels):
            key = each["key"]
            yield f"the node has {key}={labels[key]}" if key in labels else f"the node has no {key}"
    for each in term.get("matchFields") or ():
        if not requirement_met(each, {"metadata.name": name_of(node)}):
            yield f"the node is {name_of(node)}"


def host_ports(pod: Json) -> list[HostPort]:
    spec = spec_of(pod)
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in [*sidecars, *(spec.get("containers") or ())]
        for port in container.get("ports") or ()
        if port.get("hostPort", 0) > 0
    ]


def port_text(port: HostPort) -> str:
    address, protocol, wanted = port
    return f"{wanted}/{protocol}" if address == "0.0.0.0" else f"{address}:{wanted}/{protocol}"


def _ports(sight: Sight, node: Json, facts: Facts) -> None:
    told = {fact["port"]: fact for fact in facts}
    wanted = host_ports(sight.pod)
    assert set(told) == set(map(port_text, wanted))
    for port in wanted:
        fact = told[port_text(port)]
        holders = {
            (key_of(pod), port_text(used))
            for pod in sight.pods.get(name_of(node), ())
            for used in host_ports(pod)
            if used not in sight.returned.get(name_of(node), ())
            if used[1:] == port[1:] and (used[0] == port[0] or "0.0.0.0" in (used[0], port[0]))
        }
        if not holders:
            shown(fact, f"port {port_text(port)} is free", fits=True, port=port_text(port))
            continue
        assert (fact["heldBy"], fact["as"]) in holders
        as_what = "" if fact["as"] == port_text(port) else f" as {fact['as']}"
        text = f"port {port_text(port)} is held by {fact['heldBy']}{as_what}"
        shown(fact, text, fits=False, port=port_text(port), heldBy=fact["heldBy"], **{"as": fact["as"]})


def _resources(sight: Sight, node: Json, facts: Facts) -> None:
    status, there = node.get("status") or {}, sight.pods.get(name_of(node), ())
    allocatable = {name: number(text) for name, text in (status.get("allocatable") or {}).items()}
    requested = sum_of(map(requests_of, there))
    room, fits = int(allocatable.get("pods", 0)), len(there) < allocatable.get("pods", 0)
    text = f"{len(there)} of {room} pods are there{'' if fits else ', none may be added'}"
    shown(facts[0], text, fits, resource="pods", allocatable=room, requested=len(there))
    wanted = {name: amount for name, amount in requests_of(sight.pod).items() if amount}
    told = {fact["resource"]: fact for fact in facts[1:]}
    assert set(told) == set(wanted), (set(told), set(wanted))
    assert len(told) == len(facts) - 1
    for name, amount in wanted.items():
        if "free" not in told[name]:
            text = f"needs {name} {written(name, amount)}, which devices stand for"
            shown(told[name], text, fits=True, resource=name, needs=written(name, amount))
            continue
        most, taken = allocatable.get(name, Fraction(0)), requested.get(name, Fraction(0))
        amounts = {"needs": amount, "free": most - taken, "allocatable": most, "requested": taken}
        words = {what: written(name, each) for what, each in amounts.items()}
        text = (
            f"needs {name} {words['needs']}, free {words['free']} (allocatable {words['allocatable']}, "
            f"requested {words['requested']})"
        )
        if amount > most:
            text += "; even an empty node has too little"
        shown(told[name], text, amount <= most - taken, resource=name, **words)


def _features(_sight: Sight, node: Json, facts: Facts) -> None:
    declared = (node.get("status") or {}).get("declaredFeatures") or ()
    for fact in facts:
        feature, has = fact["feature"], fact["feature"] in declared
        text = f"needs the feature {feature}, which the node {'declares' if has else 'does not declare'}"
        shown(fact, text, has, feature=feature, declared=has)


# --- Plugins that look at pods everywhere -----------------------------------------------------------------------------


def hard_constraints(pod: Json) -> list[Json]:
    constraints = spec_of(pod).get("topologySpreadConstraints") or ()
    return [each for each in constraints if each["whenUnsatisfiable"] == "DoNotSchedule"]


def spread_selector(pod: Json, constraint: Json) -> Json | None:
    selector = constraint.get("labelSelector")
    more = [
        {"key": key, "operator": "=", "values": [labels_of(pod)[key]]}
        for key in constraint.get("matchLabelKeys") or ()
        if key in labels_of(pod)
    ]
    if selector is None or not more:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more]}


def _spread(sight: Sight, node: Json, facts: Facts) -> None:
    pod, constraints = sight.pod, hard_constraints(sight.pod)
    if not constraints:
        return  # They are the profile's: the manifests do not have them.
    for at, (constraint, fact) in enumerate(zip(constraints, facts, strict=True)):
        key, selector = constraint["topologyKey"], spread_selector(pod, constraint)
        counts = sight.once(f"spread {at}", partial(_domain_counts, sight, constraint, constraints))
        domains_min, most = constraint.get("minDomains") or 1, constraint["maxSkew"]
        minimum = 0 if len(counts) < domains_min else min(counts.values(), default=0)
        assert fact["domains"] == counts
        told = {"topologyKey": key, "maxSkew": most, "domains": counts, "minimum": minimum}
        told |= {"selector": fact["selector"]}
        if requirements(selector or {}):
            assert fact["selector"] == selector_text(selector)
        value = labels_of(node).get(key)
        if value is None:
            shown(fact, f"the node has no label {key}", fits=False, **told)
            continue
        count = counts.get(value, 0)
        after = count + selects(selector, labels_of(pod))
        skew = after - minimum
        fewest = [name for name in counts if counts[name] == minimum]
        named = [f"the fewest are {minimum} in {name}" for name in fewest] or [f"the fewest are {minimum}"]
        if len(counts) < domains_min:
            there = "is 1 domain" if len(counts) == 1 else f"are {len(counts)} domains"
            named = [f"the fewest count as 0 because there {there} and minDomains is {domains_min}"]
            told["minDomains"] = domains_min
        verdict = f"skew {skew} {'is within' if skew <= most else 'exceeds'} maxSkew {most}"
        texts = [
            f"{key}={value} has {count} matching pod{'s' * (count != 1)} and would have {after}, {least}: {verdict}"
            for least in named
        ]
        assert fact["text"] in texts
        told |= {"domain": value, "count": count, "countWithPod": after, "skew": skew}
        shown(fact, fact["text"], skew <= most, **told)


def _domain_counts(sight: Sight, constraint: Json, constraints: Sequence[Json]) -> dict[str, int]:
    """Return the matching pods of every domain that counts."""
    pod, key = sight.pod, constraint["topologyKey"]
    selector = spread_selector(pod, constraint)
    counts: dict[str, int] = {}
    for node in sight.nodes:
        if not _counts_for_spread(pod, constraint, constraints, node):
            continue
        domain = labels_of(node)[key]
        counts.setdefault(domain, 0)
        for other in sight.pods.get(name_of(node), ()) if requirements(selector or {}) else ():
            same = namespace_of(other) == namespace_of(pod) and not other["metadata"].get("deletionTimestamp")
            counts[domain] += same and selects(selector, labels_of(other))
    return counts


def _counts_for_spread(pod: Json, constraint: Json, constraints: Sequence[Json], node: Json) -> bool:
    if any(each["topologyKey"] not in labels_of(node) for each in constraints):
        return False
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not wanted_node(pod, node):
        return False
    taints = [taint for taint in spec_of(node).get("taints") or () if taint["effect"] in _LIMITED]
    return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or all(tolerates(pod, taint) for taint in taints)


def required_terms(pod: Json, kind: str) -> list[Json]:
    affinity = (spec_of(pod).get("affinity") or {}).get(kind) or {}
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def term_means(sight: Sight, owner: Json, term: Json, pod: Json) -> bool:
    """Whether a pod is one that a term of another one speaks of."""
    names = list(term.get("namespaces") or ())
    by_labels = term.get("namespaceSelector")
    is_there = namespace_of(pod) in (names or ([namespace_of(owner)] if by_labels is None else []))
    if not is_there and by_labels is not None:
        found = sight.find("namespaces", namespace_of(pod))
        is_there = selects(by_labels, {} if found is None else labels_of(found))
    # The API has merged the values of matchLabelKeys into the selector.
    return is_there and selects(term.get("labelSelector"), labels_of(pod))


def _pod_affinity(sight: Sight, node: Json, facts: Facts) -> None:
    rest = list(facts)
    _near(sight, node, rest)
    for at, term in enumerate(required_terms(sight.pod, "podAntiAffinity")):
        meant = sight.once(f"apart {at}", partial(_meant, sight, [term]))
        text = f"the pod's anti-affinity against {selector_text(term.get('labelSelector'))}"
        _apart(node, term, meant, text, "antiAffinity", rest.pop(0))
    placed = dict(sight.once("placed", partial(_placed_terms, sight)))
    for fact in rest:
        found = [
            (identity, term, meant)
            for identity, (term, meant) in placed.items()
            if fact["selector"] == selector_text(term.get("labelSelector"))
            and fact["topologyKey"] == term["topologyKey"]
        ]
        faults = []
        for identity, term, meant in found:
            text = f"their anti-affinity against {selector_text(term.get('labelSelector'))}"
            try:
                _apart(node, term, meant, text, "existingAntiAffinity", fact)
            except AssertionError as fault:
                faults.append(fault)
            else:
                del placed[identity]
                break
        else:
            raise AssertionError(fact, faults)
    assert not placed, placed


def _meant(sight: Sight, terms: Sequence[Json]) -> list[tuple[str, Json]]:
    """Return the placed pods that all of the pod's terms speak of, and where they are."""
    return [
        (key_of(other), where)
        for other, where in sight.placed
        if all(term_means(sight, sight.pod, term, other) for term in terms)
    ]


def _placed_terms(sight: Sight) -> dict[str, tuple[Json, list[tuple[str, Json]]]]:
    """Return the terms of placed pods that speak of the pod, and who has them where."""
    placed: dict[str, tuple[Json, list[tuple[str, Json]]]] = {}
    for other, where in sight.placed:
        for term in required_terms(other, "podAntiAffinity"):
            if term_means(sight, other, term, sight.pod):
                placed.setdefault(_identity(other, term), (term, []))[1].append((key_of(other), where))
    return placed


def _identity(owner: Json, term: Json) -> str:
    names = sorted(
        term.get("namespaces") or ([] if term.get("namespaceSelector") is not None else [namespace_of(owner)])
    )
    by_labels = term.get("namespaceSelector")
    return repr(
        (
            term["topologyKey"],
            term.get("labelSelector") is None,
            sorted(map(requirement_text, requirements(term.get("labelSelector") or {}))),
            names,
            None if by_labels is None else sorted(map(requirement_text, requirements(by_labels))),
        )
    )


def _near(sight: Sight, node: Json, rest: list[Json]) -> None:
    terms = required_terms(sight.pod, "podAffinity")
    meant = sight.once("near", partial(_meant, sight, terms)) if terms else []
    first = not any(term["topologyKey"] in labels_of(where) for term in terms for _, where in meant) and all(
        term_means(sight, sight.pod, term, sight.pod) for term in terms
    )
    for term in terms:
        key, selector = term["topologyKey"], selector_text(term.get("labelSelector"))
        value, fact = labels_of(node).get(key), rest.pop(0)
        told: dict[str, Any] = {"kind": "affinity", "selector": selector, "topologyKey": key, "domain": value}
        text = f"wants to be near pods {selector}"
        if value is None:
            shown(fact, f"{text}, but the node has no label {key}", fits=False, **told)
            continue
        count = sum(labels_of(where).get(key) == value for _, where in meant)
        if first:
            text += f": there is none yet and the pod is one itself, so any {key} will do"
            shown(fact, text, fits=True, **told, count=count)
            continue
        what = f"{count} such pod{'s' * (count > 1)}" if count else "no such pod"
        shown(fact, f"{text}: {key}={value} has {what}", count > 0, **told, count=count)


def _apart(node: Json, term: Json, meant: Sequence[tuple[str, Json]], text: str, kind: str, fact: Json) -> None:
    key = term["topologyKey"]
    value = labels_of(node).get(key)
    told: dict[str, Any] = {"kind": kind, "selector": selector_text(term.get("labelSelector"))}
    told |= {"topologyKey": key, "domain": value}
    if value is None:
        shown(fact, f"{text}: the node has no label {key}, so nobody is near", fits=True, **told)
        return
    here = [name for name, where in meant if labels_of(where).get(key) == value]
    told["count"] = len(here)
    if not here:
        shown(fact, f"{text}: {key}={value} has no such pod", fits=True, **told, blockedBy=[])
        return
    named = fact["blockedBy"]
    assert len(named) == len(set(named)) == min(len(set(here)), NAMED_MAX), (named, here)
    assert set(named) <= set(here)
    more = len(here) - len(named)
    names = ", ".join(named) + (f" and {more} more" if more else "")
    shown(fact, f"blocked by {names} in {key}={value} through {text}", fits=False, **told, blockedBy=named)


_CHECKS: Mapping[str, Callable[[Sight, Json, Facts], None]] = {
    "NodeName": _node_name,
    "NodeUnschedulable": _node_unschedulable,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "NodePorts": _ports,
    "NodeResourcesFit": _resources,
    "NodeDeclaredFeatures": _features,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
    **plain_storage_facts.CHECKS,
}
