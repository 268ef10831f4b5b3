"""Why the store refuses: the registry turns these into what kube-apiserver answers.

StoreError
├── KeyExists       create: the key is taken
├── KeyMissing      update, delete: there is no such key
├── StaleRevision   update, delete: the object has changed since it was read
└── Compacted       list, watch, fork: the revision is older than what is kept
"""

from __future__ import annotations


class StoreError(Exception):
    """The base of all refusals."""


class KeyExists(StoreError):
    """The key is taken."""


class KeyMissing(StoreError):
    """There is no such key."""


class StaleRevision(StoreError):
    """The object is at another revision than expected."""


class Compacted(StoreError):
    """The revision is older than what is kept; `oldest` is the first that is."""

    def __init__(self, revision: int, oldest: int) -> None:
        super().__init__(f"revision {revision} is older than {oldest}")
        self.revision = revision
        self.oldest = oldest
