"""JSON merge patch (RFC 7386).

Mirrors: gopkg.in/evanphx/json-patch.v4 merge.go, as used by kube-apiserver v1.36
Differs: nothing; nulls inside arrays stay, as in the version that kube-apiserver uses.
"""

from collections.abc import Mapping

from schedlab.apimachinery.json_reader import JSONValue
from schedlab.apimachinery.patch.document import Opened, open_object


def merge(document: Mapping[str, JSONValue], patch: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    """Return the patched document, the given one unchanged; what the patch does not name is shared with it."""
    merged = dict(document)
    for name, change in patch.items():
        present = merged.get(name)
        if change is None:
            merged.pop(name, None)
        elif not isinstance(present, dict):
            merged[name] = _pruned(change)
        else:
            merged[name] = merge(present, change) if isinstance(change, dict) else change
    return merged


def _pruned(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return {
            name: item if item.__class__ is str else _pruned(item) for name, item in value.items() if item is not None
        }
    return list(map(_pruned, value)) if isinstance(value, list) else value


def apply(document: Mapping[str, JSONValue], patch: Mapping[str, JSONValue]) -> Opened:
    """Do what `merge` does and mark what was opened on the way, for a message that shows the result."""
    merged = open_object(document)
    for name, change in patch.items():
        present = merged.get(name)
        if change is None:
            merged.pop(name, None)
        elif isinstance(present, dict) and isinstance(change, dict):
            merged[name] = apply(present, change)
        elif isinstance(present, dict):
            merged[name] = change
        else:
            merged[name] = without_nulls(change)
    return merged


def without_nulls(value: JSONValue) -> JSONValue:
    """Drop the nulls of objects at any depth."""
    if isinstance(value, dict):
        return Opened((name, without_nulls(item)) for name, item in value.items() if item is not None)
    return list(map(without_nulls, value)) if isinstance(value, list) else value
