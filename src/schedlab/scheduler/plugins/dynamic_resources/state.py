"""What the plugin knows of a pod during one cycle and its binding.

Mirrors: stateData in dynamicresources.go and claims.go of pkg/scheduler/framework/plugins/dynamicresources (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from schedlab.api.views.resource import AllocationResult, ResourceClaim
from schedlab.scheduler.dra.claims import is_allocated

if TYPE_CHECKING:
    from schedlab.api.object import StoredObject
    from schedlab.api.rules.node_affinity import ParsedNodeSelector
    from schedlab.api.views.core import ContainerExtendedResourceRequest
    from schedlab.scheduler.dra.allocator import Allocator

STATE_KEY: Final = "DynamicResources"


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim of the pod, with the object it is seen in; one that exists in memory only has none."""

    view: ResourceClaim
    stored: StoredObject | None

    @property
    def is_allocated(self) -> bool:
        return is_allocated(self.view)

    @property
    def key(self) -> str:
        return f"{self.view.metadata.namespace}/{self.view.metadata.name}"


class ClaimStore:
    """The claims that the pod names, then the one for its extended resources, if there is one."""

    def __init__(self, of_user: list[PodClaim], extended: PodClaim | None = None) -> None:
        self._claims = of_user if extended is None else [*of_user, extended]
        self.user_count = len(of_user)
        self.initial_extended_uid = "" if extended is None else extended.view.metadata.uid

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[PodClaim]:
        return iter(self._claims)

    def __getitem__(self, index: int) -> PodClaim:
        return self._claims[index]

    def __setitem__(self, index: int, claim: PodClaim) -> None:
        self._claims[index] = claim

    def to_allocate(self) -> Iterator[tuple[int, PodClaim]]:
        """Go through the claims without devices."""
        return ((index, claim) for index, claim in enumerate(self._claims) if not claim.is_allocated)

    def of_user(self) -> tuple[PodClaim, ...]:
        """Return the claims that the pod names."""
        return tuple(self._claims[: self.user_count])

    @property
    def extended(self) -> PodClaim | None:
        """The claim for extended resources."""
        return self._claims[self.user_count] if len(self._claims) > self.user_count else None

    def is_extended(self, index: int) -> bool:
        """Whether the claim at the index is the one for extended resources."""
        return index == self.user_count

    @property
    def are_unallocated_by_user(self) -> bool:
        """Whether a claim that the pod names is without devices."""
        return any(not self.is_extended(index) for index, _ in self.to_allocate())


@dataclass(slots=True)
class NodeAllocation:
    """What was found for a node: an allocation for each claim without one, in order, and the claim made for the node."""

    results: tuple[AllocationResult, ...]
    extended_claim: ResourceClaim | None = None
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()


@dataclass(slots=True)
class Progress:
    """How far the binding is: which claim, at which attempt to write it, in which state."""

    index: int = -1
    uid: str = ""
    stored: StoredObject | None = None
    attempt: int = 0
    is_written: bool = False
    error: str = ""
    started_ns: int = 0


@dataclass(slots=True)
class State:
    """`node_selectors`, `allocations`: by the claim's index. Shared by the copies of dry runs, as upstream."""

    claims: ClaimStore = field(default_factory=lambda: ClaimStore([]))
    scalar_resources: Mapping[str, int] = field(default_factory=dict)
    allocator: Allocator | None = None
    node_selectors: dict[int, ParsedNodeSelector] = field(default_factory=dict)
    allocations: dict[int, AllocationResult] = field(default_factory=dict)
    # Allocated claims that some node could not use, or whose devices will not become ready.
    unavailable: dict[int, None] = field(default_factory=dict)
    node_allocations: dict[str, NodeAllocation] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
