"""Reading etcd's history: what schedlab wrote, write by write, and whether somebody else wrote, too.

etcd gives all keys of one transaction one revision of its own, in the order in which they were written; the marker is
the last of each write of schedlab. What has no marker was written by another program.

Mirrors: staging/src/k8s.io/apiserver/pkg/storage/etcd3/watcher.go (v1.36)
Differs: kube-apiserver takes in what others write; here a cluster has one writer, which must know all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.backends.etcd_client import EtcdClient
from schedlab.backends.etcd_keys import KeySpace
from schedlab.backends.etcd_marker import Marker
from schedlab.kernel.errors import SchedlabError


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key of a write; a value is None where there is none."""

    key: bytes
    value: bytes | None
    previous: bytes | None
    created: bool


@dataclass(frozen=True, slots=True)
class Write:
    """One transaction of schedlab: its changes have the revisions of the cluster up to the marker's."""

    etcd_revision: int
    marker: Marker
    changes: Sequence[KeyChange]


class CompactedError(Exception):
    """The history begins behind `revision`, later than was asked for."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"etcd has forgotten what was before revision {revision}")
        self.revision = revision


def read_writes(client: EtcdClient, keys: KeySpace, after: int, upto: int) -> Iterator[Write]:
    """Walk over the writes behind one revision of etcd, up to another one, which is a write of schedlab.

    Raises CompactedError, and SchedlabError when there is a change that is none of schedlab's.
    """
    rpc = client.rpc
    start, end = keys.range
    wanted = rpc.WatchCreateRequest(key=start, range_end=end, start_revision=after + 1, prev_kv=True, fragment=True)
    ended = threading.Event()

    def requests() -> Iterator[Any]:
        yield rpc.WatchRequest(create_request=wanted)
        ended.wait()

    stream = client.stream("Watch", "Watch", requests())
    try:
        for write in _writes(_events(client, stream), keys):
            yield write
            if write.etcd_revision >= upto:
                return
    finally:
        ended.set()
        stream.cancel()


def _events(client: EtcdClient, stream: Any) -> Iterator[Any]:
    for answer in client.answers(stream):
        if answer.canceled:
            raise CompactedError(answer.compact_revision)
        yield from answer.events


def _writes(events: Iterator[Any], keys: KeySpace) -> Iterator[Write]:
    gathered: list[Any] = []
    for event in events:
        key, revision = event.kv.key, event.kv.mod_revision
        if key == keys.writer:
            continue
        if gathered and gathered[0].kv.mod_revision != revision:
            raise foreign_change(gathered[0].kv.key, gathered[0].kv.mod_revision)
        if key != keys.marker:
            gathered.append(event)
            continue
        if event.type == event.DELETE:
            raise foreign_change(key, revision)
        yield Write(revision, Marker.decode(event.kv.value, keys.marker.decode()), [_change(each) for each in gathered])
        gathered = []


def _change(event: Any) -> KeyChange:
    return KeyChange(
        event.kv.key,
        None if event.type == event.DELETE else event.kv.value,
        event.prev_kv.value if event.HasField("prev_kv") else None,
        event.kv.create_revision == event.kv.mod_revision,
    )


def foreign_change(key: bytes, revision: int) -> SchedlabError:
    """Return the refusal to go on beside another program that writes."""
    return SchedlabError(
        f"another program has changed {key.decode(errors='replace')} (revision {revision} of etcd)",
        location="etcd",
        hint="a cluster has one writer: keep other programs away, then put a snapshot of etcd in place or begin anew "
        "with another --etcd-prefix",
    )
