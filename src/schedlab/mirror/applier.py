"""What happens elsewhere, done here too: objects created, changed and deleted in a real cluster.

Mirrors: simulator/resourceapplier of kube-scheduler-simulator
Differs: what the other cluster's history makes impossible here is counted, not fatal: an object that is there already,
one that is gone, a change that a pod which runs here can no longer take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from schedlab.api.object import Object
from schedlab.apimachinery.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound, StatusError
from schedlab.mirror.kinds import NAMESPACES, PODS, PRIORITY_CLASSES, VOLUMES
from schedlab.mirror.snapshot import rebind
from schedlab.registry import DeleteOptions, Registry, WriteOptions
from schedlab.registry.bootstrap import NAMESPACES as OWN_NAMESPACES

#: Returns another state of an object of a resource, which is not changed itself.
Edit: TypeAlias = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
EventWord: TypeAlias = Literal["Add", "Update", "Delete"]

_FOREIGN: Final = (
    "uid",
    "generation",
    "resourceVersion",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_ACCOUNT: Final = ("serviceAccountName", "serviceAccount")
_AGENT: Final = "simulator"
_PROBLEMS_MAX: Final = 1000


@dataclass(slots=True)
class Applied:
    """What was done, by `Add pods` and the like, and what was not: by reason, with the first messages."""

    done: Counter[str] = field(default_factory=Counter)
    tolerated: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON has them."""
        return {
            "done": dict(self.done),
            "tolerated": dict(self.tolerated),
            "skipped": dict(self.skipped),
            "failed": dict(self.failed),
            "problems": self.problems,
        }


def unchanged(_resource: str, source: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave an object as it is."""
    return source


class Applier:
    """Applies events to a registry. `wanted` says which objects count at all, `edited` changes those of other events
    than deletions. With `renews` an addition of what is here already is a change of it, since whoever follows a cluster
    again has missed what happened meanwhile; if it is only about to go here, it goes at once: there it has gone.
    """

    def __init__(
        self,
        registry: Registry,
        wanted: Callable[[str, Mapping[str, Any]], bool] = lambda *_: True,
        edited: Edit = unchanged,
        *,
        renews: bool = False,
    ) -> None:
        self.applied = Applied()
        self._renews = renews
        self._registry = registry
        self._wanted, self._edited = wanted, edited

    def apply(self, event: EventWord, resource: str, source: Mapping[str, Any]) -> bool:
        """Do what an event says; False when a bound volume has to wait for its claim."""
        counted = f"{event} {resource}"
        if why := self._left_out(event, resource, source):
            self.applied.skipped[f"{counted}: {why}"] += 1
            return True
        if event != "Delete":
            source = self._edited(resource, source)
        try:
            if event == "Delete":
                self._delete(resource, source["metadata"])
            elif not self._write(event, resource, self._own(event, resource, source)):
                return False
        except (AlreadyExists, NotFound, Conflict) as error:
            if self._renews and event == "Add" and isinstance(error, AlreadyExists):
                return self._renew(resource, source)
            self.applied.tolerated[f"{counted}: {error.reason}"] += 1
        except StatusError as error:
            self._note(counted, source, error)
        else:
            self.applied.done[counted] += 1
        return True

    def _left_out(self, event: EventWord, resource: str, source: Mapping[str, Any]) -> str:
        """Say why an event is not for this cluster, "" if it is."""
        if not self._wanted(resource, source):
            return "not asked for"
        if event == "Delete" and _is_everywhere(resource, source["metadata"]["name"]):
            return "every cluster has it"
        if event == "Update" and resource == PODS.resource and (source.get("spec") or {}).get("nodeName"):
            # Where it runs there is that cluster's decision; here the scheduler makes its own.
            return "bound in the source"
        return ""

    def _renew(self, resource: str, source: Mapping[str, Any]) -> bool:
        name = source["metadata"]["name"]
        namespace = self._namespace(resource, source["metadata"])
        if not self._registry.get(resource, name, namespace).view.metadata.deletion_timestamp:
            return self.apply("Update", resource, source)
        self._registry.remove(resource, name, namespace)
        return self.apply("Add", resource, source)

    def _own(self, event: EventWord, resource: str, source: Mapping[str, Any]) -> Object:
        """Return the object without what only the other cluster can say, and with what was decided of it here."""
        obj: Object = dict(source)
        obj["metadata"] = {key: value for key, value in source["metadata"].items() if key not in _FOREIGN}
        if resource == PODS.resource:
            obj["metadata"].pop("ownerReferences", None)
            spec = source.get("spec") or {}
            obj["spec"] = {key: value for key, value in spec.items() if key not in _ACCOUNT}
            if event == "Update":
                here = self._registry.get(resource, obj["metadata"]["name"], obj["metadata"].get("namespace", ""))
                obj["spec"] |= {
                    key: here.raw["spec"][key] for key in (*_ACCOUNT, "nodeName") if key in here.raw["spec"]
                }
        return obj

    def _write(self, event: EventWord, resource: str, obj: Object) -> bool:
        registry, metadata = self._registry, obj["metadata"]
        if resource == VOLUMES.resource and not rebind(registry, obj):
            return False
        namespace = self._namespace(resource, metadata)
        decoded = registry.decode(resource, obj)
        options = WriteOptions(user_agent=_AGENT)
        if event == "Add":
            registry.create(resource, decoded, namespace, options)
        else:
            registry.update(resource, metadata["name"], decoded, namespace, options)
        return True

    def _delete(self, resource: str, metadata: Mapping[str, Any]) -> None:
        namespace = self._namespace(resource, metadata)
        self._registry.delete(resource, metadata["name"], namespace, DeleteOptions())

    def _namespace(self, resource: str, metadata: Mapping[str, Any]) -> str:
        return metadata.get("namespace") or "" if self._registry.resource(resource).type.namespaced else ""

    def _note(self, counted: str, source: Mapping[str, Any], error: StatusError) -> None:
        # A pod that runs here cannot take every change that one which waits elsewhere can.
        if isinstance(error, Invalid | Forbidden) and counted.startswith("Update"):
            self.applied.tolerated[f"{counted}: {error.reason}"] += 1
        else:
            self.applied.failed[counted] += 1
        if len(self.applied.problems) < _PROBLEMS_MAX:
            metadata = source["metadata"]
            namespace = metadata.get("namespace")
            name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
            self.applied.problems.append(f"{counted} {name}: {error.message}")


def _is_everywhere(resource: str, name: str) -> bool:
    """Whether a cluster makes the object again, or lets nobody delete it: it went because its server started anew."""
    if resource == PRIORITY_CLASSES.resource:
        return name.startswith("system-")
    return resource == NAMESPACES.resource and name in OWN_NAMESPACES
