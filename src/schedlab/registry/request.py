"""What a request asks for besides the object: options, selectors, answers. No HTTP here.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1 (CreateOptions, UpdateOptions, PatchOptions, DeleteOptions,
ListOptions) (v1.36)
Differs: selectors arrive parsed; revisions arrive as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import msgspec

from schedlab.api.object import StoredObject
from schedlab.apimachinery import field_selectors, selectors
from schedlab.apimachinery.apply.manager import default_manager
from schedlab.apimachinery.errors import Status
from schedlab.apimachinery.field_selectors import FieldSelector
from schedlab.apimachinery.selectors import Selector
from schedlab.apimachinery.strict import Directive
from schedlab.apimachinery.user import NOBODY, User

Propagation: TypeAlias = Literal["Orphan", "Background", "Foreground"]


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a create, an update or a patch."""

    field_manager: str = ""
    user_agent: str = ""
    dry_run: bool = False
    #: Apply only: take over fields that belong to others.
    force: bool = False
    field_validation: Directive = "Ignore"
    user: User = NOBODY
    #: Whether the answer must be the object as its resource shows it; else it is the object as it is stored.
    wants_object: bool = True
    #: The registry adds what the client should be warned of.
    warnings: list[str] = []

    @property
    def manager(self) -> str:
        """The name under which fields are owned."""
        return default_manager(self.field_manager, self.user_agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options of a deletion; `uid` and `resource_version` are preconditions."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: bool = False
    user: User = NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Which objects a list, a watch or a deletecollection is about.

    `revision` with `exact` lists the state of that revision; without, any state that is not older. `from_history`: also
    one that is compacted, if history keeps it.
    """

    labels: Selector = field(default_factory=selectors.everything)
    fields: FieldSelector = field(default_factory=field_selectors.everything)
    limit: int = 0
    continue_token: str = ""
    revision: int = 0
    exact: bool = False
    from_history: bool = False

    @property
    def selects_all(self) -> bool:
        return self.labels.is_empty and self.fields.is_empty


class Written(msgspec.Struct, frozen=True):
    """The answer to an update or a patch."""

    object: StoredObject
    created: bool = False


@dataclass(frozen=True, slots=True)
class Deletion:
    """The answer to a deletion: the object or a Status; `immediate` says that the object is gone."""

    object: StoredObject | None
    status: Status | None
    immediate: bool


@dataclass(frozen=True, slots=True)
class ObjectList:
    """The answer to a list; `remaining` is None when it is not known."""

    items: Sequence[StoredObject]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


NO_OPTIONS: Final = WriteOptions()
NO_DELETE_OPTIONS: Final = DeleteOptions()
EVERYTHING: Final = ListOptions()
