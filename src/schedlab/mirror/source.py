"""A cluster that is only looked at: lists in pages, at most so many requests a second.

Every failure is met by another try or by leaving a kind out, never by a write, and never by more load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from schedlab.apimachinery.errors import (
    Expired,
    Gone,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    StatusError,
    Timeout,
    TooManyRequests,
)
from schedlab.apimachinery.resources import ResourceType
from schedlab.remote.rate_limit import RateLimit
from schedlab.remote.transport import Request, Transport

PAGE: Final = 250
_QPS: Final = 20.0
_BURST: Final = 20
_TRIES: Final = 6
_PASSING: Final = (InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests)


class Source:
    """The objects of one API server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._rate_limit = RateLimit(_QPS, _BURST)

    async def pages(self, kind: ResourceType, namespace: str = "", selector: str = "") -> AsyncIterator[list[Any]]:
        """Yield the objects of a kind, a page at a time; raises StatusError when the server keeps refusing.

        When the rest of a list is no longer kept there it is begun anew: an object may come twice.
        """
        place = f"namespaces/{namespace}/" if namespace and kind.namespaced else ""
        path = f"{kind.path}/{place}{kind.resource}"
        page, limit = "", PAGE
        while True:
            query = {"limit": str(limit)} if limit else {}
            query |= {"continue": page} if page else {}
            query |= {"labelSelector": selector} if selector else {}
            try:
                answer = await self._get(path, query)
            except (Expired, Gone):
                if not page:
                    raise
                # What is left of the list is compacted: once more, in one piece.
                page, limit = "", 0
                continue
            items = answer.get("items") if isinstance(answer, dict) else None
            yield items if isinstance(items, list) else []
            metadata = answer.get("metadata") if isinstance(answer, dict) else None
            page = (metadata.get("continue") or "") if isinstance(metadata, dict) else ""
            if not page:
                return

    async def _get(self, path: str, query: dict[str, str]) -> Any:
        delay_s = 0.5
        for attempt in range(1, _TRIES + 1):
            await self._rate_limit.wait()
            try:
                return await self._transport.send(Request("GET", path, query))
            except _PASSING as error:
                if attempt == _TRIES:
                    raise
                await asyncio.sleep(max(delay_s, _asked_to_wait(error)))
                delay_s *= 2
        raise AssertionError("the last try returns or raises")


def _asked_to_wait(error: StatusError) -> float:
    return float(min(error.retry_after_s, 30))
