"""Statuses: what a plugin says of a pod, or of a pod on a node. "Does not fit" is a value, never an exception.

Mirrors: staging/src/k8s.io/kube-scheduler/framework/interface.go (v1.36), Code and Status.
Differs: None stands for success; statuses are immutable; reasons of many nodes travel as ids (`NodeStatuses`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Code(IntEnum):
    """What a status means, and what follows for queueing."""

    SUCCESS = 0
    ERROR = 1  # internal error: the pod goes to the error backoff
    UNSCHEDULABLE = 2  # preemption may help; wait for an event
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3  # preemption cannot help; wait for an event
    WAIT = 4  # permit only: wait
    SKIP = 5  # pre_filter, pre_score: leave the plugin's filter or score out; bind: not mine
    PENDING = 6  # reserve only: resumes on an outside event, without backoff

    @property
    def text(self) -> str:
        """Upstream's name of the code."""
        return _CODE_TEXTS[self]


_CODE_TEXTS: Final = (
    "Success",
    "Error",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "Skip",
    "Pending",
)
_REJECTED: Final = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons; `plugin` is who said it (set by the runtime), `error` the text of an internal error."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: str = ""

    @property
    def message(self) -> str:
        """The reasons as one text, the error first."""
        return ", ".join((self.error, *self.reasons)) if self.error else ", ".join(self.reasons)

    @property
    def rejected(self) -> bool:
        """Whether the pod (or node) was turned down, as opposed to an error, a skip or a wait."""
        return self.code in _REJECTED

    def with_plugin(self, plugin: str) -> Status:
        """Return the same status, said by `plugin`."""
        return Status(self.code, self.reasons, plugin, self.error)


def code_of(status: Status | None) -> Code:
    """Return the code, None being success."""
    return Code.SUCCESS if status is None else status.code


def is_success(status: Status | None) -> bool:
    """Whether the status is success."""
    return status is None or status.code == Code.SUCCESS


def unschedulable(*reasons: str) -> Status:
    """Return a rejection that preemption may cure."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Return a rejection that preemption cannot cure."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(text: str) -> Status:
    """Return an internal error."""
    return Status(Code.ERROR, (), "", text)


SKIP: Final = Status(Code.SKIP)


#: So many texts, or characters in them, make a page full.
_PAGE_TEXTS: Final = 65_536
_PAGE_CHARACTERS: Final = 16 * 1024 * 1024
#: Ids of a page begin at its number times 2 to the power of this.
_PAGE_BITS: Final = 20
_PLACE: Final = (1 << _PAGE_BITS) - 1


class _Page:
    """Tuples of texts with consecutive ids."""

    __slots__ = ("__weakref__", "ids", "number", "texts")

    def __init__(self, number: int) -> None:
        self.number = number
        self.ids: dict[tuple[str, ...], int] = {(): 0}
        self.texts: list[tuple[str, ...]] = [()]


class ReasonTable:
    """Interned tuples of reason texts; id 0 is the empty tuple.

    Plugins may say something new of every pod, so texts are not kept for ever. They are on pages: when one is full, the
    next cycle begins another, with new ids. The last two are kept, and those that are held on to: who keeps ids for
    longer than a cycle keeps `pages` as they are then with them. Ids of pages that nobody holds any more are used again.
    """

    def __init__(self) -> None:
        self._page = _Page(0)
        #: The page before the last one, and the last one; another pair as soon as ids are not those of before.
        self.pages = self._page, self._page
        self._held: WeakValueDictionary[int, _Page] = WeakValueDictionary({0: self._page})
        self._characters = 0
        #: Whether the next cycle should begin with `turn`.
        self.is_full = False

    def id_of(self, reasons: tuple[str, ...]) -> int:
        """Return the id of the texts, new if need be."""
        found = self._page.ids.get(reasons)
        return self._add(reasons) if found is None else found

    def _add(self, reasons: tuple[str, ...]) -> int:
        page = self._page
        place = len(page.texts)
        if place > _PLACE:
            # Too many in one cycle.
            self.turn()
            return self.id_of(reasons)
        page.texts.append(reasons)
        page.ids[reasons] = found = page.number << _PAGE_BITS | place
        self._characters += sum(map(len, reasons))
        self.is_full = place >= _PAGE_TEXTS or self._characters >= _PAGE_CHARACTERS
        return found

    def turn(self) -> None:
        """Begin another page. Ids that nobody has kept `pages` for hold until that happens once more."""
        number = next(number for number in count() if number not in self._held)
        self.pages = self._page, _Page(number)
        self._page = self._held[number] = self.pages[1]
        self._characters, self.is_full = 0, False

    def texts(self, reason_id: int) -> tuple[str, ...]:
        """Return the texts of an id."""
        return self._held[reason_id >> _PAGE_BITS].texts[reason_id & _PLACE] if reason_id else ()


# One table for the process: ids are only compared and rendered, never stored across processes.
REASONS: Final = ReasonTable()


@dataclass(slots=True)
class NodeStatuses:
    """Verdicts of one filter on M nodes: code: uint8[M] (Code values), reason: int32[M] (ids of REASONS)."""

    code: NDArray[np.uint8]
    reason: NDArray[np.int32]

    @classmethod
    def success(cls, size: int) -> NodeStatuses:
        """Return M times success."""
        return cls(np.zeros(size, np.uint8), np.zeros(size, np.int32))

    def reject(self, mask: NDArray[np.bool_], status: Status) -> None:
        """Give the nodes of `mask: bool[M]` that are still successful the status."""
        todo = mask & (self.code == 0)
        reason = REASONS.id_of((status.error, *status.reasons) if status.error else status.reasons)
        np.copyto(self.code, int(status.code), where=todo)
        np.copyto(self.reason, reason, where=todo)

    def status(self, index: int) -> Status | None:
        """Return the verdict of one node as a Status."""
        code = int(self.code[index])
        return None if code == Code.SUCCESS else Status(Code(code), REASONS.texts(int(self.reason[index])))

    @classmethod
    def of(cls, statuses: Sequence[Status | None]) -> NodeStatuses:
        """Return scalar verdicts as arrays (errors lose nothing: their text becomes the reason)."""
        out = cls.success(len(statuses))
        for index, status in enumerate(statuses):
            if status is not None:
                out.code[index] = status.code
                out.reason[index] = REASONS.id_of((status.error, *status.reasons) if status.error else status.reasons)
        return out
