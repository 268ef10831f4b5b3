"""What manifests say, read in the plainest way: quantities, selectors, tolerations, what pods ask for.

Nothing of the scheduler is used here, so that a mistake of it cannot be made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Json = Mapping[str, Any]
Facts = Sequence[Json]
#: Address, protocol and port.
HostPort = tuple[str, str, int]

_SCALES = {"": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
_SCALES |= {letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)}
_SCALES |= {f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)}


@dataclass(frozen=True)
class Sight:
    """What there is when a pod is tried: manifests, and the pods of each node by its name.

    `returned` are host ports of each node that a pod gave back which has gone: upstream keeps those in use as a set, so
    that they are free then, though another pod of the node has them, too.
    """

    pod: Json
    nodes: Sequence[Json]
    pods: Mapping[str, Sequence[Json]]
    others: Mapping[str, Sequence[Json]] = field(default_factory=dict)
    returned: Mapping[str, Collection[HostPort]] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)

    def once(self, what: str, make: Callable[[], Any]) -> Any:
        """Work out once what is the same for every node."""
        if what not in self.known:
            self.known[what] = make()
        return self.known[what]

    @property
    def placed(self) -> Iterator[tuple[Json, Json]]:
        """Every pod that is on a node, with the node."""
        return ((pod, node) for node in self.nodes for pod in self.pods.get(name_of(node), ()))

    def find(self, resource: str, name: str, namespace: str = "") -> Json | None:
        """Return an object."""
        found = (
            one
            for one in self.others.get(resource, ())
            if name_of(one) == name and one["metadata"].get("namespace", "") == namespace
        )
        return next(found, None)


def name_of(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def namespace_of(obj: Json) -> str:
    return str(obj["metadata"].get("namespace") or "default")


def key_of(obj: Json) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}"


def labels_of(obj: Json) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}


def spec_of(obj: Json) -> Json:
    return obj.get("spec") or {}


def number(text: Any) -> Fraction:
    """Read a quantity."""
    text = str(text)
    end = next((at for at, letter in enumerate(text) if letter not in "+-.0123456789"), len(text))
    if text[end:].startswith(("e", "E")) and len(text) > end + 1:
        return Fraction(text)
    return Fraction(text[:end]) * _SCALES[text[end:]]


def written(resource: str, amount: Fraction) -> str:
    """Write an amount as kubectl would."""
    if resource == "cpu" and amount.denominator != 1:
        return f"{amount * 1000}m"
    in_bytes = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    suffixes = [f"{letter}i" for letter in "EPTGMK"] if in_bytes and abs(amount) >= 1024 else list("EPTGMk")
    if in_bytes and abs(amount) < 1024:
        suffixes = []
    suffix = next((each for each in suffixes if amount and amount % _SCALES[each] == 0), "")
    return f"{amount / _SCALES[suffix]}{suffix}"


def requirement_met(requirement: Json, labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values") or []
    has = labels.get(key)
    match requirement["operator"]:
        case "In" | "=":
            return has is not None and has in values
        case "NotIn":
            return has not in values
        case "Exists":
            return has is not None
        case "DoesNotExist":
            return has is None
        case "Gt":
            return has is not None and _integer(has) and int(has) > int(values[0])
        case "Lt":
            return has is not None and _integer(has) and int(has) < int(values[0])
    raise AssertionError(requirement)


def _integer(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def requirements(selector: Json) -> list[Json]:
    wanted = [
        {"key": key, "operator": "=", "values": [value]} for key, value in (selector.get("matchLabels") or {}).items()
    ]
    return sorted([*wanted, *(selector.get("matchExpressions") or ())], key=lambda each: str(each["key"]))


def selects(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects; none selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        requirement_met(each, labels) for each in selector.get("matchExpressions") or ()
    )


def selector_text(selector: Json | None) -> str:
    return ",".join(map(requirement_text, requirements(selector or {})))


def requirement_text(requirement: Json) -> str:
    key, operator = requirement["key"], requirement["operator"]
    values = ",".join(sorted(requirement.get("values") or ()))
    texts: dict[str, str] = {
        "=": f"{key}={values}",
        "In": f"{key} in ({values})",
        "NotIn": f"{key} notin ({values})",
        "Exists": key,
        "DoesNotExist": f"!{key}",
        "Gt": f"{key}>{values}",
        "Lt": f"{key}<{values}",
    }
    return texts[operator]


def tolerates(pod: Json, taint: Json) -> bool:
    for each in spec_of(pod).get("tolerations") or ():
        if each.get("effect") and each["effect"] != taint["effect"]:
            continue
        if each.get("key") and each["key"] != taint["key"]:
            continue
        if each.get("operator") == "Exists" or (
            each.get("operator") in (None, "", "Equal") and (each.get("value") or "") == (taint.get("value") or "")
        ):
            return True
    return False


def taint_text(taint: Json) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def term_met(term: Json, node: Json) -> bool:
    labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if (not labels and not fields) or in_error(term):
        return False
    return all(requirement_met(each, labels_of(node)) for each in labels) and all(
        requirement_met(each, {"metadata.name": name_of(node)}) for each in fields
    )


def in_error(term: Json) -> bool:
    """Whether a term compares with what is no number."""
    return any(
        each["operator"] in ("Gt", "Lt") and not _integer(each["values"][0])
        for each in term.get("matchExpressions") or ()
    )


def wanted_node(pod: Json, node: Json) -> bool:
    """Whether the pod's selector and required affinity have the node."""
    spec = spec_of(pod)
    if any(labels_of(node).get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return required is None or any(term_met(term, node) for term in required.get("nodeSelectorTerms") or ())


def requests_of(pod: Json) -> dict[str, Fraction]:
    """Return what a pod takes of its node."""
    spec = spec_of(pod)
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    total = sum_of(map(_asked, [*(spec.get("containers") or ()), *sidecars]))
    before: dict[str, Fraction] = {}
    for init in spec.get("initContainers") or ():
        if init.get("restartPolicy") == "Always":
            before = sum_of((before, _asked(init)))
            peak = before
        else:
            peak = sum_of((before, _asked(init)))
        total = {name: max(total.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in {*total, *peak}}
    of_pod = _asked(spec)
    total |= {name: amount for name, amount in of_pod.items() if name in ("cpu", "memory") or "hugepages-" in name}
    return sum_of((total, {name: number(text) for name, text in (spec.get("overhead") or {}).items()}))


def _asked(holder: Json) -> dict[str, Fraction]:
    return {name: number(text) for name, text in ((holder.get("resources") or {}).get("requests") or {}).items()}


def sum_of(parts: Iterable[Mapping[str, Fraction]]) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Fraction(0)) + amount
    return total


def term_text(term: Json) -> str:
    labels = [requirement_text(each) for each in requirements({"matchExpressions": term.get("matchExpressions")})]
    fields = [
        f"{each['key']}{'=' if each['operator'] == 'In' else '!='}{each['values'][0]}"
        for each in term.get("matchFields") or ()
    ]
    return ",".join([*labels, *fields])


def shown(fact: Json, text: str, fits: bool, **values: Any) -> None:  # noqa: FBT001 - what every fact begins with
    """Assert a fact whole."""
    assert fact == {"text": text, "fits": fits, **values}
