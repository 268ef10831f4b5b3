"""Waiting until nothing can take back what an answer tells of.

With the memory back end that is the case at once, and no task is ever suspended.

Mirrors: the role of etcd's acknowledged writes. Differs: writes are gathered and made safe together.
"""

from __future__ import annotations

import asyncio

from schedlab.apimachinery.errors import new_internal_error
from schedlab.registry.registry import Registry


async def settle(registry: Registry, revision: int) -> None:
    """Wait until a revision is durable; raises InternalError when it is lost."""
    outcomes: list[Exception | None] = []
    waiting: list[asyncio.Future[None]] = []

    def told(error: Exception | None) -> None:
        outcomes.append(error)
        for future in waiting:
            if not future.done():
                future.set_result(None)

    registry.when_durable(revision, told)
    if not outcomes:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(future)
        await future
    error = outcomes[0]
    if error is not None:
        raise new_internal_error(f"the change could not be kept: {error}") from error


def storage_works(registry: Registry) -> bool:
    """Say whether the newest change was kept, or may still be."""
    outcomes: list[Exception | None] = []
    registry.when_durable(registry.revision, outcomes.append)
    return not any(outcomes)
