"""Operations of a scenario, made ready: each is one deed, what it is about is there by then."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from schedlab.apimachinery.features import FeatureGates
from schedlab.scenario import model
from schedlab.scenario.manifests import configuration, node_group, read_files
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.plan import Deed
from schedlab.scenario.reader import Reader
from schedlab.whatif.changes import Change

#: What an operation may be, as attributes and in the file's words, and the fields that go with it.
_DEEDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "create": ("create", ("namespace",)),
    "patch": ("patch", ("namespace", "change", "type")),
    "delete": ("delete", ("namespace",)),
    "scale": ("scale", ("namespace", "replicas")),
    "drain": ("drain", ()),
    "cordon": ("cordon", ()),
    "uncordon": ("uncordon", ()),
    "fail": ("fail", ()),
    "recover": ("recover", ()),
    "add_nodes": ("addNodes", ()),
    "scheduler_config": ("schedulerConfig", ()),
    "start": ("start", ()),
    "stop": ("stop", ()),
}
_COMPANIONS: Final = ("namespace", "change", "type", "replicas")
_NODE_WORDS: Final = ("node", "nodes", "no")
_NEEDS: Final = {"patch": "change", "scale": "replicas"}


def compile_deeds(scenario: model.Scenario, gates: FeatureGates, reader: Reader) -> list[Deed]:
    """Return what is done, in the order of time; operations of one time keep their order."""
    chosen = [(number, one, _deed_of(number, one, reader)) for number, one in enumerate(scenario.operations)]
    # First what comes into being, so that every reference is judged by all that there will ever be.
    made: dict[int, list[dict[str, Any]]] = {}
    for number, operation, deed in chosen:
        if deed in ("create", "add_nodes"):
            made[number] = _made(number, operation, reader)
            reader.learn(made[number])
    reader.labels_may_change = any(
        (operation.patch or "").partition("/")[0] in _NODE_WORDS for _, operation, _ in chosen
    )
    loads = [load.name for load in scenario.loads]
    found = []
    for number, operation, deed in chosen:
        place: Place = ("operations", number)
        at_ns = reader.moment((*place, "at"), operation.at)
        for obj in made.get(number, ()):
            reader.check_home(place, obj)
        # New nodes are alike.
        for obj in made.get(number, ())[: 1 if deed == "add_nodes" else None]:
            reader.check_accepted(place, obj)
        if deed is not None:
            what = made.get(number) or _what(place, deed, operation, gates, loads, reader)
            found.append(Deed(at_ns, _DEEDS[deed][0], what, f"operations[{number}]"))
    return sorted(found, key=lambda one: one.at_ns)


def _deed_of(number: int, operation: model.Operation, reader: Reader) -> str | None:
    """Return the one deed of an operation, None when there is none or more than one."""
    given = [name for name in _DEEDS if getattr(operation, name) is not None]
    place: Place = ("operations", number)
    if len(given) != 1:
        words = " and ".join(_DEEDS[name][0] for name in given) or "nothing"
        reader.wrong(place, f"{words} is to be done", f"give one of {', '.join(word for word, _ in _DEEDS.values())}")
        return None
    word, companions = _DEEDS[given[0]]
    for name in _COMPANIONS:
        if getattr(operation, name) is not None and name not in companions:
            reader.wrong((*place, name), f"does not go with {word}", "take it out")
    needed = _NEEDS.get(word)
    if needed is not None and getattr(operation, needed) is None:
        reader.wrong(place, f"{word} needs {needed}", f"add {needed}")
        return None
    return given[0]


def _made(number: int, operation: model.Operation, reader: Reader) -> list[dict[str, Any]]:
    place: Place = ("operations", number)
    if operation.add_nodes is not None:
        return node_group((*place, "addNodes"), operation.add_nodes, len(reader.nodes), reader)
    given = operation.create
    place = (*place, "create")
    if isinstance(given, str):
        return read_files(place, given, reader)
    objects = given if isinstance(given, list) else [given or {}]
    kept = [obj for obj in objects if reader.check_manifest(place, obj)]
    if operation.namespace is None:
        return kept
    return [{**obj, "metadata": {"namespace": operation.namespace, **obj["metadata"]}} for obj in kept]


def _what(
    place: Place, deed: str, operation: model.Operation, gates: FeatureGates, loads: list[str], reader: Reader
) -> Any:
    """Return what a deed is about; what is not there is a mistake."""
    given = getattr(operation, deed)
    place = (*place, _DEEDS[deed][0])
    match deed:
        case "create" | "add_nodes":
            return []
        case "patch" | "delete" | "scale":
            reader.check_target(place, given, operation.namespace or "default")
            more = {"change": operation.change, "type": operation.type, "replicas": operation.replicas}
            kept = {key: value for key, value in more.items() if value is not None}
            return Change(deed, given, f"operations[{place[1]}]", operation.namespace or "default", kept)
        case "scheduler_config":
            return configuration(place, given, gates, reader)
        case "start" | "stop":
            if given not in loads:
                close = get_close_matches(given, loads, 1)
                reader.wrong(
                    place, f"there is no load {given}", f"did you mean {close[0]}?" if close else "add it to loads"
                )
            return given
        case _:
            return reader.node_set(place, given)
