"""The table of messages: which fields they have, and how Go's JSON shows each.

Mirrors: the generated.proto files of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver (v1.36)
Differs: nothing; the table is compiled by tools/generate_protobuf.py.
"""

import functools
import gzip
import importlib.resources
import json
from typing import Any, Final, Literal, TypeAlias

from schedlab.apimachinery.protobuf.wire import ProtobufError

#: string, bytes, int32, int64, truth value, double, message
Code: TypeAlias = Literal["s", "b", "i", "l", "t", "d", "m"]

_META_PACKAGE: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"


class Field:
    """One field of a message."""

    __slots__ = ("code", "is_map", "json", "message", "number", "omits_empty", "omits_zero", "repeated")

    def __init__(self, source: list[Any], messages: "Messages") -> None:
        self.number: int = source[0]
        #: Key in JSON; empty for a message whose fields appear in the one around it.
        self.json: str = source[1]
        self.is_map: bool = source[2].startswith("{")
        self.code: Code = source[2].removeprefix("{")
        flags: str = source[3]
        self.repeated = "r" in flags
        #: Whether Go's JSON leaves out "", 0 and false. A pointer to one of them is shown.
        self.omits_empty = "o" in flags and "p" not in flags
        #: Whether Go's JSON leaves out a message without content.
        self.omits_zero = "z" in flags and "p" not in flags
        self.message: Message | None = messages.at(source[4]) if self.code == "m" else None


class Message:
    """A message type."""

    __slots__ = ("_by_number", "_fields", "_messages", "_source", "is_list", "name")

    def __init__(self, source: dict[str, Any], messages: "Messages") -> None:
        self.name: str = source["n"]
        #: Whether it only wraps a list, which is all that JSON shows.
        self.is_list = "w" in source
        self._source: list[list[Any]] = source["f"]
        self._messages = messages
        self._fields: tuple[Field, ...] | None = None
        self._by_number: dict[int, Field] | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields in Go's order. Made on first use, because messages may contain themselves."""
        if self._fields is None:
            self._fields = tuple(Field(source, self._messages) for source in self._source)
        return self._fields

    @property
    def by_number(self) -> dict[int, Field]:
        if self._by_number is None:
            self._by_number = {field.number: field for field in self.fields}
        return self._by_number


class Messages:
    """All messages, by their place in the table and by kind."""

    def __init__(self, table: dict[str, Any]) -> None:
        self._sources: list[dict[str, Any]] = table["messages"]
        self._packages: dict[str, str] = table["packages"]
        self._places = {source["n"]: place for place, source in enumerate(self._sources)}
        self._built: dict[int, Message] = {}

    def at(self, place: int) -> Message:
        message = self._built.get(place)
        if message is None:
            message = self._built[place] = Message(self._sources[place], self)
        return message

    def named(self, name: str) -> Message:
        """Return a message by its full name; raises KeyError."""
        return self.at(self._places[name])

    def find(self, api_version: str, kind: str) -> Message | None:
        """Return the message of a kind; options and statuses exist in every group."""
        package = self._packages.get(api_version, "")
        for name in (f"{package}.{kind}", f"{_META_PACKAGE}.{kind}"):
            if name in self._places:
                return self.named(name)
        return None

    def get(self, api_version: str, kind: str) -> Message:
        message = self.find(api_version, kind)
        if message is None:
            raise ProtobufError(f'no kind "{kind}" is registered for version "{api_version}"')
        return message


@functools.cache
def messages() -> Messages:
    """Return the table of the built-in messages."""
    packed = importlib.resources.files(__package__).joinpath("messages.json.gz").read_bytes()
    return Messages(json.loads(gzip.decompress(packed)))
