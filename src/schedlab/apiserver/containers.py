"""What is asked of the containers of a pod: their logs, and connections to them.

Mirrors: pkg/registry/core/pod/{strategy,rest/log,rest/subresources}.go, ValidatePodLogOptions of
pkg/apis/core/validation (v1.36)
Differs: logs come from a source that is given, nodes answer through a server that is given; the containers of simulated
nodes cannot be entered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery import field
from schedlab.apimachinery.errors import StatusError, new_bad_request, new_invalid, new_status
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.gvk import GroupKind
from schedlab.apiserver.answers import TEXT, Answer
from schedlab.apiserver.logs import Follower, LogQuery, Silence, select, write
from schedlab.apiserver.options import read_flag, read_integer, read_text
from schedlab.apiserver.request import Request
from schedlab.apiserver.request_info import Query
from schedlab.apiserver.routing import Route
from schedlab.apiserver.watching import WatchStream
from schedlab.client.node_servers import LogSource, NodeServer
from schedlab.registry.registry import Registry

#: Subresources that connect to something that runs.
CONNECTIONS: Final = ("attach", "exec", "portforward", "proxy")
_LOG_OPTIONS: Final = GroupKind("", "PodLogOptions")
_STREAMS: Final = ("All", "Stderr", "Stdout")


class ContainerHandlers:
    """Answers requests for logs and connections; `streams` are those that are still being sent."""

    def __init__(self, registry: Registry, logs: LogSource | None = None, nodes: NodeServer | None = None) -> None:
        self._registry = registry
        self._logs: LogSource = Silence() if logs is None else logs
        self._nodes = nodes
        self.streams: set[WatchStream] = set()

    async def log(self, route: Route, request: Request) -> Answer | WatchStream:
        """Answer with a log; a pod that is nowhere has none."""
        info = request.info
        query = _read_log_query(request.query, info.name)
        pod = self._registry.get(route.resource.name, info.name, info.namespace)
        query = replace(query, container=_choose_container(pod, query.container))
        if not _spec(pod).get("nodeName"):
            return Answer(204, content_type=b"")
        if not query.follow:
            lines = self._logs.lines(pod, query.container, previous=query.previous)
            text = write(select(lines, query, request.clock.now_ns()), query)
            return Answer(200, text[: query.limit_bytes], TEXT)

        def read() -> StoredObject:
            return self._registry.get(route.resource.name, info.name, info.namespace)

        follower = Follower(self._logs, read, query, request.clock, pod.uid)
        stream = follower.stream
        stop = stream.on_end

        def ended() -> None:
            self.streams.discard(stream)
            stop()

        stream.on_end = ended
        self.streams.add(stream)
        try:
            follower.start(pod)
        except StatusError:
            stream.end()
            raise
        return stream

    async def connect(self, route: Route, request: Request) -> Answer:
        """Refuse a connection with the first reason that kube-apiserver would find, or with ours."""
        assert route.sub is not None, "a connection goes to a subresource"
        if "dryRun" in request.query:
            raise new_bad_request("dryRun is not supported")
        info = request.info
        if route.resource.name == "nodes" and self._nodes is not None and route.verb == "get":
            name = info.name.partition(":")[0]
            self._registry.get("nodes", name)
            found = self._nodes.answer(name, request.path.partition("/proxy")[2])
            return Answer(found.status, found.body, found.content_type)
        target = self._registry.get(route.resource.name, info.name, info.namespace)
        if route.resource.name == "pods":
            if route.sub.name in ("attach", "exec"):
                _choose_container(target, read_text(request.query, "container"))
            if not _spec(target).get("nodeName") and route.sub.name != "proxy":
                raise new_bad_request(f"pod {info.name} does not have a host assigned")
        message = f"{route.sub.name} is not possible: the containers of a simulated cluster do not run"
        raise StatusError(new_status("Failure", code=501, reason="NotImplemented", message=message))


def _read_log_query(query: Query, pod: str) -> LogQuery:
    found = LogQuery(
        container=read_text(query, "container"),
        previous=read_flag(query, "previous"),
        follow=read_flag(query, "follow"),
        timestamps=read_flag(query, "timestamps"),
        tail_lines=read_integer(query, "tailLines"),
        limit_bytes=read_integer(query, "limitBytes"),
        since_seconds=read_integer(query, "sinceSeconds"),
        since_time=read_text(query, "sinceTime"),
    )
    if errors := _log_errors(found, read_text(query, "stream")):
        raise new_invalid(_LOG_OPTIONS, pod, errors)
    return found


def _log_errors(query: LogQuery, stream: str) -> ErrorList:
    errors: ErrorList = []
    if query.tail_lines is not None and query.tail_lines < 0:
        errors.append(field.invalid("tailLines", query.tail_lines, "must be greater than or equal to 0"))
    if query.limit_bytes is not None and query.limit_bytes < 1:
        errors.append(field.invalid("limitBytes", query.limit_bytes, "must be greater than 0"))
    if query.since_seconds is not None and query.since_time:
        errors.append(field.forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif query.since_seconds is not None and query.since_seconds < 1:
        errors.append(field.invalid("sinceSeconds", query.since_seconds, "must be greater than 0"))
    if stream and stream not in _STREAMS:
        errors.append(field.not_supported("stream", stream, _STREAMS))
    elif stream not in ("", "All") and query.tail_lines is not None:
        errors.append(field.forbidden("", "`tailLines` and specific `stream` are mutually exclusive for now"))
    return errors


def _spec(pod: StoredObject) -> dict[str, Any]:
    spec: dict[str, Any] = pod.raw.get("spec") or {}
    return spec


def _choose_container(pod: StoredObject, name: str) -> str:
    """Return the container that is meant; raises BadRequest when that is not clear."""
    spec = _spec(pod)
    names, starting, visiting = (_names(spec, key) for key in ("containers", "initContainers", "ephemeralContainers"))
    if name:
        if name not in (*names, *starting, *visiting):
            raise new_bad_request(f"container {name} is not valid for pod {pod.name}")
        return name
    if len(names) == 1:
        return names[0]
    message = f"a container name must be specified for pod {pod.name}"
    if names:
        message += f", choose one of: [{' '.join(names)}]"
        if starting:
            message += f" or one of the init containers: [{' '.join(starting)}]"
        if visiting:
            message += f" or one of the ephemeral containers: [{' '.join(visiting)}]"
    raise new_bad_request(message)


def _names(spec: dict[str, Any], key: str) -> Sequence[str]:
    return [str(container.get("name", "")) for container in spec.get(key) or ()]
