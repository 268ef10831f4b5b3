"""The role of etcd: one revision counter, optimistic concurrency, the watch log, kept history and copy-on-write
forks.

Holds immutable bytes and never looks inside a body. There is a single writer. It is imported directly by `registry`,
`cluster` and the back ends alone; everybody else goes through the registry.
"""

from schedlab.store.backend import Backend, DurabilityListener, MemoryBackend, Snapshot
from schedlab.store.errors import Compacted, KeyExists, KeyMissing, StaleRevision, StoreError
from schedlab.store.store import FIRST_REVISION, Page, Store, StoreWatch

__all__ = [
    "FIRST_REVISION",
    "Backend",
    "Compacted",
    "DurabilityListener",
    "KeyExists",
    "KeyMissing",
    "MemoryBackend",
    "Page",
    "Snapshot",
    "StaleRevision",
    "Store",
    "StoreError",
    "StoreWatch",
]
