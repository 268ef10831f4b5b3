"""YAML as Kubernetes reads it: the JSON it stands for, with Go's error texts.

Scalars follow YAML 1.1 (`yes`, `on` and `y` are booleans, `0777` is octal) except that timestamps stay texts and base
60 numbers do not exist. Keys become strings. Aliases are expanded within go-yaml's limits, so that a small text cannot
grow into a huge object.

Mirrors: sigs.k8s.io/yaml (YAMLToJSON, YAMLToJSONStrict) with its goyaml.v2 and
staging/src/k8s.io/apimachinery/pkg/util/yaml (v1.36)
Differs: nesting is limited to 250 levels instead of 10,000.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson
from yaml import CSafeDumper, dump
from yaml import events as yaml_events
from yaml._yaml import CParser
from yaml.error import MarkedYAMLError
from yaml.error import YAMLError as ParserFailure
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from schedlab.apimachinery import gojson

JSONValue: TypeAlias = Any

_DEPTH_MAX: Final = 250
_TAG: Final = "tag:yaml.org,2002:"
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TIMESTAMP: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
#: First characters of plain scalars that may be something else than a text.
_HINTS: Final = frozenset("+-0123456789yYnNtTfFoO~.")
_NAMED: Final[dict[str, bool | float | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}


class YAMLError(ValueError):
    """A text that is no YAML, or YAML that is no JSON; `line` counts from 1 where it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its JSON value, the line it starts on, and the keys that a mapping names twice."""

    value: JSONValue
    line: int
    duplicates: tuple[str, ...] = ()

    def raise_for_duplicates(self) -> None:
        """Refuse repeated keys in the words of go-yaml's strict mode."""
        if self.duplicates:
            raise YAMLError(duplicates_message(self.duplicates))


def duplicates_message(duplicates: tuple[str, ...]) -> str:
    return "yaml: unmarshal errors:\n  " + "\n  ".join(duplicates)


def load(text: bytes | str) -> JSONValue:
    """Read the first document; nothing at all is None, and of repeated keys the last one counts."""
    return load_document(text).value


def load_document(text: bytes | str) -> Document:
    """Read the first document; what follows it is not looked at."""
    return next(load_documents(text), Document(None, 1))


def load_documents(text: bytes | str) -> Iterator[Document]:
    """Read the documents of a stream one after the other; raise YAMLError at the first malformed one."""
    parser = CParser(text)
    try:
        while (document := _next_document(parser)) is not None:
            yield document
    finally:
        parser.dispose()


def load_all(text: bytes | str) -> list[JSONValue]:
    """Read all documents that say something."""
    return [document.value for document in load_documents(text) if document.value is not None]


def to_json(text: bytes | str) -> bytes:
    """Convert the first document to JSON text with sorted keys."""
    return encode_json(load_document(text).value)


def encode_json(value: JSONValue) -> bytes:
    """Write a loaded value as Go's encoder does."""
    try:
        return gojson.marshal_bytes(value)
    except orjson.JSONEncodeError as error:
        raise YAMLError(f"yaml: the document has no JSON form: {error}") from error


class _Dumper(CSafeDumper):
    """Writes lists without indentation, as Go's YAML library does, and never refers back to an equal value."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's hook
        return True


def to_yaml(value: Any) -> bytes:
    """Write a JSON value as YAML with sorted keys."""
    text: bytes = dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=2**30, encoding="utf-8")
    return text


def _next_document(parser: CParser) -> Document | None:
    try:
        event = parser.get_event()
        while event is not None and not isinstance(event, yaml_events.DocumentStartEvent):
            event = parser.get_event()
        if event is None:
            return None
        return _Builder(parser.get_event).build(_line(event))
    except ReaderError as error:
        raise YAMLError(f"yaml: {error.reason}") from error
    except MarkedYAMLError as error:
        raise _marked_error(error) from error
    except ParserFailure as error:
        raise YAMLError(f"yaml: {error}") from error


def _marked_error(error: MarkedYAMLError) -> YAMLError:
    """Word an error as go-yaml does, whose line numbers are one too low for parser errors."""
    line = error.problem_mark.line if error.problem_mark is not None else 0
    if line:
        line += 1 if isinstance(error, ScannerError) else 0
    elif error.context_mark is not None:
        line = error.context_mark.line
    where = f"line {line}: " if line else ""
    exact = error.problem_mark.line + 1 if error.problem_mark is not None else None
    return YAMLError(f"yaml: {where}{error.problem or 'unknown problem parsing YAML content'}", exact)


@dataclass(slots=True)
class _Node:
    """A finished value: how many nodes and levels it has, and which kind of node it came from."""

    value: JSONValue
    line: int
    count: int = 1
    depth: int = 0
    is_mapping: bool = False
    is_sequence: bool = False
    #: A plain `<<`, which as a key merges a mapping into the one around it.
    is_merge: bool = False


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is still open."""

    line: int
    anchor: str | None
    is_mapping: bool
    count: int = 1
    depth: int = 1
    items: list[JSONValue] = field(default_factory=list)
    mapping: dict[str, JSONValue] = field(default_factory=dict)
    #: Keys as go-yaml compares them: 1 and "1" are different there.
    keys: set[tuple[type, object]] = field(default_factory=set)
    key: _Node | None = None


