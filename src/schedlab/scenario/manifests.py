"""Objects, templates and configurations that a scenario names or holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.features import FeatureGates
from schedlab.cluster.cluster import Cluster, ClusterSettings, new_node
from schedlab.kernel.clock import VirtualClock
from schedlab.kernel.randomness import SeededRandom
from schedlab.mirror.manifests import read_objects
from schedlab.scenario import model
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.reader import Reader
from schedlab.scenario.templates import Template, template_of
from schedlab.scheduler.config.file import read_configuration
from schedlab.scheduler_perf.objects import Body

_NODE: Final = {"apiVersion": "v1", "kind": "Node"}


def configuration(
    place: Place, given: Mapping[str, Any] | str | None, gates: FeatureGates, reader: Reader
) -> tuple[Mapping[str, Any] | None, str]:
    """Return a scheduler's configuration that can be used, and where it comes from."""
    if given is None:
        return None, ""
    location = given if isinstance(given, str) else ".".join(map(str, place))

    def read() -> Mapping[str, Any]:
        raw = read_configuration(reader.path(given), location) if isinstance(given, str) else given
        # What is wrong with a plugin shows only when it is made.
        settings = ClusterSettings(feature_gates=gates, scheduler_config=raw, scheduler_config_location=location)
        Cluster(VirtualClock(), SeededRandom(0), settings)
        return raw

    return reader.attempt(place, read, None), location


def read_files(place: Place, text: str, reader: Reader) -> list[dict[str, Any]]:
    """Return the objects of a file or folder."""
    nothing: tuple[list[dict[str, Any]], list[str]] = ([], [])
    objects, warnings = reader.attempt(place, lambda: read_objects([reader.path(text)]), nothing)
    reader.warnings += warnings
    return objects


def node_group(place: Place, group: model.NodeGroup, first: int, reader: Reader) -> list[Body]:
    """Return nodes, numbered from `first` on where they have no names of their own."""
    if group.template is None:
        return [new_node(first + index) for index in range(group.count)]
    place = (*place, "template")
    template = read_template(place, group.template, reader)
    if template is None:
        return []
    nothing: list[Body] = []
    bodies = reader.attempt(
        place, lambda: [template.make(index, group.count, {}) for index in range(group.count)], nothing
    )
    for index, body in enumerate(bodies):
        body["metadata"].setdefault("name", f"node-{first + index}")
    names = {body["metadata"]["name"] for body in bodies}
    if len(names) < len(bodies):
        reader.wrong(place, f"{len(bodies)} nodes have {len(names)} names", "put {{.Index}} into the name")
    return [{**_NODE, **body} for body in bodies]


def read_template(
    place: Place, given: Mapping[str, Any] | str, reader: Reader, sample: Mapping[str, Any] | None = None
) -> Template | None:
    """Return a template that makes something, at least once."""

    def make() -> Template:
        template = template_of(reader.path(given) if isinstance(given, str) else given)
        if not isinstance(given, str):
            return template
        template.make(0, 1, sample or {})
        return template

    return reader.attempt(place, make, None)
