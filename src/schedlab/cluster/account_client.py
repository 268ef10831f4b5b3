"""A client in this process that may do no more than its user: for parts that stand for a process of a user's own.

What it may not list stays empty and is asked for again, as a process would that waits for its rights.

Mirrors: the role of client-go's REST client and reflectors (v1.36). Differs: no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import Forbidden, StatusError
from schedlab.apimachinery.user import User
from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.authorization import Authorizer, forbidden
from schedlab.apiserver.request_info import RequestInfo
from schedlab.client.inprocess import InProcessClient, outcome_of
from schedlab.client.protocol import Completion, Outcome, Watch, Write
from schedlab.kernel.clock import SECOND_NS, Clock, Timer
from schedlab.registry import Registry

_BACKOFF_NS: Final = SECOND_NS
_BACKOFF_NS_MAX: Final = 30 * SECOND_NS


class AccountClient:
    """Speaks to a registry as `user`; see client.protocol.Client and scheduler_instance.MirroringClient."""

    def __init__(
        self, registry: Registry, authorizer: Authorizer, user: UserInfo, user_agent: str, clock: Clock
    ) -> None:
        identity = User(user.name, user.groups, user.uid, user.extra)
        self._inner = InProcessClient(registry, user_agent, identity)
        self._registry, self._authorizer, self._user, self._clock = registry, authorizer, user, clock
        self._lacking: dict[str, _Awaited] = {}
        self.on_synced: Callable[[], None] = _nothing
        self.on_error: Callable[[str, str, StatusError], None] = lambda *_: None

    def lacking(self) -> tuple[str, ...]:
        """Return the resources that were asked for and may not be listed."""
        return tuple(self._lacking)

    # --- Reading ---

    def get(self, resource: str, name: str, namespace: str = "") -> StoredObject:
        """Return one object; raises StatusError."""
        self._check("get", resource, namespace, name)
        return self._inner.get(resource, name, namespace)

    def read(self, resource: str, name: str, namespace: str, done: Completion) -> None:
        """Return one object through `done`, at once."""
        done(outcome_of(lambda: self.get(resource, name, namespace)))

    def list(self, resource: str, namespace: str = "") -> tuple[Sequence[StoredObject], int]:
        """Return all objects and the revision of the list; nothing while the user may not list them."""
        try:
            self._check_list(resource)
        except Forbidden as error:
            if resource not in self._lacking:
                self._lacking[resource] = _Awaited(self._clock, lambda: self._ask_again(resource))
            self.on_error(resource, "list", error)
            return (), 0
        return self._inner.list(resource, namespace)

    def watch(self, resource: str, since: int, handler: Callable[[WatchEvent], None]) -> Watch:
        """Push every change after a revision; raises StatusError."""
        awaited = self._lacking.get(resource)
        if awaited is None:
            return self._inner.watch(resource, since, handler)
        awaited.handlers.append(handler)
        return awaited

    def _ask_again(self, resource: str) -> None:
        awaited = self._lacking[resource]
        try:
            self._check_list(resource)
        except Forbidden as error:
            self.on_error(resource, "list", error)
            awaited.wait()
            return
        del self._lacking[resource]
        found, revision = self._inner.list(resource)
        for handler in awaited.handlers:
            for obj in found:
                handler(WatchEvent("ADDED", obj))
            awaited.watches.append(self._inner.watch(resource, revision, handler))
        if not self._lacking:
            self.on_synced()

    # --- Writing ---

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Carry the write out if the user may, and tell `done` once nothing can take it back."""
        name = "" if write.verb == "create" and not write.subresource else write.name
        try:
            self._check(write.verb, write.resource, write.namespace, name, write.subresource)
        except Forbidden as error:
            if done is not None:
                done(Outcome(error=error))
            return
        self._inner.submit(write, done)

    # --- Rights ---

    def _check_list(self, resource: str) -> None:
        self._check("list", resource)
        self._check("watch", resource)

    def _check(self, verb: str, resource: str, namespace: str = "", name: str = "", subresource: str = "") -> None:
        kind = self._registry.resource(resource).type
        info = RequestInfo("", verb, True, kind.group, kind.version, namespace, kind.resource, subresource, name)
        verdict = self._authorizer.authorize(self._user, info)
        if not verdict.allowed:
            raise forbidden(self._user, info, verdict.reason)


class _Awaited:
    """A resource that may not be listed yet (client.protocol.Watch)."""

    def __init__(self, clock: Clock, ask: Callable[[], None]) -> None:
        self.handlers: list[Callable[[WatchEvent], None]] = []
        self.watches: list[Watch] = []
        self._clock, self._ask = clock, ask
        self._backoff_ns = _BACKOFF_NS
        self._timer: Timer | None = None
        self.wait()

    def wait(self) -> None:
        """Ask again later, each time after a longer while."""
        self._timer = self._clock.at(self._clock.now_ns() + self._backoff_ns, self._ask)
        self._backoff_ns = min(2 * self._backoff_ns, _BACKOFF_NS_MAX)

    def stop(self) -> None:
        """Ask no more, and follow nothing that was waited for."""
        if self._timer is not None:
            self._timer.cancel()
        for watch in self.watches:
            watch.stop()


def _nothing() -> None:
    """Stand in until somebody wants to know."""
