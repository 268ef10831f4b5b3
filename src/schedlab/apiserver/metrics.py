"""What the server counts, under kube-apiserver's names, for GET /metrics.

Mirrors: staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go (v1.36)
Differs: only the metrics that dashboards of API servers are made of; requests outside the resources are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from schedlab.apiserver.request import Request
from schedlab.apiserver.routing import Route
from schedlab.kernel.metrics import Counter, Gauge, Histogram, exponential, expose

Labels: TypeAlias = tuple[str, ...]

_VERBS: Final = {"create": "POST", "update": "PUT"}
_READING: Final = frozenset(("get", "list", "watch"))
_APPLY: Final = "application/apply-patch"
_COMPONENT: Final = "apiserver"
_LATENCY_S: Final = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60),
)
_WHAT: Final = ("group", "version", "resource", "subresource", "scope", "component")


class ServerMetrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.requests = Counter(
            "apiserver_request_total",
            ("verb", "dry_run", *_WHAT, "code"),
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, "
            "resource, scope, component, and HTTP response code.",
        )
        self.durations = Histogram(
            "apiserver_request_duration_seconds",
            _LATENCY_S,
            ("verb", "dry_run", *_WHAT),
            "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, "
            "resource, subresource, scope and component.",
        )
        self.sizes = Histogram(
            "apiserver_response_sizes",
            exponential(1000, 10, 7),
            ("verb", *_WHAT),
            "[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, "
            "scope and component.",
        )
        self.long_running = Gauge(
            "apiserver_longrunning_requests",
            ("verb", *_WHAT),
            "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, "
            "resource, scope and component. Not all requests are tracked this way.",
        )
        self.in_flight = Gauge(
            "apiserver_current_inflight_requests",
            ("request_kind",),
            "[STABLE] Number of requests being answered, watches apart, per request kind.",
        )
        self.watch_events = Counter(
            "apiserver_watch_events_total",
            ("group", "version", "resource"),
            "[ALPHA] Number of events sent in watch clients",
        )

    def text(self) -> str:
        """Return everything in Prometheus' text form."""
        return expose((self.requests, self.durations, self.sizes, self.long_running, self.in_flight, self.watch_events))

    # --- what the server tells ---------------------------------------------------------------------------------------

    def started(self, request: Request) -> str:
        """Note that a request is being answered; returns its kind, for `ended`."""
        kind = "readOnly" if request.info.verb in _READING else "mutating"
        self.in_flight.add(1, kind)
        return kind

    def ended(self, kind: str) -> None:
        """Note that a request is no longer being answered, or is a watch from now on."""
        self.in_flight.add(-1, kind)

    def answered(self, request: Request, route: Route, status: int, size: int, elapsed_s: float) -> None:
        """Count a request that is over."""
        verb = _verb(request)
        dry_run = "All" if "dryRun" in request.query else ""
        what = _what(request, route)
        self.requests.add(verb, dry_run, *what, str(status))
        self.durations.observe(elapsed_s, verb, dry_run, *what)
        if verb in {"GET", "LIST"}:
            self.sizes.observe(size, verb, *what)

    def events_of(self, route: Route) -> Callable[[int], None]:
        """Return what counts the events that are sent by a watch."""
        entry, count = route.type, self.watch_events.add
        return lambda events: count(entry.group, entry.version, entry.resource, amount=events)

    def watching(self, request: Request, route: Route, change: int) -> None:
        """Note that a watch, or a log that is followed, has begun (+1) or ended (-1)."""
        verb = "CONNECT" if request.info.subresource == "log" else "WATCH"
        self.long_running.add(change, verb, *_what(request, route))


def _verb(request: Request) -> str:
    """Name the verb as dashboards expect it."""
    verb = request.info.verb
    if verb == "patch":
        return "APPLY" if request.content_type.startswith(_APPLY) else "PATCH"
    return _VERBS.get(verb) or verb.upper()


def _what(request: Request, route: Route) -> Labels:
    info = request.info
    scope = "resource" if info.name else "namespace" if info.namespace else "cluster"
    entry = route.type
    return (entry.group, entry.version, entry.resource, info.subresource, scope, _COMPONENT)
