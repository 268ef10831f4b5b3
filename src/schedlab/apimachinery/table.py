"""Tables: the columns of a kind and the cells of its objects, as `kubectl get` shows them.

A printer belongs to one kind. It makes rows of objects in their wire form; which resource has which printer is the API
server's business. All columns are always made; kubectl hides those with a priority above 0 unless it prints wide.

Mirrors: staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Table),
staging/src/k8s.io/apiserver/pkg/registry/rest/table.go and pkg/printers (v1.36)
Differs: what stands beside the cells of a row (the object, its metadata, nothing) is added by the encoder of answers.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from schedlab.apimachinery import time

#: An object with the wire's own keys.
Object: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = str | int | bool | None
#: Gives the text of the API reference about a field: type, field.
Describe: TypeAlias = Callable[[str, str], str]

UNKNOWN: Final = "<unknown>"
NONE: Final = "<none>"
UNSET: Final = "<unset>"

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; it is described in words or by the field of the API reference that it shows."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    #: The OpenAPI name of a type, and a field of it.
    field: tuple[str, str] | None = None
    priority: int = 0

    def wire(self, describe: Describe) -> dict[str, Any]:
        """Return the metav1.TableColumnDefinition."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": describe(*self.field) if self.field is not None else self.description,
            "priority": self.priority,
        }


class Row(NamedTuple):
    """The cells of one object, one for each column, and what is said about the row as a whole."""

    cells: Sequence[Cell]
    conditions: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind, and how the cells of an object are made at a moment in nanoseconds."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, int], Sequence[Cell]]
    conditions: Callable[[Object], Sequence[Mapping[str, str]]] | None = None

    def row(self, obj: Object, now_ns: int) -> Row:
        cells = self.cells(obj, now_ns)
        assert len(cells) == len(self.columns)  # every column has its cell
        return Row(cells, self.conditions(obj) if self.conditions is not None else ())


NAME: Final = Column("Name", format="name", field=(OBJECT_META, "name"))
AGE: Final = Column("Age", field=(OBJECT_META, "creationTimestamp"))
_CREATED_AT: Final = Column("Created At", "date", field=(OBJECT_META, "creationTimestamp"))


def _default_cells(obj: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    return name_of(obj), obj["metadata"].get("creationTimestamp") or _ZERO_TIME


#: What kinds without columns of their own show.
DEFAULT: Final = Printer((NAME, _CREATED_AT), _default_cells)


def name_of(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


@functools.lru_cache(maxsize=4096)
def _moment(timestamp: str) -> int:
    return time.parse_time(timestamp)


def since(timestamp: str | None, now_ns: int) -> str:
    """Return how long ago something was, for people."""
    return time.human_duration(now_ns - _moment(timestamp)) if timestamp else UNKNOWN


def between(start: str, end: str) -> str:
    """Return how long something took, for people."""
    return time.human_duration(_moment(end) - _moment(start))


def age(obj: Object, now_ns: int) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now_ns)
