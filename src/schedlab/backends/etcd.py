"""Keeps a cluster in etcd, where kube-apiserver would: the same keys, JSON values, one writer.

    backend = EtcdBackend(EtcdPlace(("http://127.0.0.1:2379",)), post=loop.call_soon_threadsafe, on_broken=...)
    store = Store(backend)          # loads what etcd holds
    ...
    backend.close()

    transaction   version of the marker as it was?  ─► object, object, deletion, …, marker

Changes that wait go together in one transaction; it is safe when etcd has answered. The comparison makes it harmless
to repeat one whose answer was lost, and stops a writer whom another one has followed. What etcd has never been handed,
or has refused, is taken back and the next batch tried again; what may or may not be there ends the process.

Mirrors: staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go (v1.36)
Differs: values carry their resourceVersion, because one revision of etcd holds many changes; one writer (ADR 0007).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.backends.etcd_claim import WriterClaim
from schedlab.backends.etcd_client import (
    OPTION,
    EtcdClient,
    EtcdRefusedError,
    EtcdTLS,
    EtcdUnreachableError,
)
from schedlab.backends.etcd_history import CompactedError, KeyChange, Write, foreign_change, read_writes
from schedlab.backends.etcd_keys import DEFAULT_PREFIX, KeySpace
from schedlab.backends.etcd_marker import Marker
from schedlab.backends.group_writer import Compaction, GroupWriter, Post, WriteRefusedError
from schedlab.kernel.errors import SchedlabError
from schedlab.store import FIRST_REVISION, DurabilityListener, Snapshot

#: etcd takes 128 operations in a transaction (--max-txn-ops), the marker among them, and 1.5 MiB (--max-request-bytes).
_CHANGES_MAX: Final = 127
_BYTES_MAX: Final = 1 << 20
_PAGE: Final = 1000
#: How long a transaction is repeated that may have arrived: so long etcd may need to come back.
_IN_DOUBT_S: Final = 60.0
#: Answers by which etcd says that it has done nothing, and might do something else.
_REFUSALS: Final = frozenset(("RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"))

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class EtcdPlace:
    """Which etcd, and where in it."""

    servers: tuple[str, ...]
    prefix: str = DEFAULT_PREFIX
    tls: EtcdTLS = field(default_factory=EtcdTLS)


class EtcdBackend:
    """Keeps what a store writes under a prefix to which nobody else writes (store.Backend)."""

    def __init__(self, place: EtcdPlace, *, post: Post, on_broken: Callable[[Exception], None]) -> None:
        """Reach etcd and take the right to write; raises SchedlabError."""
        self._keys = KeySpace(place.prefix)
        self._name = secrets.token_hex(8)
        self._client = EtcdClient(place.servers, place.tls)
        self._claim = WriterClaim(self._client, self._keys, self._name)
        self._marker = Marker(FIRST_REVISION, self._name)
        #: etcd's revision of the marker, and the newest one that etcd is known to have.
        self._marker_revision = 0
        self._etcd_revision = 0
        #: Revisions of the cluster, and of etcd, that belong together: the last change of each write.
        self._writes: list[tuple[int, int]] = []
        try:
            self._told_user(self._claim.take)
        except BaseException:
            self._client.close()
            raise
        self._writer = GroupWriter(self._write, post, on_broken, together=_count_together)

    def close(self) -> None:
        """Write what is queued, give the right to write back."""
        self._writer.close()
        self._claim.release()
        self._client.close()

    def attach(self, listener: DurabilityListener) -> None:
        """Begin to write, and report to this listener."""
        self._writer.start(listener)

    def append(self, event: WatchEvent) -> None:
        """Queue a change."""
        self._writer.put(event)

    def compact(self, floor: int) -> None:
        """Queue a compaction."""
        self._writer.put(Compaction(floor))

    def _told_user(self, ask: Callable[[], Answer]) -> Answer:
        """Ask etcd before the cluster runs: what goes wrong is for whoever starts it."""
        try:
            return ask()
        except EtcdUnreachableError as error:
            raise SchedlabError(str(error), location=OPTION, hint="start it, or correct the address") from error
        except EtcdRefusedError as error:
            raise SchedlabError(f"etcd refuses: {error}", location=OPTION, hint="see what etcd logs") from error

    # --- Loading -----------------------------------------------------------------------------------------------------

    def load(self) -> Snapshot:
        """Read every object and the changes that etcd still has; raises SchedlabError when others have written."""
        return self._told_user(self._load)

    def _load(self) -> Snapshot:
        rpc = self._client.rpc
        found = self._client.call("KV", "Range", rpc.RangeRequest(key=self._keys.marker)).kvs
        if found:
            held = Marker.decode(found[0].value, self._keys.marker.decode())
            self._marker, self._marker_revision = Marker(held.revision, self._name), found[0].mod_revision
        else:
            self._require_empty()
        # A write of its own at the end of what is there: everything up to it can be waited for.
        self._transact([], self._marker)
        objects = dict(self._objects())
        changes = self._changes(objects)
        return Snapshot(self._marker.revision, tuple(objects.values()), changes)

    def _require_empty(self) -> None:
        for key, _ in self._pairs(0, keys_only=True):
            raise SchedlabError(
                f"etcd holds what schedlab did not write, {key.decode(errors='replace')} among it",
                location=OPTION,
                hint="use an empty etcd, or another --etcd-prefix",
            )

    def _pairs(self, revision: int, *, keys_only: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Walk over keys and values, but for our own, as they are at a revision of etcd; 0 is the newest one."""
        rpc = self._client.rpc
        start, end = self._keys.range
        while True:
            request = rpc.RangeRequest(key=start, range_end=end, limit=_PAGE, revision=revision, keys_only=keys_only)
            page = self._client.call("KV", "Range", request)
            for pair in page.kvs:
                if pair.key not in (self._keys.marker, self._keys.writer):
                    yield pair.key, pair.value
            if not page.more:
                return
            start = page.kvs[-1].key + b"\0"

    def _objects(self) -> Iterator[tuple[bytes, StoredObject]]:
        for key, value in self._pairs(self._marker_revision):
            yield key, self._decode(key, value)

    def _decode(self, key: bytes, value: bytes) -> StoredObject:
        resource = self._keys.resource(key)
        raw, revision = _read_value(value)
        if resource is None or not FIRST_REVISION < revision <= self._marker.revision:
            raise SchedlabError(
                f"{key.decode(errors='replace')} does not hold what schedlab writes there",
                location=OPTION,
                hint="put a snapshot of etcd in place, or begin anew with another --etcd-prefix",
            )
        return StoredObject.encode(resource, raw, revision)

    def _changes(self, objects: dict[bytes, StoredObject]) -> list[WatchEvent]:
        """Read the changes that led to the objects, as far back as etcd tells of them without a gap."""
        seen: dict[bytes, StoredObject] = {}
        changes: list[WatchEvent] = []
        writes: list[tuple[int, int]] = []
        for write in self._history():
            first = write.marker.revision - len(write.changes) + 1
            for number, change in enumerate(write.changes):
                event = self._event(change, first + number, objects, seen)
                if event is None:
                    changes.clear()
                else:
                    changes.append(event)
            writes.append((write.marker.revision, write.etcd_revision))
        # Without a history there is the one write at its end, of just now.
        self._writes = writes or self._writes
        return changes

    def _history(self) -> Iterator[Write]:
        after, upto = 0, self._marker_revision
        try:
            yield from read_writes(self._client, self._keys, after, upto)
        except CompactedError as error:
            if error.revision < upto:
                yield from read_writes(self._client, self._keys, error.revision, upto)

    def _event(
        self, change: KeyChange, revision: int, objects: dict[bytes, StoredObject], seen: dict[bytes, StoredObject]
    ) -> WatchEvent | None:
        """Make the change of a key; None when etcd no longer has what was there before."""
        key, previous = change.key, seen.get(change.key)
        if previous is None and change.previous is not None:
            previous = self._decode(key, change.previous)
        if change.value is None:
            seen.pop(key, None)
            return None if previous is None else WatchEvent("DELETED", previous.with_revision(revision), previous)
        now = objects.get(key)
        obj = now if now is not None and now.revision == revision else self._decode(key, change.value)
        if obj.revision != revision:
            raise foreign_change(key, revision)
        seen[key] = obj
        if change.created:
            return WatchEvent("ADDED", obj)
        return None if previous is None else WatchEvent("MODIFIED", obj, previous)

    # --- On the writer's thread --------------------------------------------------------------------------------------

    def _write(self, batch: Sequence[WatchEvent] | Compaction) -> None:
        if isinstance(batch, Compaction):
            self._compact(batch.floor)
            return
        marker = Marker(batch[-1].revision, self._name)
        try:
            self._transact([self._operation(event) for event in batch], marker)
        except EtcdUnreachableError as error:
            if error.sent:
                raise
            raise WriteRefusedError(str(error)) from error
        except EtcdRefusedError as error:
            if error.code not in _REFUSALS:
                raise
            raise WriteRefusedError(f"etcd refuses it: {error}") from error

    def _operation(self, event: WatchEvent) -> Any:
        rpc = self._client.rpc
        key = self._keys.key(event.object.resource, event.object.key)
        if event.type == "DELETED":
            return rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))
        return rpc.RequestOp(request_put=rpc.PutRequest(key=key, value=event.object.json()))

    def _transact(self, operations: list[Any], marker: Marker) -> None:
        """Write operations and the marker behind the marker's last version."""
        rpc = self._client.rpc
        encoded = marker.encode()
        request = rpc.TxnRequest(
            compare=[
                rpc.Compare(
                    result=rpc.Compare.EQUAL,
                    target=rpc.Compare.MOD,
                    key=self._keys.marker,
                    mod_revision=self._marker_revision,
                )
            ],
            success=[
                *operations,
                rpc.RequestOp(request_put=rpc.PutRequest(key=self._keys.marker, value=encoded)),
            ],
            failure=[rpc.RequestOp(request_range=rpc.RangeRequest(key=self._keys.marker))],
        )
        answer = self._ask(request)
        written = answer.header.revision
        if not answer.succeeded:
            found = answer.responses[0].response_range.kvs
            if not found or found[0].value != encoded:
                raise SchedlabError(
                    "another schedlab has taken over",
                    location=self._keys.marker.decode(),
                    hint="a cluster has one writer: let one of the two use another --etcd-prefix",
                )
            written = found[0].mod_revision  # it had arrived, but its answer had not
        before, self._etcd_revision = self._etcd_revision, written
        self._marker, self._marker_revision = marker, written
        self._writes.append((marker.revision, written))
        if before and written != before + 1:
            self._look_for_others(before)

    def _ask(self, request: Any) -> Any:
        try:
            return self._client.call("KV", "Txn", request)
        except EtcdUnreachableError as error:
            if not error.sent:
                raise
        try:
            return self._client.call("KV", "Txn", request, patience_s=_IN_DOUBT_S)
        except EtcdUnreachableError as error:
            error.sent = True  # by the first call
            raise

    def _look_for_others(self, after: int) -> None:
        """Somebody has written to this etcd: see that it was not under our prefix."""
        try:
            for _ in read_writes(self._client, self._keys, after, self._marker_revision):
                pass
        except CompactedError:
            return  # what others wrote before they compacted, it cannot tell any more

    def _compact(self, floor: int) -> None:
        """Let etcd forget the revisions of the writes that end at or before the floor, all but the last."""
        done = [pair for pair in self._writes if pair[0] <= floor]
        if not done:
            return
        self._writes = self._writes[len(done) - 1 :]
        request = self._client.rpc.CompactionRequest(revision=done[-1][1])
        try:
            self._client.call("KV", "Compact", request)
        except EtcdUnreachableError:
            return  # the next one does its work, too
        except EtcdRefusedError as error:
            if error.code != "OUT_OF_RANGE":  # it has been done already
                raise


def _count_together(queued: Sequence[WatchEvent]) -> int:
    """Count what fits into one transaction; a key may come once in it."""
    keys: set[tuple[str, str]] = set()
    size = 0
    for number, event in enumerate(queued[:_CHANGES_MAX]):
        key = (event.object.resource, event.object.key)
        size += len(event.object.json())
        if number and (key in keys or size > _BYTES_MAX):
            return number
        keys.add(key)
    return min(len(queued), _CHANGES_MAX)


def _read_value(value: bytes) -> tuple[dict[str, Any], int]:
    """Return the object in a value and its revision; 0 where there is none."""
    try:
        raw = orjson.loads(value)
        return raw, int(raw["metadata"]["resourceVersion"])
    except (ValueError, TypeError, KeyError):
        return {}, 0
