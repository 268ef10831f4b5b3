"""JSON patch (RFC 6902) with the habits of the library that kube-apiserver uses.

Mirrors: gopkg.in/evanphx/json-patch.v4 patch.go, as used by kube-apiserver v1.36: a path need not start with a slash
(what precedes the first one is ignored), negative indices count from the end, `replace` may add a key, a missing
`value` is null, and a document can be replaced or tested as a whole but not added or removed.
Differs: kube-apiserver never shows why a patch cannot be applied; neither does this.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.patch.document import Opened, PatchError, open_object, same

Operation: TypeAlias = Mapping[str, JSONValue]
Container: TypeAlias = "Opened | list[JSONValue]"

_ABSENT: Final = object()
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}")


def apply(document: Mapping[str, JSONValue], operations: Sequence[Operation | None]) -> JSONValue:
    """Return the patched document, the given one unchanged; raises PatchError."""
    return _Patching(document).run(operations)


class _Patching:
    """A document on its way through the operations."""

    def __init__(self, document: Mapping[str, JSONValue]) -> None:
        self._root: Container = open_object(document)

    def run(self, operations: Sequence[Operation | None]) -> JSONValue:
        for operation in operations:
            step = _STEPS.get(_text(operation or {}, "op") or "unknown")
            if step is None:
                raise PatchError("unexpected kind of operation")
            step(self, operation or {})
        return self._root

    def add(self, operation: Operation) -> None:
        container, key = self._find(_path(operation, "path"))
        _add(container, key, operation.get("value"))

    def remove(self, operation: Operation) -> None:
        _remove(*self._find(_path(operation, "path")))

    def replace(self, operation: Operation) -> None:
        path, value = _path(operation, "path"), operation.get("value")
        if not path:
            self._root = _open(value)
            return
        container, key = self._find(path)
        if isinstance(container, list):
            container[_index(key, len(container))] = value
        else:
            container[key] = value

    def move(self, operation: Operation) -> None:
        container, key = self._find(_path(operation, "from"))
        value = _get(container, key)
        _remove(container, key)
        _add(*self._find(_path(operation, "path")), value)

    def copy(self, operation: Operation) -> None:
        value = _get(*self._find(_path(operation, "from")))
        _add(*self._find(_path(operation, "path")), _deep_copy(value))

    def test(self, operation: Operation) -> None:
        path = _path(operation, "path")
        found = self._root if not path else _get(*self._find(path))
        if not same(found, operation.get("value", _ABSENT)):
            raise PatchError("test failed")

    def _find(self, path: str) -> tuple[Container, str]:
        """Return the container of the last part of a path and that part; all on the way is opened."""
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
        if len(parts) < 2:
            raise PatchError("the path names no part of the document")
        container = self._root
        for part in parts[1:-1]:
            inner = _open(_get(container, part))
            if isinstance(container, list):
                container[_index(part, len(container))] = inner
            else:
                container[part] = inner
            container = inner
        return container, parts[-1]


def _open(value: JSONValue) -> Container:
    """Return a container to change; one that was opened before is changed further."""
    if isinstance(value, Opened):
        return value
    if isinstance(value, dict):
        return open_object(value)
    if isinstance(value, list):
        return list(value)
    raise PatchError("not an object or array")


def _path(operation: Operation, name: str) -> str:
    path = _text(operation, name)
    if path is None:
        raise PatchError(f"operation without {name}")
    return path


def _text(operation: Operation, name: str) -> str | None:
    value = operation.get(name)
    return value if isinstance(value, str) else None


def _index(key: str, length: int) -> int:
    if not _INDEX.fullmatch(key):
        raise PatchError("not an index")
    position = int(key)
    if position < 0:
        position += length
    if not 0 <= position < length:
        raise PatchError("index out of range")
    return position


def _get(container: Container, key: str) -> JSONValue:
    return container[_index(key, len(container))] if isinstance(container, list) else container.get(key)


def _add(container: Container, key: str, value: JSONValue) -> None:
    if isinstance(container, Opened):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        container.insert(_index(key, len(container) + 1), value)


def _remove(container: Container, key: str) -> None:
    if isinstance(container, list):
        del container[_index(key, len(container))]
    elif key in container:
        del container[key]
    else:
        raise PatchError("nothing to remove")


def _deep_copy(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return type(value)((name, _deep_copy(item)) for name, item in value.items())
    return list(map(_deep_copy, value)) if isinstance(value, list) else value


_STEPS: Final = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}
