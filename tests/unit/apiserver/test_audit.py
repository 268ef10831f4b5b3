"""Every request leaves its trace in the audit log."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from schedlab.apiserver.app import APIServer
from schedlab.apiserver.audit import AuditLog
from schedlab.apiserver.authentication import Authenticator
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.errors import SchedlabError
from tests.support.api_server import ADMIN, TOKEN, make_app
from tests.support.asgi import Call, answer

PODS = "/api/v1/namespaces/default/pods"


class Audited:
    """A server whose audit log is a list of lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        clock = VirtualClock()
        _, registry = make_app(clock)
        audit = AuditLog(self.lines.append, clock)
        self.app = APIServer(registry, clock, Authenticator({TOKEN: ADMIN}), audit=audit)

    def call(self, method: str, path: str, query: str = "", **headers: str) -> list[dict[str, Any]]:
        """Send a request; returns its events."""
        self.lines.clear()
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        asyncio.run(answer(self.app, Call(method, path, query, {"host": "x", **own})))
        return [orjson.loads(line) for line in self.lines]


def test_two_stages_of_a_request() -> None:
    received, complete = Audited().call(
        "GET", PODS, "limit=1", authorization=f"Bearer {TOKEN}", user_agent="me/1", audit_id="an-id"
    )

    assert (received["stage"], complete["stage"]) == ("RequestReceived", "ResponseComplete")
    assert "responseStatus" not in received
    assert complete["auditID"] == "an-id"
    assert complete["requestURI"] == f"{PODS}?limit=1"
    assert complete["verb"] == "list"
    assert complete["user"] == {
        "username": "admin",
        "uid": "admin-uid",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert complete["objectRef"] == {"resource": "pods", "namespace": "default", "apiVersion": "v1"}
    assert complete["responseStatus"] == {"metadata": {}, "code": 200}
    assert complete["annotations"]["authorization.k8s.io/decision"] == "allow"
    assert complete["userAgent"] == "me/1"


def test_refusal_and_who_speaks_for_whom() -> None:
    event = Audited().call("GET", f"{PODS}/x", authorization=f"Bearer {TOKEN}", impersonate_user="bob")[-1]

    assert (event["user"]["username"], event["impersonatedUser"]["username"]) == ("admin", "bob")
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert (event["responseStatus"]["code"], event["responseStatus"]["reason"]) == (403, "Forbidden")


def test_wrong_credentials_are_logged() -> None:
    event = Audited().call("GET", PODS, authorization="Bearer wrong")[-1]

    assert event["responseStatus"]["code"] == 401
    assert "annotations" not in event


def test_paths_outside_the_api_have_no_object() -> None:
    assert "objectRef" not in Audited().call("GET", "/healthz")[-1]


def test_file_is_appended_to_and_private(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    for _ in range(2):
        log = AuditLog.open(file, VirtualClock())
        log.write({"a": 1})
        log.close()

    assert file.read_bytes() == b'{"a":1}\n{"a":1}\n'
    assert file.stat().st_mode & 0o077 == 0


def test_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="the audit log cannot be written") as caught:
        AuditLog.open(tmp_path / "none" / "audit.log", VirtualClock())

    assert caught.value.location.endswith("audit.log")


def test_full_disk_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Requests are answered all the same."""

    def refuse(_line: bytes) -> None:
        raise OSError(28, "No space left on device")

    log = AuditLog(refuse, VirtualClock())
    with caplog.at_level(logging.ERROR):
        log.write({})
        log.write({})

    assert [record.getMessage() for record in caplog.records] == [
        "the audit log has gaps: [Errno 28] No space left on device"
    ]
