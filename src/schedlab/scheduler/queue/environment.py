"""What a scheduling queue is given, and what it shows of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.queue.hints import HintMap

if TYPE_CHECKING:
    from schedlab.apimachinery.features import FeatureGates
    from schedlab.client.listers import Lister
    from schedlab.kernel.clock import Clock
    from schedlab.scheduler.framework.interface import PreEnqueuePlugin
    from schedlab.scheduler.framework.record import Observer
    from schedlab.scheduler.framework.status import Status
    from schedlab.scheduler.framework.types import PodInfo
    from schedlab.scheduler.metrics import Recorder
    from schedlab.scheduler.queue.heap import SortKey
    from schedlab.scheduler.queue.queued_pod import QueuedPodInfo

# Gets the pod, the name of the plugin, and what it raised as a status.
PluginFailed: TypeAlias = Callable[["PodInfo", str, "Status"], None]
Place: TypeAlias = Literal["active", "backoff", "errorBackoff", "unschedulable", "gated", "inFlight", "gone"]

DEFAULT_INITIAL_BACKOFF_NS: Final = SECOND_NS
DEFAULT_MAX_BACKOFF_NS: Final = 10 * SECOND_NS
DEFAULT_MAX_IN_UNSCHEDULABLE_NS: Final = 300 * SECOND_NS


@dataclass(frozen=True, slots=True)
class QueueProfile:
    """What the queue needs of a profile: its pre_enqueue plugins in order, and what its plugins hear of."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    hints: HintMap = field(default_factory=HintMap)


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Waits, in ns: podInitialBackoffSeconds, podMaxBackoffSeconds (0: no backoff), and how long at most without event."""

    initial_backoff_ns: int = DEFAULT_INITIAL_BACKOFF_NS
    max_backoff_ns: int = DEFAULT_MAX_BACKOFF_NS
    max_in_unschedulable_ns: int = DEFAULT_MAX_IN_UNSCHEDULABLE_NS


def _nobody_hears(_pod: PodInfo, _plugin: str, _status: Status) -> None:
    """Stand in where nobody asks."""


@dataclass(frozen=True, slots=True)
class QueueEnvironment:
    """Everything around a queue that is not its state; a copy of the queue in a fork gets another one.

    sort_key: of the QueueSort plugin. profiles: by scheduler name. pods: the pod lister that tells whether a nominated
    pod still waits (None: it does). observer: hears of every move. metrics: counts moves and times
    hints and pre_enqueue. plugin_failed: hears of pre_enqueue plugins that raised.
    """

    clock: Clock
    sort_key: SortKey
    profiles: Mapping[str, QueueProfile]
    features: FeatureGates
    settings: QueueSettings = QueueSettings()
    pods: Lister | None = None
    observer: Observer | None = None
    metrics: Recorder | None = None
    plugin_failed: PluginFailed = _nobody_hears


@dataclass(frozen=True, slots=True)
class Position:
    """Where a pod waits; backoff_end_ns, flush_ns: the ends of its waits, 0 when there is none."""

    queued: QueuedPodInfo
    place: Place
    backoff_end_ns: int
    flush_ns: int


@dataclass(frozen=True, slots=True)
class QueueContents:
    """Keys (namespace/name) of the pods in each place, sorted; `error_backoff` is the part of `backoff` after errors."""

    active: tuple[str, ...]
    backoff: tuple[str, ...]
    error_backoff: tuple[str, ...]
    unschedulable: tuple[str, ...]
    gated: tuple[str, ...]
    in_flight: tuple[str, ...]
