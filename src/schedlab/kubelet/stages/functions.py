"""The functions that KWOK adds to Go's for templates of Stages.

Mirrors: KWOK's pkg/utils/gotpl/funcs.go, and the functions of its node and pod controllers.
Differs: NodeIP and NodeName are those of the node itself, not of a machine that KWOK runs on; addresses are those of the
simulated nodes, one per pod for as long as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

import orjson

from schedlab.apimachinery.gojson import marshal_bytes, quote
from schedlab.apimachinery.gotemplate.sprig import SPRIG
from schedlab.apimachinery.gotemplate.values import TemplateError, to_json
from schedlab.apimachinery.time import format_nano_time
from schedlab.apimachinery.version import KUBERNETES_VERSION
from schedlab.apimachinery.yaml import to_yaml
from schedlab.kernel.clock import Clock
from schedlab.kernel.randomness import RandomSource

_INDENT_MAX: Final = 100
_KUBELET_PORT: Final = 10250

NODE_CONDITIONS: Final = tuple(
    {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": None,
        "lastTransitionTime": None,
        "reason": reason,
        "message": message,
    }
    for kind, status, reason, message in (
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    )
)


class Addresses(Protocol):
    """Knows the addresses of simulated nodes, and gives pods theirs."""

    def node_address(self, node: str) -> str:
        """Return the address of a node, "" if it is not there."""

    def pod_address(self, node: str, uid: str) -> str:
        """Return the address of a pod on a node, the same one each time; "" if the node is not there."""


class Functions:
    """The functions of one cluster, for any object."""

    def __init__(self, clock: Clock, random: RandomSource, addresses: Addresses) -> None:
        self._clock = clock
        self._random = random
        self._addresses = addresses
        self._started = format_nano_time(clock.now_ns())

    def of(self, obj: Mapping[str, Any]) -> Mapping[str, Callable[..., Any]]:
        """Return the functions for the template of a Stage about an object."""
        name = obj["metadata"].get("name", "") if obj.get("kind") == "Node" else ""
        address = self._addresses.node_address(name) if name else ""
        return {
            "Now": self._now,
            "now": self._now,
            "StartTime": lambda: self._started,
            "NodeIP": lambda: address,
            "NodeName": lambda: name,
            "NodePort": lambda: _KUBELET_PORT,
            "NodeIPWith": self._addresses.node_address,
            "NodeIPsWith": lambda node: _several(self._addresses.node_address(node)),
            "PodIP": lambda: "",
            "PodIPWith": self._pod_address,
            "PodIPsWith": lambda *pod: _several(self._pod_address(*pod)),
            "uuidv4": self._random.uid,
            "randInt": lambda low, high: low + self._random.below(max(high - low, 1)),
            "unixEpoch": lambda _: str(self._clock.now_ns() // 1_000_000_000),
        }

    def _now(self) -> str:
        return format_nano_time(self._clock.now_ns())

    def _pod_address(self, node: str, host_network: bool, uid: str, *_: str) -> str:  # noqa: FBT001 - KWOK's signature
        if host_network:
            return self._addresses.node_address(node)
        return self._addresses.pod_address(node, uid)


def _several(address: str) -> Sequence[str]:
    return [address] if address else []


def _quote(value: Any) -> str:
    """Return a value as JSON in a string, but a string as JSON."""
    text = marshal_bytes(to_json(value)).decode()
    return text if text.startswith('"') else quote(text)


def _yaml(value: Any, *indent: int) -> str:
    text = to_yaml(orjson.loads(orjson.dumps(to_json(value)))).decode()
    if len(indent) == 1 and indent[0] > 0:
        if indent[0] > _INDENT_MAX:
            raise TemplateError(f"an indent of {indent[0]} is too much")
        pad = "  " * indent[0]
        text = f"\n{text}".replace("\n", f"\n{pad}")
    return text


def _later(*_: Any) -> Any:
    raise TemplateError("is only known when a Stage is played")


#: Every function that a template may name.
KNOWN: Final[Mapping[str, Callable[..., Any]]] = {
    **SPRIG,
    "NodeConditions": lambda: list(NODE_CONDITIONS),
    "Quote": _quote,
    "Version": lambda: KUBERNETES_VERSION,
    "YAML": _yaml,
    **dict.fromkeys(
        (
            "Now",
            "now",
            "StartTime",
            "NodeIP",
            "NodeName",
            "NodePort",
            "NodeIPWith",
            "NodeIPsWith",
            "PodIP",
            "PodIPWith",
            "PodIPsWith",
            "uuidv4",
            "randInt",
            "unixEpoch",
        ),
        _later,
    ),
}
