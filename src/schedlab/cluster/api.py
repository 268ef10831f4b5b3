"""The API of a cluster without HTTP: store, registry, what the system itself puts there, and housekeeping.

`Cluster` adds the parts that act on it; alone it is what `schedlab apiserver` serves, for schedulers, controllers and
kubelets of other processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from schedlab.apimachinery.features import FeatureGates
from schedlab.client.inprocess import InProcessClient
from schedlab.cluster.driver import Caller, Engine
from schedlab.cluster.housekeeping import Compactor, EventExpiry
from schedlab.kernel.clock import SECOND_NS, Clock
from schedlab.kernel.randomness import RandomSource
from schedlab.registry import Registry, bootstrap
from schedlab.registry.admission.plugins import DEFAULT_NAMES
from schedlab.store import Backend, Store

_EVENTS: Final = frozenset(("events", "events.events.k8s.io"))


@dataclass(frozen=True, slots=True, kw_only=True)
class APISettings:
    """What can be chosen about an API server.

    event_ttl_s: how long events are kept after they were last written. compaction_interval_s: how often lists and
    watches lose the revisions of one interval ago. history: of how many revisions the past can be rebuilt whatever is
    compacted. 0 switches each of the three off. admission: the admission plugins that run. events: whether those that the
    cluster's own parts tell are kept at all.
    """

    feature_gates: FeatureGates = field(default_factory=FeatureGates.default)
    event_ttl_s: int = 3600
    compaction_interval_s: int = 300
    history: int = 0
    admission: tuple[str, ...] = DEFAULT_NAMES
    events: bool = True


class API:
    """Store and registry on one clock; `engine` drives whatever is added."""

    def __init__(
        self,
        clock: Clock,
        random: RandomSource,
        settings: APISettings,
        caller: Caller | None = None,
        *,
        backend: Backend | None = None,
        store: Store | None = None,
    ) -> None:
        """Make an API over a store: the one given, or a new one over a back end."""
        self._limits = settings
        self.clock = clock
        self.store = Store(backend, history=settings.history) if store is None else store
        self.registry = Registry(
            self.store, clock, random.split("registry"), settings.feature_gates, admission=settings.admission
        )
        bootstrap(self.registry)
        self.caller = caller
        self.engine = Engine(caller)

    def client(self, user_agent: str) -> InProcessClient:
        """Return a client of the cluster's API under that name."""
        dropped = frozenset() if self._limits.events else _EVENTS
        return InProcessClient(self.registry, user_agent, dropped=dropped)

    def start(self) -> None:
        """Begin to throw away what is old."""
        if self._limits.event_ttl_s:
            EventExpiry(self.store, self.clock, self._limits.event_ttl_s * SECOND_NS)
        if self._limits.compaction_interval_s:
            Compactor(self.store, self.clock, self._limits.compaction_interval_s * SECOND_NS)

    def on_change(self, wake: Callable[[], None]) -> None:
        """Call `wake` after every change of an object that some part listens to."""
