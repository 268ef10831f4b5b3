"""A cluster that is only looked at: lists in pages, at most so many requests a second.

Every failure is met by another try or by leaving a kind out, never by a write, and never by more load.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
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
    new_service_unavailable,
)
from schedlab.apimachinery.resources import ResourceType
from schedlab.kernel.errors import SchedlabError
from schedlab.remote.rate_limit import RateLimit
from schedlab.remote.transport import Request, Transport

PAGE: Final = 250
_QPS: Final = 20.0
_BURST: Final = 20
_TRIES: Final = 6
_PASSING: Final = (InternalError, ServerTimeout, ServiceUnavailable, Timeout, TooManyRequests)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list; `remaining` are the objects behind it, as far as the server tells."""

    items: list[Any]
    remaining: int = 0


class Source:
    """The objects of one API server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._rate_limit = RateLimit(_QPS, _BURST)
        #: How often a request is tried: once while the server has not come back since it was given up.
        self._tries = _TRIES

    async def pages(self, kind: ResourceType, namespace: str = "", selector: str = "") -> AsyncIterator[Page]:
        """Yield the objects of a kind, a page at a time; raises StatusError when the server keeps refusing, SchedlabError
        when it has never answered at all.

        The next page is asked for while one is looked at. When the rest of a list is no longer kept there, it goes on
        behind the same key with what is there now, or once more in one piece: an object may come twice.
        """
        place = f"namespaces/{namespace}/" if namespace and kind.namespaced else ""
        path = f"{kind.path}/{place}{kind.resource}"
        selection = {"labelSelector": selector} if selector else {}
        asked = asyncio.ensure_future(self._page(path, {"limit": str(PAGE), **selection}))
        try:
            while True:
                page, rest = await asked
                if rest:
                    asked = asyncio.ensure_future(self._rest(path, rest, selection))
                yield page
                if not rest:
                    return
        finally:
            asked.cancel()

    async def one(self, kind: ResourceType, name: str) -> Any:
        """Return an object that has no namespace; raises StatusError."""
        return await self._get(f"{kind.path}/{kind.resource}/{name}", {})

    async def _rest(self, path: str, rest: str, selection: dict[str, str]) -> tuple[Page, str]:
        for _ in range(_TRIES):
            try:
                page, then = await self._page(path, {"limit": str(PAGE), "continue": rest, **selection})
            except (Expired, Gone) as error:
                rest = _newer(error)
                if not rest:
                    break
            else:
                if then == rest:
                    raise new_service_unavailable(f"{path}: the same page comes again and again")
                return page, then
        return await self._page(path, selection)

    async def _page(self, path: str, query: dict[str, str]) -> tuple[Page, str]:
        """Return a page, and what asks for the next one."""
        answer = await self._get(path, query)
        found = answer if isinstance(answer, dict) else {}
        items, metadata = found.get("items"), found.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        remaining = metadata.get("remainingItemCount")
        page = Page(items if isinstance(items, list) else [], remaining if isinstance(remaining, int) else 0)
        return page, metadata.get("continue") or ""

    async def _get(self, path: str, query: dict[str, str]) -> Any:
        delay_s = 0.5
        for attempt in range(1, self._tries + 1):
            await self._rate_limit.wait()
            try:
                answer = await self._transport.send(Request("GET", path, query))
            except _PASSING as error:
                if attempt == self._tries:
                    self._give_up(error)
                    raise
                await asyncio.sleep(max(delay_s, _asked_to_wait(error)))
                delay_s *= 2
            else:
                self._tries = _TRIES
                return answer
        raise AssertionError("the last try returns or raises")

    def _give_up(self, error: StatusError) -> None:
        """Raise SchedlabError for a server that has never answered; one that is away is not waited for kind by kind."""
        if not self._transport.has_answered:
            access = self._transport.access
            raise SchedlabError(
                error.message, location=access.location, hint="see with kubectl whether this context works"
            ) from error
        if isinstance(error, ServiceUnavailable):
            self._tries = 1


def _newer(error: StatusError) -> str:
    """Return what a server that has compacted the revision of a list gives to go on behind the same key in a newer one."""
    metadata = error.status.get("metadata")
    return str(metadata.get("continue") or "") if isinstance(metadata, dict) else ""


def _asked_to_wait(error: StatusError) -> float:
    return float(min(error.retry_after_s, 30))
