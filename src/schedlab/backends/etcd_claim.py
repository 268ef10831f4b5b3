"""The right to write to a prefix of etcd: a key that goes away some seconds after its holder has.

A second server is refused while the key is there. That is a courtesy to users; what keeps two writers apart is the
marker, whose version every write compares.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any, Final

import orjson

from schedlab.backends.etcd_client import EtcdClient, EtcdRefusedError, EtcdUnreachableError
from schedlab.backends.etcd_keys import KeySpace
from schedlab.kernel.errors import SchedlabError

#: How long the key outlives its holder.
TTL_S: Final = 5
#: How long a new server waits for the key of one that was killed: etcd ends leases some time after they are due.
PATIENCE_S: Final = TTL_S + 3
_RENEW_S: Final = TTL_S / 4
_POLL_S: Final = 0.1


class WriterClaim:
    """The key of a running writer; a thread keeps its lease alive until `release`."""

    def __init__(self, client: EtcdClient, keys: KeySpace, writer: str) -> None:
        self._client = client
        self._key = keys.writer
        self._value = orjson.dumps({"writer": writer, "pid": os.getpid(), "host": socket.gethostname()})
        self._lease = 0
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._run, name="schedlab-etcd-claim", daemon=True)

    def take(self) -> None:
        """Take the key, waiting for one whose holder is gone; raises SchedlabError when another server has it."""
        deadline = time.monotonic() + PATIENCE_S
        while (holder := self._try()) is not None:
            if time.monotonic() > deadline:
                raise SchedlabError(
                    f"{self._key.decode()} says that process {holder.get('pid')} on {holder.get('host')} uses it",
                    location="--etcd-servers",
                    hint="stop it (schedlab down), or choose another etcd, or another --etcd-prefix",
                )
            time.sleep(_POLL_S)
        self._thread.start()

    def release(self) -> None:
        """Give the key back; harmless when that has been done already."""
        if self._released.is_set():
            return
        self._released.set()
        if self._thread.is_alive():
            self._thread.join()
        # If etcd is away, the lease ends by itself.
        with contextlib.suppress(EtcdUnreachableError, EtcdRefusedError):
            self._client.call(
                "Lease", "LeaseRevoke", self._client.rpc.LeaseRevokeRequest(ID=self._lease), patience_s=0.0
            )

    def _try(self) -> dict[str, Any] | None:
        """Take the key if it is free; return who holds it otherwise."""
        rpc = self._client.rpc
        if not self._lease:
            self._lease = self._client.call("Lease", "LeaseGrant", rpc.LeaseGrantRequest(TTL=TTL_S)).ID
        free = rpc.Compare(result=rpc.Compare.EQUAL, target=rpc.Compare.CREATE, key=self._key, create_revision=0)
        put = rpc.RequestOp(request_put=rpc.PutRequest(key=self._key, value=self._value, lease=self._lease))
        look = rpc.RequestOp(request_range=rpc.RangeRequest(key=self._key))
        try:
            answer = self._client.call("KV", "Txn", rpc.TxnRequest(compare=[free], success=[put], failure=[look]))
        except EtcdRefusedError as error:
            if error.code != "NOT_FOUND":
                raise
            # The lease has ended while another server had the key.
            self._lease = 0
            return {}
        if answer.succeeded:
            return None
        found = answer.responses[0].response_range.kvs
        if found and found[0].value == self._value:
            return None  # a request that was repeated
        return _decoded(found[0].value) if found else {}

    def _run(self) -> None:
        while not self._released.wait(_RENEW_S):
            with contextlib.suppress(EtcdUnreachableError, EtcdRefusedError):
                if not self._renew():
                    self._lease = 0
                    if self._try() is not None:
                        return  # another server was quicker: the next write is refused by its marker

    def _renew(self) -> bool:
        """Prolong the lease; False when it has ended."""
        request = self._client.rpc.LeaseKeepAliveRequest(ID=self._lease)
        stream = self._client.stream("Lease", "LeaseKeepAlive", iter((request,)), timeout_s=TTL_S)
        return any(answer.TTL > 0 for answer in self._client.answers(stream))


def _decoded(value: bytes) -> dict[str, Any]:
    try:
        read = orjson.loads(value)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}
