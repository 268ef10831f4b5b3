"""What answers on the port of kube-scheduler-simulator's page: it leads to ours, and shows nothing itself."""

from __future__ import annotations

from schedlab.web.routing import Receive, Scope, Send

_FOUND = 302


class Redirect:
    """ASGI app that sends everybody to one address."""

    def __init__(self, url: str) -> None:
        self._url = url

    def stop(self) -> None:
        """There is nothing to end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI app
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = [
            (b"location", self._url.encode()),
            (b"cache-control", b"no-store"),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": _FOUND, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
