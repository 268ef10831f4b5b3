"""Compares how Stages behave with what KWOK says they do: its repository has inputs and outputs beside its Stages.

python -m tests.parity.kwok_stages path/to/kwok/kustomize/stage
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from schedlab.api.object import StoredObject
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.apimachinery.yaml import load, load_all
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.stages import matching, steps
from schedlab.kubelet.stages.expressions import Subject
from schedlab.kubelet.stages.stage import Stage, read_stage
from schedlab.kubelet.stages.steps import Deed

#: The time of KWOK's tests, 2006-01-02T15:04:05Z.
NOW_NS = 1_136_214_245 * 1_000_000_000
_TEXTS = ("NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "now", "Version")
_LISTS = ("NodeIPsWith", "PodIPsWith")
_MEDIA_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


def failures(root: Path) -> Iterator[str]:
    """Yield what differs, case by case."""
    for case in sorted(root.glob("*/*/testdata/*.input.yaml")):
        expected = load(case.with_name(case.name.replace(".input.", ".output.")).read_text())
        found = outcome(load(case.read_text()), list(stages_beside(case)))
        if found != expected:
            yield f"{case.relative_to(root)}\n  expected {expected}\n  found    {found}"


def stages_beside(case: Path) -> Iterator[Stage]:
    """Yield the Stages that a case is about."""
    for file in sorted(case.parent.parent.glob("*.yaml")):
        for document in load_all(file.read_text()):
            if document.get("kind") == "Stage":
                yield read_stage(document)


def outcome(target: dict[str, Any], stages: list[Stage]) -> dict[str, Any]:
    """Return what may become of an object, in the form of KWOK's outputs."""
    kind = _find(target["apiVersion"], target["kind"])
    assert kind is not None
    stored = StoredObject.encode(kind.full_name, target, int(target["metadata"].get("resourceVersion") or 0))
    subject = Subject(stored, NOW_NS, SeededRandom(1))
    mine = [stage for stage in stages if stage.ref == (target["apiVersion"], target["kind"])]
    matched = [stage for stage in mine if matching.matches(stage, subject)]
    weights = {stage.name: matching.weight_of(stage, subject) for stage in matched}
    if any(weights.values()):
        matched = [stage for stage in matched if weights[stage.name]]
    made: dict[str, Any] = {"apiGroup": target["apiVersion"], "kind": target["kind"], "name": stored.name}
    if stored.namespace:
        made["namespace"] = stored.namespace
    return made | {"stages": [_told(stage, stored, subject, weights[stage.name]) for stage in matched]}


def _told(stage: Stage, stored: StoredObject, subject: Subject, weight: int | None) -> dict[str, Any]:
    told: dict[str, Any] = {"stage": stage.name, "weight": weight}
    if stage.delay is not None:
        shortest, longest = matching.delay_range_ns(stage, subject)
        if longest is not None:
            told["delay"] = [longest] if longest <= shortest else [shortest, longest]
        else:
            told["delay"] = [shortest]
    told["next"] = [
        _deed(deed, stored, stage) if isinstance(deed, Deed) else {"kind": "event", **deed}
        for deed in steps.deeds(stage, stored, _functions(), _find)
    ]
    return told


def _deed(deed: Deed, stored: StoredObject, stage: Stage) -> dict[str, Any]:
    write = deed.instead or deed.write
    if write.verb == "delete":
        return {"kind": "delete"}
    is_apply = (write.resource, write.name) != (stored.resource, stored.name)
    # KWOK's tests know no types, and so no strategic patches by default.
    default = "merge" if write.patch_type == "strategic" else write.patch_type
    told: dict[str, Any] = {"kind": "apply" if is_apply else "patch", "type": _MEDIA_TYPES[default], "data": write.body}
    if write.subresource:
        told["subresource"] = write.subresource
    return told


def _functions() -> Mapping[str, Callable[..., Any]]:
    return {**{name: _named(name) for name in _TEXTS}, **{name: _listed(name) for name in _LISTS}}


def _named(name: str) -> Callable[..., str]:
    return lambda *given: f"<{name}({', '.join(map(_go, given))})>" if given else f"<{name}>"


def _listed(name: str) -> Callable[..., list[str]]:
    return lambda *given: [f"<{at} of {name}({', '.join(map(_go, given))})>" for at in (0, 1)]


def _go(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _find(api_version: str, kind: str) -> ResourceType | None:
    group, _, version = api_version.rpartition("/")
    return next(
        (one for one in known_resources() if (one.group, one.version, one.kind) == (group, version, kind)), None
    )


def main(root: Path) -> int:
    """Print what differs."""
    cases = len(list(root.glob("*/*/testdata/*.input.yaml")))
    found = list(failures(root))
    for failure in found:
        print(failure)  # noqa: T201 - a report is what this is for
    print(f"{cases - len(found)} of {cases} cases behave as KWOK says")  # noqa: T201
    return 1 if found or not cases else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
