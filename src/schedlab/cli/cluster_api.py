"""Asking the Kubernetes API of a running cluster, as its administrator.

api = ClusterAPI(Home.of(name))
api.get("/api/v1/nodes/node-0")                       raises APIError with the server's words
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from schedlab.cluster.home import Home
from schedlab.kernel.errors import SchedlabError

_TIMEOUT_S = 60
_MERGE_PATCH = "application/merge-patch+json"


class APIError(Exception):
    """The server says no: in kubectl's words, with the code of the Status."""

    def __init__(self, status: Mapping[str, Any], code: int) -> None:
        self.code = int(status.get("code") or code)
        reason = status.get("reason")
        message = str(status.get("message") or status)
        super().__init__(f"Error from server ({reason}): {message}" if reason else f"error: {message}")


class ClusterAPI:
    """One connection to an API server, used for one request after the other."""

    def __init__(self, home: Home) -> None:
        facts = home.read_cluster()
        self._where = urlsplit(str(facts["apiserver"]))
        self._token = home.token()
        self._connection = self._connect(home)

    def _connect(self, home: Home) -> http.client.HTTPConnection:
        address = self._where.netloc
        if self._where.scheme == "http":
            return http.client.HTTPConnection(address, timeout=_TIMEOUT_S)
        context = ssl.create_default_context(cafile=str(home.pki / "ca.crt"))
        return http.client.HTTPSConnection(address, timeout=_TIMEOUT_S, context=context)

    def get(self, path: str) -> dict[str, Any]:
        """Return what is at a path; raises APIError."""
        return self._call("GET", path)

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post an object; raises APIError."""
        return self._call("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object by a merge patch; raises APIError."""
        return self._call("PATCH", path, body, _MERGE_PATCH)

    def delete(self, path: str) -> dict[str, Any]:
        """Delete an object; raises APIError."""
        return self._call("DELETE", path)

    def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "Content-Type": content_type,
            "User-Agent": "schedlab",
        }
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise SchedlabError(
                f"the API server does not answer: {error}",
                location=self._where.geturl(),
                hint="start it: schedlab up",
            ) from error
        try:
            decoded: dict[str, Any] = json.loads(content)
        except ValueError:
            decoded = {"message": content.decode(errors="replace").strip()}
        if answer.status >= 400:
            raise APIError(decoded, answer.status)
        return decoded


def node_path(name: str = "") -> str:
    """Return the path of a node, or of all."""
    return f"/api/v1/nodes/{quote(name, safe='')}" if name else "/api/v1/nodes"


def pod_path(pod: Mapping[str, Any], subresource: str = "") -> str:
    """Return the path of a pod, or of something below it."""
    meta = pod["metadata"]
    below = f"/{subresource}" if subresource else ""
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{quote(meta['name'], safe='')}{below}"
