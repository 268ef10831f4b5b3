"""Changes as data: of the pod, of a node, of what is there; each can be tried, and told as a change of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from schedlab.api.object import Object, StoredObject
from schedlab.whatif.commands import command_of

if TYPE_CHECKING:
    from schedlab.scheduler.framework.types import PodInfo

#: Changes the dict of an object in place. A change of a pod works on the template of its owner, too.
ObjectChange: TypeAlias = Callable[[Object], None]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change.

    pod: what becomes of the pod. node, node_change: the same for a node. new_node: one that is added. evicted: placed
    pods that go. stored: objects in the state in which listers would show them. in_place: whether the API takes the
    change of the pod as it is, else it has to be made anew. cost: the smaller, the less is asked of anybody. changes: what
    is not about the pod, as whatif.changes reads it.
    """

    kind: str
    summary: str
    cost: int
    pod: ObjectChange | None = None
    node: str = ""
    node_change: ObjectChange | None = None
    new_node: StoredObject | None = None
    evicted: tuple[PodInfo, ...] = ()
    stored: tuple[StoredObject, ...] = ()
    in_place: bool = False
    changes: tuple[Mapping[str, Any], ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Edits that were tried together and let the pod be scheduled, and the node it then goes to.

    changes: all of them as whatif.changes reads them.
    """

    edits: tuple[Edit, ...]
    node: str
    changes: Sequence[Mapping[str, Any]] = ()

    @property
    def kind(self) -> str:
        """The kind of change."""
        return self.edits[0].kind if len(self.edits) == 1 else "combination"

    @property
    def cost(self) -> int:
        """What all changes together cost."""
        return sum(edit.cost for edit in self.edits)

    @property
    def summary(self) -> str:
        """What is to be done, in words."""
        return ", and ".join(edit.summary for edit in self.edits)

    @property
    def commands(self) -> list[str]:
        """What to type, in order."""
        return [command_of(change) for change in self.changes]

    def data(self) -> dict[str, Any]:
        """Return the suggestion as JSON-shaped data."""
        details: dict[str, Any] = {}
        for edit in self.edits:
            details |= edit.details
        return {
            "kind": self.kind,
            "summary": self.summary,
            "cost": self.cost,
            "node": self.node,
            "changes": list(self.changes),
            "commands": self.commands,
            "details": details,
        }