class _Builder:
    """Builds one document from parser events with a stack of open collections."""

    def __init__(self, next_event: Callable[[], Any]) -> None:
        self._next_event = next_event
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Node | None] = {}
        self._duplicates: list[str] = []
        self._decoded = 0
        self._decoded_by_alias = 0

    def build(self, line: int) -> Document:
        while True:
            event = self._next_event()
            node = self._take(event)
            if node is not None and not self._frames:
                break
            if node is not None:
                self._add(self._frames[-1], node)
        self._next_event()  # the end of the document
        return Document(_as_json(node.value), line, tuple(self._duplicates))

    def _take(self, event: yaml_events.Event) -> _Node | None:
        """Turn an event into a finished node, or open a collection."""
        self._decoded += 1
        if isinstance(event, yaml_events.ScalarEvent):
            node = _scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = node
            return node
        if isinstance(event, yaml_events.CollectionEndEvent):
            self._decoded -= 1
            return self._close(self._frames.pop())
        if isinstance(event, yaml_events.AliasEvent):
            return self._expand(event)
        assert isinstance(event, yaml_events.CollectionStartEvent)
        if len(self._frames) >= _DEPTH_MAX:
            raise _depth_error(_line(event))
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        is_mapping = isinstance(event, yaml_events.MappingStartEvent)
        self._frames.append(_Frame(_line(event), event.anchor, is_mapping))
        return None

    def _close(self, frame: _Frame) -> _Node:
        value = frame.mapping if frame.is_mapping else frame.items
        node = _Node(value, frame.line, frame.count, frame.depth, frame.is_mapping, not frame.is_mapping)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = node
        return node

    def _expand(self, event: yaml_events.AliasEvent) -> _Node:
        line = _line(event)
        if event.anchor not in self._anchors:
            raise YAMLError(f"yaml: unknown anchor '{event.anchor}' referenced", line)
        target = self._anchors[event.anchor]
        if target is None:
            raise YAMLError(f"yaml: anchor '{event.anchor}' value contains itself", line)
        self._decoded += target.count
        self._decoded_by_alias += target.count
        if _is_excessive(self._decoded_by_alias, self._decoded):
            raise YAMLError("yaml: document contains excessive aliasing", line)
        return _Node(_copy(target.value), line, target.count + 1, target.depth, target.is_mapping, target.is_sequence)

    def _add(self, frame: _Frame, node: _Node) -> None:
        frame.count += node.count
        frame.depth = max(frame.depth, node.depth + 1)
        if frame.depth + len(self._frames) > _DEPTH_MAX + 1:
            raise _depth_error(node.line)
        if not frame.is_mapping:
            frame.items.append(_as_json(node.value))
        elif frame.key is None:
            frame.key = node
        else:
            key, frame.key = frame.key, None
            if key.is_merge:
                self._merge(frame, node)
            else:
                self._set(frame, key.value, _key_text(key, node), node)

    def _set(self, frame: _Frame, key: object, text: str, node: _Node) -> None:
        identity = (type(key), key)
        if identity in frame.keys:
            shown = gojson.quote(key) if isinstance(key, str) else gojson.sprint(key)
            self._duplicates.append(f"line {node.line}: key {shown} already set in map")
        frame.keys.add(identity)
        frame.mapping[text] = _as_json(node.value)

    def _merge(self, frame: _Frame, node: _Node) -> None:
        """Set the keys of the mappings after `<<`; of several mappings the first has precedence."""
        sources = reversed(self._merge_sources(node))
        for source in sources:
            for key, value in source.items():
                self._set(frame, key, key, _Node(value, node.line))

    def _merge_sources(self, node: _Node) -> list[dict[str, JSONValue]]:
        sources = [node.value] if node.is_mapping else node.value if node.is_sequence else [None]
        if not all(isinstance(source, dict) for source in sources):
            raise YAMLError("yaml: map merge requires map or sequence of maps as the value", node.line)
        return list(sources)


