"""What the registry must know of a kind: its rules as functions over plain dicts.

The dicts are in canonical form (as `apimachinery.strict` returns them): a missing key is Go's zero value. Functions
named `prepare` and `default` change the object they are given; the others only read.

Mirrors: staging/src/k8s.io/apiserver/pkg/registry/rest (RESTCreateStrategy, RESTUpdateStrategy) (v1.36)
Differs: a strategy is data; the registry is the only engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from schedlab.api.kinds.scales import ScaleRules
from schedlab.api.object import Object, StoredObject
from schedlab.api.rules.likeness import Likeness
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.field_selectors import DEFAULT_FIELD_LABELS, FieldLabels
from schedlab.apimachinery.user import NOBODY, User


class Context(msgspec.Struct, frozen=True):
    """What the rules of a kind may depend on besides the object."""

    features: FeatureGates
    #: The time of the request as the wire has it.
    now: str
    #: Texts for the client that are no errors.
    warnings: list[str] = []
    #: Who asks.
    user: User = NOBODY
    #: Whether anybody hears the warnings, which take their time to find.
    warns: bool = True


Default: TypeAlias = Callable[[Object, Context], None]
PrepareCreate: TypeAlias = Callable[[Object, Context], None]
PrepareUpdate: TypeAlias = Callable[[Object, Object, Context], None]
ValidateCreate: TypeAlias = Callable[[Object, Context], ErrorList]
ValidateUpdate: TypeAlias = Callable[[Object, Object, Context], ErrorList]
#: A path of field names whose changes a write cannot make: ("status",).
FieldPath: TypeAlias = tuple[str, ...]


def nothing_to_default(obj: Object, context: Context) -> None:
    """Leave the object as it is."""


def nothing_to_prepare(new: Object, old: Object, context: Context) -> None:
    """Take the new object as it is."""


@dataclass(frozen=True, slots=True)
class UpdateStrategy:
    """The rules of one way to change an object: the object itself or one of its subresources."""

    validate: ValidateUpdate
    prepare: PrepareUpdate = nothing_to_prepare
    #: Fields that this way cannot change, so that nobody comes to own them by it.
    reset_fields: Sequence[FieldPath] = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """For a resource that is another form of a stored one: which one, and how the forms turn into each other.

    The checks and preparations of such a resource see the stored form, its selectable fields are those of its own.
    """

    stored_as: str
    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]
    #: Whether metadata is the same in both forms.
    keeps_metadata: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """The rules of one resource."""

    #: Name with group, as kubectl prints it.
    resource: str
    validate: ValidateCreate
    update: UpdateStrategy
    default: Default = nothing_to_default
    prepare: PrepareCreate = nothing_to_default
    #: Runs when all checks have passed.
    canonicalize: Default = nothing_to_default
    #: `status` and its like.
    subresources: Mapping[str, UpdateStrategy] = field(default_factory=dict)
    allow_create_on_update: bool = False
    allow_unconditional_update: bool = True
    #: Seconds between a deletion and the end of the object, given its last state and the seconds that were asked for;
    #: None for kinds that are deleted at once.
    grace_period: Callable[[Object, int | None], int] | None = None
    #: What besides finalizers in metadata keeps a deleted object, given its new state.
    kept_by: Callable[[Object], bool] | None = None
    #: Whether a deletion is answered with the object rather than with a Status.
    returns_deleted: bool = False
    #: Whether nothing can depend on these objects, so that propagation policies are ignored.
    no_dependents: bool = False
    #: Whether what depends on these objects outlives them, unless a deletion says otherwise.
    orphans_dependents: bool = False
    #: What a client is told when its deletion says nothing about them.
    orphan_warning: str = ""
    field_labels: FieldLabels = DEFAULT_FIELD_LABELS
    #: Values of the selectable fields beside metadata.name and metadata.namespace.
    field_values: Callable[[StoredObject], Mapping[str, str]] | None = None
    #: Seconds after which an object vanishes; 0 is never.
    ttl_s: int = 0
    conversion: Conversion | None = None
    #: For kinds with replicas that have the subresource `scale`.
    scale: ScaleRules | None = None
    #: For kinds of which many are written that hardly differ.
    likeness: Likeness | None = None
    #: The feature gate without which the resource is not served.
    feature: str = ""


_KEPT_METADATA: Final = (
    "annotations",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "ownerReferences",
    "selfLink",
)

#: What a write of the object itself cannot change where there is a status subresource, and the other way round.
RESETS_STATUS: Final[Sequence[FieldPath]] = (("status",),)
RESETS_SPEC: Final[Sequence[FieldPath]] = (("spec",),)


def keep_status(new: Object, old: Object) -> None:
    """Undo a change of the status."""
    keep(new, old, "status")


def keep_spec(new: Object, old: Object) -> None:
    """Undo a change of the spec."""
    keep(new, old, "spec")


def keep_metadata(new: Object, old: Object) -> None:
    """Undo what a write of a subresource may not change in metadata."""
    for key in _KEPT_METADATA:
        keep(new["metadata"], old["metadata"], key)


def keep_all_but_status(new: Object, old: Object, _context: Context) -> None:
    """Undo a change of anything but the status and who manages which field."""
    keep_spec(new, old)
    managed = new["metadata"].get("managedFields")
    new["metadata"] = dict(old["metadata"])
    if managed is not None:
        new["metadata"]["managedFields"] = managed


def keep(new: Object, old: Mapping[str, Any], key: str) -> None:
    """Undo a change of one field."""
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def bump_generation(new: Object, old: Object, *keys: str) -> None:
    """Count a change of one of the fields."""
    if any(new.get(key) != old.get(key) for key in keys):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
