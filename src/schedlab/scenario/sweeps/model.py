"""A sweep as it stands in a file. The published schema (docs/reference/sweep.schema.json) is made of these types."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field, json

from schedlab.scenario.model import Duration, Part

KIND: Final = "Sweep"


class Config(Part, frozen=True, kw_only=True):
    """A scheduler configuration: a file, without one the scenario's own, and what is changed in it."""

    name: Annotated[str | None, Meta(description="What it is called in results; its file if not given.")] = None
    file: Annotated[str | None, Meta(description="A file with a KubeSchedulerConfiguration.")] = None
    set: Annotated[
        dict[str, Any], Meta(description="Values by their paths in the configuration, like percentageOfNodesToScore.")
    ] = {}
    weights: Annotated[
        dict[str, int], Meta(description="Weights of score plugins in all profiles; 0 takes the plugin out of scoring.")
    ] = {}


class Range(Part, frozen=True, kw_only=True):
    """Numbers between two ends, both included; whole ones when ends and step are whole."""

    from_: float | int = field(name="from")
    to: float | int
    step: Annotated[
        float | int | None, Meta(description="1 for whole numbers if not given; a grid over others needs it.")
    ] = None
    log: Annotated[
        bool, Meta(description="At random, every ratio is as likely as every other one; goes with no step.")
    ] = False


class Parameter(Part, frozen=True, kw_only=True):
    """Something that differs from run to run: a value of the scenario, or the weight of a score plugin."""

    name: Annotated[str | None, Meta(description="What it is called in results; its path or plugin if not given.")] = (
        None
    )
    path: Annotated[
        str | None,
        Meta(
            description="Where the value stands in the scenario: cluster.nodes[0].count, loads[web].arrivals.poisson; in "
            "the scheduler configuration: schedulerConfig.percentageOfNodesToScore."
        ),
    ] = None
    weight: Annotated[
        str | None, Meta(description="A score plugin whose weight it is, in all profiles; 0 takes it out of scoring.")
    ] = None
    values: list[Any] | None = None
    range: Range | None = None
    format: Annotated[str | None, Meta(description="A text for the value, in which {} stands for it: '{}/m'.")] = None


class RandomSearch(Part, frozen=True, kw_only=True):
    """So many points drawn in place of all of them; the same seed draws the same ones, more points keep the first."""

    points: Annotated[int, Meta(ge=1)]
    seed: Annotated[int, Meta(ge=0)] = 1


class Sweep(Part, frozen=True, kw_only=True):
    """A scenario, what differs between its runs, and how they are run. Every point is run once per seed."""

    api_version: Literal["schedlab.dev/v1alpha1"]
    kind: Literal["Sweep"]
    description: str | None = None
    scenario: Annotated[str, Meta(description="A scenario file.")]
    seeds: Annotated[
        str | list[int] | None, Meta(description="Like 1..20 or 1,2,5; the scenario's own if not given.")
    ] = None
    configs: Annotated[
        list[str | Config], Meta(description="Scheduler configurations: files, or what is changed in one.")
    ] = []
    parameters: list[Parameter] = []
    random: RandomSearch | None = None
    timeout: Annotated[Duration | None, Meta(description="A run that takes longer, in real time, has failed.")] = None
    metrics: Annotated[
        list[str], Meta(description="Metrics of the table at the end; the rows of results have all of them.")
    ] = []


def sweep_schema() -> dict[str, Any]:
    """Return the JSON schema of a sweep file."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "schedlab Sweep", **json.schema(Sweep)}
