"""Objects made from a manifest that stands in a scenario, in whose texts numbers and values are put.

    name: node-{{.Index}}      labels: {topology.kubernetes.io/zone: "zone-{{Mod .Index 3}}"}

A file is read as scheduler_perf reads its templates: there the whole text is one template.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from schedlab.scheduler_perf.objects import Body, ObjectTemplate
from schedlab.scheduler_perf.text_template import Environment, TextTemplate

_Maker: TypeAlias = Callable[[Environment], Any]


class Template(Protocol):
    """Makes objects that differ by their number and by values."""

    def make(self, index: int, count: int, params: Mapping[str, Any]) -> Body:
        """Return the object of number `index`; its top levels may be changed. Raises TemplateError."""


def template_of(given: Mapping[str, Any] | Path) -> Template:
    """Return the template of a manifest, or of a file with one; raises SchedlabError."""
    if isinstance(given, Path):
        return ObjectTemplate(given)
    return InlineTemplate(given)


class InlineTemplate:
    """A manifest of a scenario."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._make = _maker(manifest)
        self._constant = None if self._make is not None else dict(manifest)

    def make(self, index: int, count: int, params: Mapping[str, Any]) -> Body:
        """See Template."""
        if self._make is None:
            assert self._constant is not None
            body = self._constant
        else:
            body = self._make({**params, "Index": index, "Count": count})
        return {**body, "metadata": {**body.get("metadata", {})}}


def _maker(value: Any) -> _Maker | None:
    """Return what makes a value, None for one that is always the same."""
    if isinstance(value, str) and "{{" in value:
        text = TextTemplate(value)
        return text.render
    if isinstance(value, Mapping):
        parts = {key: _maker(item) for key, item in value.items()}
        varying = {key: make for key, make in parts.items() if make is not None}
        if not varying:
            return None
        return lambda environment: {**value, **{key: make(environment) for key, make in varying.items()}}
    if isinstance(value, list):
        makers = [_maker(item) for item in value]
        if all(make is None for make in makers):
            return None
        return lambda environment: [
            item if make is None else make(environment) for item, make in zip(value, makers, strict=True)
        ]
    return None
