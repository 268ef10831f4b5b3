"""The objects of a cluster as they are now or were at a revision that is kept, shared until either side changes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from schedlab.kernel.errors import SchedlabError
from schedlab.store.errors import Compacted

if TYPE_CHECKING:
    from schedlab.store import Store

KEEP_MORE: Final = "keep more of it: start with a higher --history (ClusterSettings.history)"


def fork_store(store: Store, revision: int | None = None) -> Store:
    """Return an independent store; raises SchedlabError for a revision that is not kept or has not happened."""
    if revision is not None and revision > store.durable_revision:
        raise SchedlabError(
            f"revision {revision} has not happened yet; the newest one is {store.durable_revision}",
            hint="name a revision of the past",
        )
    try:
        return store.fork(revision)
    except Compacted as error:
        raise past_lost(revision or store.durable_revision) from error


def past_lost(revision: int) -> SchedlabError:
    """Return the error for a moment that can no longer be made again."""
    return SchedlabError(f"the past of revision {revision} is no longer kept", hint=KEEP_MORE)
