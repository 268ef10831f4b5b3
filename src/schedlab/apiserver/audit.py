"""The audit log: who asked for what and with which result, one JSON line per stage of a request.

    RequestReceived ─► (ResponseStarted, for watches) ─► ResponseComplete

Mirrors: staging/src/k8s.io/apiserver/pkg/audit, endpoints/filters/audit.go (v1.36), with the policy `level: Metadata`
Differs: uid and resourceVersion of what was sent are not told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson

from schedlab.apimachinery import time
from schedlab.apimachinery.errors import Status
from schedlab.apiserver.authorization import Verdict
from schedlab.apiserver.request import Request
from schedlab.kernel.clock import Clock
from schedlab.kernel.errors import SchedlabError

_log = logging.getLogger("schedlab.apiserver.audit")

_HEAD: Final = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata"}


class AuditLog:
    """Writes events; `write` takes a line with its end, `close` is called when no more will come."""

    def __init__(
        self, write: Callable[[bytes], object], clock: Clock, close: Callable[[], object] = lambda: None
    ) -> None:
        self._write = write
        self._clock = clock
        self.close = close
        self._failed = False

    @classmethod
    def open(cls, file: Path, clock: Clock) -> AuditLog:
        """Append to a file that only its owner may read; raises SchedlabError."""
        try:
            file.touch(mode=0o600)
            stream = file.open("ab", buffering=0)
        except OSError as error:
            raise SchedlabError(
                f"the audit log cannot be written: {error.strerror}", location=str(file), hint="name another file"
            ) from error
        return cls(stream.write, clock, stream.close)

    def begin(self, request: Request, audit_id: str) -> AuditEvent:
        """Log that a request has come; returns what logs the rest of it."""
        event = AuditEvent(request, audit_id, self.now(), self)
        event.log("RequestReceived")
        return event

    def now(self) -> str:
        """The time as events have it."""
        return time.format_micro_time(self._clock.now_ns())

    def write(self, event: dict[str, Any]) -> None:
        """Write one event. A log that cannot be written does not keep requests from being answered; that is told."""
        try:
            self._write(orjson.dumps(event) + b"\n")
        except OSError as error:
            if not self._failed:
                _log.error("the audit log has gaps: %s", error)
            self._failed = True
        else:
            self._failed = False


class AuditEvent:
    """One request on its way."""

    def __init__(self, request: Request, audit_id: str, received: str, log: AuditLog) -> None:
        self._request = request
        self._audit_id = audit_id
        self._received = received
        self._log = log
        self._verdict: Verdict | None = None

    def decided(self, verdict: Verdict) -> None:
        """Note whether the request is allowed."""
        self._verdict = verdict

    def log(self, stage: str, code: int = 0, status: Status | None = None) -> None:
        """Write the event of a stage, with the answer where there is one."""
        request = self._request
        query = request.scope.get("query_string") or b""
        event: dict[str, Any] = {
            **_HEAD,
            "auditID": self._audit_id,
            "stage": stage,
            "requestURI": f"{request.path}?{query.decode('latin-1')}" if query else request.path,
            "verb": request.info.verb,
            **self._users(),
            "sourceIPs": [client[0]] if (client := request.scope.get("client")) else [],
        }
        if request.user_agent:
            event["userAgent"] = request.user_agent
        if request.info.is_resource:
            event["objectRef"] = self._object()
        if code:
            event["responseStatus"] = {"metadata": {}, **(_told(status) if status else {}), "code": code}
        event["requestReceivedTimestamp"] = self._received
        event["stageTimestamp"] = self._received if stage == "RequestReceived" else self._log.now()
        if self._verdict is not None:
            event["annotations"] = {
                "authorization.k8s.io/decision": "allow" if self._verdict.allowed else "forbid",
                "authorization.k8s.io/reason": self._verdict.reason,
            }
        self._log.write(event)

    def _users(self) -> dict[str, Any]:
        request = self._request
        if request.impersonator is None:
            return {"user": request.user.to_wire()}
        return {"user": request.impersonator.to_wire(), "impersonatedUser": request.user.to_wire()}

    def _object(self) -> dict[str, str]:
        info = self._request.info
        found = {
            "resource": info.resource,
            "namespace": info.namespace,
            "name": info.name,
            "apiGroup": info.group,
            "apiVersion": info.version,
            "subresource": info.subresource,
        }
        return {key: value for key, value in found.items() if value}


def _told(status: Status) -> dict[str, Any]:
    return {key: status[key] for key in ("status", "message", "reason", "details") if key in status}
