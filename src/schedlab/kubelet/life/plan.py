"""What the annotations of a pod say about its life.

A key `kubelet.schedlab.dev/KEY` is about the pod or about all of its containers, `kubelet.schedlab.dev/KEY.CONTAINER`
about one of them. docs/reference/pod-life.md lists the keys.
Mirrors: nothing; real containers do what they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from schedlab.apimachinery.distribution import Distribution, DistributionError, parse_distribution
from schedlab.apimachinery.quantity import QuantityError, parse_value

PREFIX: Final = "kubelet.schedlab.dev/"
IMAGE_BANDWIDTH: Final = f"{PREFIX}image-bandwidth"
#: How big an image is of which nothing is said.
IMAGE_BYTES: Final = 100 << 20
ALWAYS: Final = 2**31

_DURATIONS: Final = ("ready-after", "run-time", "started-after", "unready-after", "liveness-fails-after")
_POD_DURATIONS: Final = ("start-delay", "shutdown-time")
_OTHERS: Final = ("exit-code", "image-size", "log", "pull-errors", "pull-error-message")
KEYS: Final = (*_POD_DURATIONS, *_DURATIONS, *_OTHERS)
#: Keys of pods that need no more than the quick life.
_QUIET: Final = ("log",)


@dataclass(slots=True)
class ContainerPlan:
    """What one container does."""

    durations: dict[str, Distribution] = field(default_factory=dict)
    exit_codes: tuple[int, ...] = (0,)
    image_bytes: int | None = None
    pull_errors: int = 0
    pull_error_message: str = "image not found"

    def exit_code(self, run: int) -> int:
        """Return the exit code of a run, counted from 0; the last one that is said stays."""
        return self.exit_codes[min(run, len(self.exit_codes) - 1)]


@dataclass(slots=True)
class PodPlan:
    """What a pod and its containers do; `mistakes` are annotations that cannot be read and do not count."""

    durations: dict[str, Distribution] = field(default_factory=dict)
    containers: dict[str, ContainerPlan] = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)


def has_plan(annotations: Mapping[str, str]) -> bool:
    """Say whether the annotations ask for more than the quick life."""
    return any(key.startswith(PREFIX) and _key_of(key)[0] not in _QUIET for key in annotations)


def read_plan(pod: Mapping[str, Any]) -> PodPlan:
    """Read the annotations of a pod."""
    plan = PodPlan()
    spec, annotations = pod["spec"], pod["metadata"].get("annotations") or {}
    names = [each["name"] for each in (*(spec.get("initContainers") or ()), *spec["containers"])]
    plan.containers = {name: ContainerPlan() for name in names}
    # What is said of one container comes after what is said of all.
    for key in sorted((key for key in annotations if key.startswith(PREFIX)), key=lambda key: (key.count("."), key)):
        name, container = _key_of(key)
        try:
            _take(plan, name, container, annotations[key])
        except (DistributionError, QuantityError, ValueError) as error:
            plan.mistakes.append(f"annotation {key}: {error}")
    return plan


def _key_of(key: str) -> tuple[str, str]:
    name, _, container = key.removeprefix(PREFIX).partition(".")
    return name, container


def _take(plan: PodPlan, name: str, container: str, text: str) -> None:
    if name not in KEYS:
        raise ValueError(f"{name!r} is not one of {', '.join(KEYS)}")
    if name in _POD_DURATIONS:
        if container:
            raise ValueError("is about the whole pod")
        plan.durations[name] = parse_distribution(text)
        return
    if container and container not in plan.containers:
        raise ValueError(f"the pod has no container {container!r}")
    for each in [plan.containers[container]] if container else plan.containers.values():
        _take_of_container(each, name, text)


def _take_of_container(plan: ContainerPlan, name: str, text: str) -> None:
    if name in _DURATIONS:
        plan.durations[name] = parse_distribution(text)
    elif name == "exit-code":
        codes = tuple(int(part) for part in text.split(","))
        if not all(0 <= code <= 255 for code in codes):
            raise ValueError(f"{text!r} is not a list of numbers from 0 to 255")
        plan.exit_codes = codes
    elif name == "image-size":
        plan.image_bytes = parse_value(text)
    elif name == "pull-errors":
        plan.pull_errors = ALWAYS if text == "always" else int(text)
    elif name == "pull-error-message":
        plan.pull_error_message = text


def read_bandwidth(text: str) -> int:
    """Return bytes per second; raises QuantityError, ValueError."""
    bandwidth = parse_value(text)
    if bandwidth <= 0:
        raise ValueError(f"{text!r} is not more than 0")
    return bandwidth
