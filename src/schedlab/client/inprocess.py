"""The client of an API server in the same process: requests go straight to the registry.

The answer to a write comes before `submit` returns, unless the store's back end takes its time to make it durable.

Mirrors: the role of client-go's REST client (v1.36). Differs: no HTTP, no retries, no rate limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from schedlab.api.object import StoredObject, WatchEvent
from schedlab.apimachinery.errors import StatusError, new_internal_error
from schedlab.client.protocol import Completion, Outcome, Watch, Write
from schedlab.registry import DeleteOptions, ListOptions, Registry, User, WriteOptions


def outcome_of(read: Callable[[], StoredObject]) -> Outcome:
    """Return what came of reading an object, its failure included."""
    try:
        return Outcome(read())
    except StatusError as error:
        return Outcome(error=error)


class InProcessClient:
    """Speaks to a registry under a user agent, which names the owner of the fields it writes; see protocol.Client.

    What is written of the resources `dropped` is answered and forgotten.
    """

    def __init__(
        self, registry: Registry, user_agent: str, user: User | None = None, *, dropped: frozenset[str] = frozenset()
    ) -> None:
        self.user_agent = user_agent
        self._registry = registry
        self._dropped = dropped
        self._user = User() if user is None else user

    def get(self, resource: str, name: str, namespace: str = "") -> StoredObject:
        """Return one object; raises StatusError."""
        return self._registry.get(resource, name, namespace)

    def read(self, resource: str, name: str, namespace: str, done: Completion) -> None:
        """Return one object through `done`, at once."""
        done(outcome_of(lambda: self.get(resource, name, namespace)))

    def list(self, resource: str, namespace: str = "") -> tuple[Sequence[StoredObject], int]:
        """Return all objects in key order and the revision of the list."""
        found = self._registry.list(resource, namespace, ListOptions())
        return found.items, found.revision

    def watch(self, resource: str, since: int, handler: Callable[[WatchEvent], None]) -> Watch:
        """Push every change after a revision; raises StatusError."""
        return self._registry.watch(resource, since, handler)

    def submit(self, write: Write, done: Completion | None = None) -> None:
        """Carry the write out and tell `done` once nothing can take it back."""
        if write.resource in self._dropped:
            if done is not None:
                done(Outcome())
            return
        try:
            obj = self._carry_out(write)
        except StatusError as error:
            if done is not None:
                done(Outcome(error=error))
            return
        if done is None:
            return
        outcome, revision = Outcome(obj if write.wants_object else None), self._registry.revision
        if revision <= self._registry.durable_revision:
            done(outcome)
        else:
            self._registry.when_durable(revision, partial(_settle, done, outcome))

    def _carry_out(self, write: Write) -> StoredObject | None:
        registry, resource, options = self._registry, write.resource, self._write_options(write)
        if write.verb == "delete":
            return registry.delete(resource, write.name, write.namespace, self._delete_options(write)).object
        if write.verb == "patch":
            return self._patch(write, options)
        if write.verb == "create" and not write.subresource:
            return registry.create_written(resource, _object(write), write.namespace, options)
        body = _object(write)
        obj = dict(body) if write.is_canonical else registry.decode(resource, body, write.subresource)
        if write.verb == "update":
            return registry.update(resource, write.name, obj, write.namespace, options, write.subresource).object
        if write.subresource == "binding":
            registry.bind(write.name, obj, write.namespace, options)
            return None
        if write.subresource == "eviction":
            registry.evict(write.name, obj, write.namespace, options)
            return None
        raise registry.resource(resource).not_supported("create")

    def _patch(self, write: Write, options: WriteOptions) -> StoredObject:
        registry, resource, subresource = self._registry, write.resource, write.subresource
        if write.patch_type == "apply":
            configuration = _object(write)
            return registry.apply(resource, write.name, configuration, write.namespace, options, subresource).object
        patch = {} if write.body is None else write.body
        return registry.patch(
            resource, write.name, write.patch_type, patch, write.namespace, options, subresource
        ).object

    def _write_options(self, write: Write) -> WriteOptions:
        options = write.options
        if not options:
            return WriteOptions(user_agent=self.user_agent, user=self._user, wants_object=write.wants_object)
        return WriteOptions(
            field_manager=options.get("fieldManager", ""),
            user_agent=self.user_agent,
            dry_run=bool(options.get("dryRun")),
            force=options.get("force") == "true",
            user=self._user,
            wants_object=write.wants_object,
        )

    def _delete_options(self, write: Write) -> DeleteOptions:
        body: Mapping[str, Any] = _object(write) if write.body else {}
        preconditions = body.get("preconditions") or {}
        return DeleteOptions(
            grace_period_seconds=body.get("gracePeriodSeconds"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            propagation_policy=body.get("propagationPolicy"),
            orphan_dependents=body.get("orphanDependents"),
            dry_run=bool(body.get("dryRun") or write.options.get("dryRun")),
            user=self._user,
        )


def _settle(done: Completion, outcome: Outcome, lost: Exception | None) -> None:
    """Tell the outcome of a write that is safe, or was lost."""
    if lost is not None:
        outcome = Outcome(error=new_internal_error(f"the change could not be kept: {lost}"))
    done(outcome)


def _object(write: Write) -> Mapping[str, Any]:
    assert isinstance(write.body, (dict, Mapping)), (
        f"{write.verb} of {write.resource} {write.name} needs an object as body"
    )
    return write.body