def _line(event: yaml_events.Event) -> int:
    assert event.start_mark is not None  # events of a parser have marks
    return event.start_mark.line + 1


def _depth_error(line: int) -> YAMLError:
    return YAMLError(f"yaml: line {line}: exceeded max depth of {_DEPTH_MAX}", line)


def _is_excessive(by_alias: int, decoded: int) -> bool:
    """Whether aliases make up too much of a document; big documents get less."""
    low, high = 400_000, 4_000_000
    excess = min(max(decoded - low, 0) / (high - low), 1)
    return by_alias > 100 and decoded > 1000 and by_alias / decoded > 0.99 - 0.89 * excess


def _copy(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _key_text(key: _Node, node: _Node) -> str:
    """Turn a scalar key into the string it is in JSON."""
    value = key.value
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        raise YAMLError(f"yaml: invalid map key: {gojson.sprint(value)}", key.line)
    if value is None:
        shown = gojson.quote(node.value) if isinstance(node.value, str) else gojson.sprint(node.value)
        raise YAMLError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}", key.line)
    if isinstance(value, float):
        return _float_key(value)
    return gojson.sprint(value)


def _float_key(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return gojson.format_float(value)


def _scalar(event: yaml_events.ScalarEvent) -> _Node:
    line, text = _line(event), event.value
    plain = bool(event.implicit[0])
    if event.tag is None and not plain:
        return _Node(text, line)
    tag = (event.tag or "").removeprefix(_TAG)
    is_merge = text == "<<" and (plain or tag == "merge")
    return _Node(_resolve(tag, text, line), line, is_merge=is_merge)


def _resolve(tag: str, text: str, line: int) -> JSONValue:
    """Find the value of a plain scalar, or of one whose tag asks for it."""
    if tag == "binary":
        return _decode_base64(text, line)
    if tag not in ("", "bool", "int", "float", "null", "timestamp"):
        return text
    kind, value = _guess(text)
    if tag in ("", kind):
        return value
    if tag == "float" and kind == "int":
        return float(value)
    if tag == "timestamp" and _TIMESTAMP.fullmatch(text):
        return text
    raise YAMLError(f"yaml: cannot decode !!{kind} `{text}` as a !!{tag}", line)


def _guess(text: str) -> tuple[str, Any]:
    if text and text[0] not in _HINTS:
        return "str", text
    if text in _NAMED:
        named = _NAMED[text]
        return "null" if named is None else "bool" if isinstance(named, bool) else "float", named
    if text[0] == "." and _FLOAT.fullmatch(text):
        return "float", float(text)
    if text[0] in "+-0123456789":
        number = text.replace("_", "")
        integer = _parse_int(number)
        if integer is not None:
            return "int", integer
        if _FLOAT.fullmatch(number) and math.isfinite(float(number)):
            return "float", float(number)
    return "str", text


def _parse_int(text: str) -> int | None:
    """Parse with Go's prefixes: 0x, 0b, 0o and a leading 0 for octal."""
    matched = _INTEGER.fullmatch(text)
    if matched is None or len(text) > 1000:
        return None
    sign, hexadecimal, binary, octal, decimal = matched.groups()
    if decimal is not None:
        number = int(decimal)
    elif octal is not None:
        number = int(octal, 8)
    else:
        number = int(hexadecimal, 16) if hexadecimal is not None else int(binary, 2)
    return -number if sign == "-" else number


def _as_json(value: JSONValue) -> JSONValue:
    """A value after the way through JSON text, where the float 1.0 becomes the integer 1."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        raise YAMLError(f"json: unsupported value: {gojson.format_float(value)}")
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def _decode_base64(text: str, line: int) -> str:
    try:
        return base64.b64decode("".join(text.split("\n")), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise YAMLError("yaml: !!binary value contains invalid base64 data", line) from error
