"""What a scheduler serves of itself, as kube-scheduler does on port 10259: health, metrics, configuration.

    SchedulerServer(lambda: scheduler, metrics, access, checks)        an ASGI app

    /healthz /livez /readyz                       open to everybody, also each check below them
    /metrics /metrics/resources /configz          for those who may get these paths

Mirrors: newEndpointsHandler and buildHandlerChain in cmd/kube-scheduler/app/server.go (v1.36)
Differs: no /metrics/slis, /statusz, /flagz and /debug: there are no Go flags and no Go profiles here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import orjson

from schedlab.apimachinery.errors import StatusError
from schedlab.apiserver.answers import TEXT, Answer, Receive, Scope, Send, error_answer
from schedlab.apiserver.health import Check, HealthEndpoints
from schedlab.apiserver.negotiation import PLAIN
from schedlab.apiserver.request import CONNECTION
from schedlab.apiserver.request_info import parse_query
from schedlab.kernel.metrics import CONTENT_TYPE, expose
from schedlab.scheduler.config.configz import configz
from schedlab.scheduler.metric_gauges import gauges_of
from schedlab.scheduler.metric_resources import resource_gauges
from schedlab.scheduler.metrics import SchedulerMetrics
from schedlab.scheduler.scheduler import Scheduler

#: --authorization-always-allow-paths
_OPEN: Final = frozenset({"healthz", "livez", "readyz"})
_NOT_FOUND: Final = Answer(404, b"404 page not found\n", TEXT)
_VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Access(Protocol):
    """Says who may ask."""

    async def check(self, authorization: bytes | None, peer: Mapping[str, Any] | None, verb: str, path: str) -> None:
        """Let a request pass, or raise Unauthorized or Forbidden."""


def checks_of(
    synced: Check, election: Check | None = None, stopping: Callable[[], bool] = lambda: False
) -> dict[str, dict[str, Check]]:
    """Return the checks of each endpoint: `synced` says what is lacking, `election` what is wrong with the lease."""
    watchdog = {} if election is None else {"leaderElection": election}
    shutdown: Check = lambda: "process is shutting down" if stopping() else ""  # noqa: E731
    return {
        "healthz": watchdog or {"ping": lambda: ""},
        "livez": {"ping": lambda: ""},
        "readyz": {**watchdog, "shutdown": shutdown, "sched-handler-sync": synced},
    }


class SchedulerServer:
    """The ASGI app. `scheduler` is asked anew for every request: another one may have taken over."""

    def __init__(
        self,
        scheduler: Callable[[], Scheduler],
        metrics: SchedulerMetrics,
        access: Access,
        checks: Mapping[str, Mapping[str, Check]],
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        self._scheduler, self._metrics, self._access = scheduler, metrics, access
        self._health = HealthEndpoints(checks)
        self._leads = leads

    def stop(self) -> None:
        """See Application: nothing here lasts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI's
        """Answer one request."""
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope)
        except StatusError as error:
            answer = error_answer(error, PLAIN)
        headers = [
            (b"content-type", answer.content_type),
            (b"content-length", str(len(answer.body)).encode()),
            (b"cache-control", b"no-cache, private"),
            (b"x-content-type-options", b"nosniff"),
            *answer.headers,
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _answer(self, scope: Scope) -> Answer:
        path: str = scope["path"]
        if path.strip("/").partition("/")[0] not in _OPEN or path.count("/") > 1:
            credentials = next((value for name, value in scope["headers"] if name == b"authorization"), None)
            connection = scope.get(CONNECTION)
            peer = None if connection is None else connection.peer
            verb = _VERBS.get(scope["method"], scope["method"].lower())
            await self._access.check(credentials, peer, verb, path)
        found = self._health.answer(path, parse_query(scope["query_string"]))
        if found is not None:
            return Answer(found.status, found.text.encode(), TEXT)
        if path == "/metrics":
            return _text(self._metrics.text(gauges_of(self._scheduler())))
        if path == "/metrics/resources":
            return _text(self._resources())
        if path == "/configz":
            return Answer(200, orjson.dumps(configz(self._scheduler().config)))
        return _NOT_FOUND

    def _resources(self) -> str:
        """Return the amounts of all pods; who does not lead says nothing, so that nothing is counted twice."""
        if not self._leads():
            return ""
        pods = self._scheduler().pods.list()
        return expose(resource_gauges(pods))


def _text(text: str) -> Answer:
    return Answer(200, text.encode(), CONTENT_TYPE.encode())
