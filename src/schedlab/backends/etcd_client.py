"""Calls to an etcd of one or several members: TLS, time limits, the next member when one does not answer.

What is asked here may be asked twice: reads, leases, compactions, and transactions that compare what they replace. So a
call is repeated until a member has answered it or the time is up.

Mirrors: staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/etcd3.go (v1.36)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from schedlab.kernel.errors import SchedlabError

OPTION: Final = "--etcd-servers"
#: How long one member may take, and how long all of them may.
ANSWER_S: Final = 5.0
PATIENCE_S: Final = 5.0
_PAUSE_S: Final = 0.1
_OPTIONS: Final = (
    # A page of large objects is more than the 4 MiB that gRPC takes by itself.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
#: gRPC's words for a request that has left nobody's hands.
_NOT_SENT: Final = "failed to connect to all addresses"


@dataclass(frozen=True, slots=True)
class EtcdTLS:
    """Files for https; names are those of kube-apiserver's options --etcd-cafile, --etcd-certfile and --etcd-keyfile."""

    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None


class EtcdUnreachableError(Exception):
    """No member has answered in time; `sent` says whether one may have done what was asked all the same."""

    def __init__(self, server: str, details: str, *, sent: bool) -> None:
        super().__init__(f"etcd at {server} does not answer: {details}")
        self.sent = sent


class EtcdRefusedError(Exception):
    """A member has answered that it does not do what was asked; `code` is gRPC's name of the reason."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(details)
        self.code = code


class EtcdClient:
    """Stubs for every member; `call` uses the member that answered last."""

    def __init__(self, servers: tuple[str, ...], tls: EtcdTLS) -> None:
        """Read the addresses and the files; raises SchedlabError. Nobody is called yet."""
        self._grpc, self.rpc = load_library()
        self._servers = servers
        schemes = [_scheme(server) for server in servers]
        credentials = self._credentials(tls) if "https" in schemes else None
        self._channels = [self._channel(server, credentials) for server in servers]
        self._current = 0

    def close(self) -> None:
        """Let go of the connections."""
        for channel in self._channels:
            channel.close()

    def call(self, stub: str, method: str, request: Any, *, patience_s: float = PATIENCE_S) -> Any:
        """Ask until somebody answers; raises EtcdUnreachableError, EtcdRefusedError."""
        deadline = time.monotonic() + patience_s
        sent = False
        while True:
            try:
                return self._method(stub, method)(request, timeout=ANSWER_S)
            except self._grpc.RpcError as error:
                details = self._raise_refusal(error)
                sent = sent or not details.startswith(_NOT_SENT)
            server = self._servers[self._current]
            self._current = (self._current + 1) % len(self._channels)
            if time.monotonic() >= deadline:
                raise EtcdUnreachableError(server, details, sent=sent)
            if self._current == 0:
                time.sleep(_PAUSE_S)

    def stream(self, stub: str, method: str, requests: Iterator[Any], *, timeout_s: float | None = None) -> Any:
        """Open a stream to the member that answered last; `cancel` ends it."""
        return self._method(stub, method)(requests, timeout=timeout_s)

    def answers(self, stream: Any) -> Iterator[Any]:
        """Walk over what a stream brings; raises EtcdUnreachableError, EtcdRefusedError."""
        try:
            yield from stream
        except self._grpc.RpcError as error:
            details = self._raise_refusal(error)
            raise EtcdUnreachableError(self._servers[self._current], details, sent=True) from error

    def _method(self, stub: str, method: str) -> Callable[..., Any]:
        made = getattr(self.rpc, f"{stub}Stub")(self._channels[self._current])
        found: Callable[..., Any] = getattr(made, method)
        return found

    def _raise_refusal(self, error: Any) -> str:
        """Raise what asking again does not change; return what was said otherwise."""
        code, details = error.code(), str(error.details())
        if code not in (self._grpc.StatusCode.UNAVAILABLE, self._grpc.StatusCode.DEADLINE_EXCEEDED):
            raise EtcdRefusedError(code.name, details) from error
        return details

    # --- Connections -------------------------------------------------------------------------------------------------

    def _channel(self, server: str, credentials: Any) -> Any:
        target = urlsplit(server).netloc
        if _scheme(server) == "https":
            return self._grpc.secure_channel(target, credentials, options=_OPTIONS)
        return self._grpc.insecure_channel(target, options=_OPTIONS)

    def _credentials(self, tls: EtcdTLS) -> Any:
        if (tls.certfile is None) != (tls.keyfile is None):
            raise SchedlabError(
                "a client certificate and its key belong together",
                location="--etcd-certfile" if tls.keyfile is None else "--etcd-keyfile",
                hint="give both --etcd-certfile and --etcd-keyfile, or none of them",
            )
        return self._grpc.ssl_channel_credentials(
            root_certificates=_read(tls.cafile, "--etcd-cafile"),
            private_key=_read(tls.keyfile, "--etcd-keyfile"),
            certificate_chain=_read(tls.certfile, "--etcd-certfile"),
        )


def load_library() -> tuple[Any, Any]:
    """Import gRPC and etcd's messages; raises SchedlabError where the extra is not installed."""
    # What goes wrong is told by us; gRPC would write it to the terminal, too.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    try:
        import grpc
        from aetcd import rpc
    except ImportError as error:
        raise SchedlabError(
            f"the client for etcd is not installed ({error})",
            location=OPTION,
            hint="install it: pip install 'schedlab[etcd]', or keep the cluster in a folder: --data-dir DIR",
        ) from error
    return grpc, rpc


def read_servers(text: str) -> tuple[str, ...]:
    """Read a list of URLs with commas between them; raises SchedlabError."""
    servers = tuple(part.strip() for part in text.split(","))
    for server in servers:
        if not _is_address(server):
            raise SchedlabError(
                f"{server!r} is not the address of an etcd",
                location=OPTION,
                hint="give URLs such as http://127.0.0.1:2379, with commas between them",
            )
    return servers


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname and parts.port) and parts.path in ("", "/")
    except ValueError:
        return False


def _scheme(server: str) -> str:
    return urlsplit(server).scheme


def _read(file: Path | None, option: str) -> bytes | None:
    if file is None:
        return None
    try:
        return file.read_bytes()
    except OSError as error:
        raise SchedlabError(
            f"{file} cannot be read: {error.strerror}", location=option, hint="name a readable PEM file"
        ) from error
