"""One strategy per resource: prepare, default, admit, validate and the subresources; the door to the store.

Takes requests without HTTP (a verb, a resource, a body) and answers objects or a `StatusError`. A rule of one kind's
fields belongs to `api`, the wire to `apiserver`.

    registry = Registry(Store(), clock, random, features, admission=("NamespaceLifecycle", "Priority"))
    bootstrap(registry)
    pod = registry.create("pods", registry.decode("pods", manifest), "default")       -> StoredObject
    registry.update("pods", "p", obj, "default", WriteOptions(field_manager="me"))    -> Written(object, created)
    registry.patch("pods", "p", "merge", b'{"metadata":…}', "default", subresource="status")
    registry.bind("p", binding, "default")                                            -> Status
    registry.delete("pods", "p", "default", DeleteOptions(grace_period_seconds=0))    -> Deletion
    registry.list("pods", "default", ListOptions(labels=selector, limit=500))         -> ObjectList
    registry.watch("pods", since=revision, handler=seen)                              -> a watch with stop()
    registry.when_durable(pod.revision, waiter)      before a client hears of a write

`decode` turns what a user wrote into the canonical dict that writes take; writes keep the dict, the caller gives it
up. Subresources `status` and their like go through `update` and `patch`.
"""

from schedlab.apimachinery.user import User
from schedlab.registry.bootstrap import bootstrap
from schedlab.registry.registry import Registry
from schedlab.registry.request import (
    EVERYTHING,
    NO_DELETE_OPTIONS,
    NO_OPTIONS,
    DeleteOptions,
    Deletion,
    ListOptions,
    ObjectList,
    WriteOptions,
    Written,
)
from schedlab.registry.resource import Overlay

__all__ = [
    "EVERYTHING",
    "NO_DELETE_OPTIONS",
    "NO_OPTIONS",
    "DeleteOptions",
    "Deletion",
    "ListOptions",
    "ObjectList",
    "Overlay",
    "Registry",
    "User",
    "WriteOptions",
    "Written",
    "bootstrap",
]
