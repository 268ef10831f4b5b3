"""HTTP extenders that answer as a case says, and keep what was asked.

Answers by verb, each with `httpStatus` other than 200 or `error` where it fails; a verb without an answer is not found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from schedlab.client.effects import CallEffect, CallOutcome

Json = dict[str, Any]
#: Binds a pod (key, node); returns an error or "".
Bind = Callable[[str, str], str]

_ADDRESS: Final = "http://extender.invalid/"


class Extenders:
    """All extenders of a case, by the last element of their addresses."""

    def __init__(self, answers: Mapping[str, Json], bind: Bind) -> None:
        self._answers = answers
        self._bind = bind
        self._calls: list[Json] = []

    def call(self, effect: CallEffect) -> CallOutcome:
        """Answer a request."""
        assert effect.url.startswith(_ADDRESS), f"a call leaves the case: {effect.url}"
        name, _, verb = effect.url.removeprefix(_ADDRESS).partition("/")
        request = json.loads(effect.body)
        status, response = self._answer(name, verb, request)
        call = {"extender": name, "verb": verb, "request": abbreviated(request), "status": status}
        if status == 200:
            call["response"] = abbreviated(response)
        self._calls.append(call)
        return CallOutcome(status, json.dumps(response).encode() if status == 200 else b"")

    def take_calls(self) -> list[Json]:
        """Return the calls since the last time; those that ask for scores, which are made together, by extender."""
        calls, self._calls = self._calls, []
        return _by_extender(calls)

    def _answer(self, name: str, verb: str, request: Json) -> tuple[int, Any]:
        answer = self._answers.get(name, {}).get(verb)
        if answer is None:
            return 404, None
        if answer.get("httpStatus", 200) != 200:
            return answer["httpStatus"], None
        if verb == "filter":
            return 200, _filter(answer, request)
        if verb == "prioritize":
            return 200, _prioritize(answer, request)
        if verb == "preempt":
            return 200, _preempt(answer, request)
        key = f"{request['PodNamespace']}/{request['PodName']}"
        return 200, {"Error": answer.get("error") or self._bind(key, request["Node"])}


def _filter(answer: Json, request: Json) -> Json:
    failed, unresolvable = answer.get("failed") or {}, answer.get("failedAndUnresolvable") or {}
    names, nodes = request["NodeNames"], request["Nodes"]
    asked = {node["metadata"]["name"] for node in nodes["items"]} if names is None else set(names)
    out = {
        "Error": answer.get("error", ""),
        "FailedNodes": {node: text for node, text in failed.items() if node in asked},
        "FailedAndUnresolvableNodes": {node: text for node, text in unresolvable.items() if node in asked},
        "NodeNames": None,
        "Nodes": None,
    }
    gone = {*failed, *unresolvable}
    if names is not None:
        out["NodeNames"] = [name for name in names if name not in gone]
    else:
        left = [node for node in nodes["items"] if node["metadata"]["name"] not in gone]
        out["Nodes"] = {**nodes, "items": left or None}
    return out


def _prioritize(answer: Json, request: Json) -> list[Json]:
    names = request["NodeNames"]
    if names is None:
        names = [node["metadata"]["name"] for node in request["Nodes"]["items"]]
    scores = answer.get("scores") or {}
    return [{"Host": name, "Score": scores[name]} for name in names if name in scores]


def _preempt(answer: Json, request: Json) -> Json:
    """Agree to the victims, whole pods being answered by their uids; some nodes are left out or emptied."""
    drop, empty = answer.get("drop") or (), answer.get("emptyVictims") or ()
    proposed = request["NodeNameToMetaVictims"] or request["NodeNameToVictims"] or {}
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [] if node in empty else _uids(victims), "NumPDBViolations": victims["NumPDBViolations"]}
            for node, victims in proposed.items()
            if node not in drop
        }
    }


def _uids(victims: Json) -> list[Json]:
    return [{"UID": pod.get("UID") or pod["metadata"]["uid"]} for pod in victims["Pods"]]


def _by_extender(calls: list[Json]) -> list[Json]:
    first = next((index for index, call in enumerate(calls) if call["verb"] == "prioritize"), len(calls))
    last = first
    while last < len(calls) and calls[last]["verb"] == "prioritize":
        last += 1
    return [*calls[:first], *sorted(calls[first:last], key=lambda call: str(call["extender"])), *calls[last:]]


def abbreviated(value: Any) -> Any:
    """Return the value with every whole pod as `<pod ns/name>` and every whole node as `<node name>`."""
    if isinstance(value, list):
        return [abbreviated(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "metadata" in value and "spec" in value:
        meta, spec = value["metadata"], value["spec"]
        return f"<pod {meta['namespace']}/{meta['name']}>" if "containers" in spec else f"<node {meta['name']}>"
    return {key: abbreviated(one) for key, one in value.items()}
