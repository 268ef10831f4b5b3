"""A scenario as it stands in a file. The published schema (docs/reference/scenario.schema.json) is made of these types.

Durations are texts like `90s` or `1h30m`; times are durations from the start of the scenario.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct, field, json

API_VERSION: Final = "schedlab.dev/v1alpha1"
KIND: Final = "Scenario"

Duration: TypeAlias = Annotated[str, Meta(description="A duration like 90s or 1h30m.")]
Distribution: TypeAlias = Annotated[
    str,
    Meta(
        description="A duration, or where it is drawn from: uniform(5s, 10s), exponential(30s), normal(30s, 5s), "
        "lognormal(30s, 0.5), empirical(10s, 20s, 1m), empirical(FILE) with a duration per line; never."
    ),
]
Nodes: TypeAlias = Annotated[
    str, Meta(description="The name of a node, or a selector of labels: topology.kubernetes.io/zone=zone-a.")
]
Template: TypeAlias = Annotated[
    dict[str, Any] | str,
    Meta(description="A manifest, or a file with one. Texts in it may hold {{.Index}} and the functions of templates."),
]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
#: How many there are from one moment to the next.
AtOnce: TypeAlias = Annotated[int, Meta(ge=0, le=100_000)]


class Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A mapping of the file; fields that it does not have are mistakes."""


class NodeGroup(Part, frozen=True, kw_only=True):
    """Nodes made of one template; without one, plain nodes of 4 CPU and 32Gi, in three zones in turn."""

    count: AtOnce = 1
    template: Template | None = None


class PodTemplate(Part, frozen=True, kw_only=True):
    """How pods are made; runTime lets each of them end."""

    template: Template
    run_time: Distribution | None = None


class PodGroup(PodTemplate, frozen=True, kw_only=True):
    """Pods made of one template, all there at the start."""

    count: AtOnce = 1


class ClusterSource(Part, frozen=True, kw_only=True):
    """What the cluster begins with: all of these together, in this order."""

    snapshot: Annotated[str | None, Meta(description="A snapshot file, as `schedlab snapshot save` writes it.")] = None
    files: Annotated[list[str], Meta(description="Files and folders of manifests.")] = []
    nodes: list[NodeGroup] = []
    objects: Annotated[list[dict[str, Any]], Meta(description="Manifests, in any order.")] = []
    pods: list[PodGroup] = []


class ServiceTime(Part, frozen=True, kw_only=True):
    """How long a scheduling cycle takes in virtual time: so much, and so much for every node that it looked at."""

    cycle: Duration = "0s"
    per_node: Duration = "0s"


class Arrivals(Part, frozen=True, kw_only=True):
    """When pods come; one of these."""

    poisson: Annotated[
        str | None, Meta(description="A rate like 2/s, 30/m or 500/h; pods come independently of each other.")
    ] = None
    every: Annotated[Duration | None, Meta(description="The same time between two pods.")] = None
    trace: Annotated[
        str | None,
        Meta(
            description="A CSV file with a column `at` (seconds, or a duration), in order. A column `runTime` is how "
            "long the pod runs; every other column NAME can be used in the template as {{.NAME}}."
        ),
    ] = None


class WeightedPod(PodTemplate, frozen=True, kw_only=True):
    """A template of a load, and how often it is drawn compared with the load's other ones."""

    weight: Annotated[int, Meta(ge=1)] = 1


class Load(Part, frozen=True, kw_only=True):
    """Pods that come over time. A load that an operation starts waits for it; others begin at `from`."""

    name: str
    arrivals: Arrivals
    pods: Annotated[list[WeightedPod], Meta(min_length=1)]
    from_: Duration = field(default="0s", name="from")
    until: Duration | None = None
    count: Annotated[Count | None, Meta(description="After so many pods no more come.")] = None


class Operation(Part, frozen=True, kw_only=True):
    """Something done at a time: one of create, patch, delete, scale, drain, cordon, uncordon, fail, recover, addNodes,
    schedulerConfig, start and stop, with the fields that go with it.
    """

    at: Duration
    create: Annotated[
        dict[str, Any] | list[dict[str, Any]] | str | None,
        Meta(description="A manifest, a list of them, or a file or folder of them."),
    ] = None
    patch: Annotated[str | None, Meta(description="KIND/NAME; `change` is the patch.")] = None
    delete: Annotated[str | None, Meta(description="KIND/NAME.")] = None
    scale: Annotated[str | None, Meta(description="KIND/NAME; `replicas` is the number.")] = None
    drain: Nodes | None = None
    cordon: Nodes | None = None
    uncordon: Nodes | None = None
    fail: Annotated[Nodes | None, Meta(description="Nodes whose kubelets stop.")] = None
    recover: Nodes | None = None
    add_nodes: NodeGroup | None = None
    scheduler_config: Annotated[
        dict[str, Any] | str | None, Meta(description="A KubeSchedulerConfiguration, or a file with one.")
    ] = None
    start: Annotated[str | None, Meta(description="The name of a load.")] = None
    stop: Annotated[str | None, Meta(description="The name of a load.")] = None
    namespace: Annotated[str | None, Meta(description="Of the object that is meant; default if not given.")] = None
    change: dict[str, Any] | list[Any] | None = None
    type: Annotated[Literal["strategic", "merge", "json"] | None, Meta(description="Kind of the patch.")] = None
    replicas: AtOnce | None = None


class Stop(Part, frozen=True, kw_only=True):
    """When the run ends: at a time, and before it when nothing more will happen.

    idle: all operations and loads are done, no pod waits or is on its way, and none runs that will end.
    allScheduled: all operations and loads are done and no pod waits for a node. time: not before `at`.
    """

    at: Duration = "24h"
    when: Literal["idle", "allScheduled", "time"] = "idle"
    pending_for: Annotated[
        Duration | None, Meta(description="End, too, when a pod has waited for a node for so long.")
    ] = None


class Price(Part, frozen=True, kw_only=True):
    """What a node costs per hour; the first price whose selector matches counts."""

    per_hour: Annotated[float, Meta(ge=0)]
    nodes: Nodes | None = None


class Metrics(Part, frozen=True, kw_only=True):
    """How often it is looked at the cluster, while something changes, and what nodes cost."""

    every: Duration = "10s"
    prices: list[Price] = []


class PodSelection(Part, frozen=True, kw_only=True):
    """Pods by namespace, by name (with * for any text) and by labels; what is not given restricts nothing."""

    namespace: str | None = None
    name: str | None = None
    selector: str | None = None


class Assertion(Part, frozen=True, kw_only=True):
    """What must hold at the end, or at a time: of a metric, or of every one of some pods, of which there must be one."""

    at: Duration | None = None
    metric: Annotated[str | None, Meta(description="A metric's name; docs/reference/scenarios.md lists them.")] = None
    below: float | None = None
    at_most: float | None = None
    at_least: float | None = None
    above: float | None = None
    equals: float | None = None
    pods: PodSelection | None = None
    on_nodes: Annotated[Nodes | None, Meta(description="They are on one of these nodes.")] = None
    not_on_nodes: Annotated[Nodes | None, Meta(description="They are on none of these nodes.")] = None
    scheduled: bool | None = None
    pending: Annotated[
        str | None, Meta(description="They wait, and the message of their last attempt holds this text.")
    ] = None
    count: Annotated[Count | None, Meta(description="There are exactly so many of them.")] = None


class Scenario(Part, frozen=True, kw_only=True):
    """A cluster, what happens to it, when it ends, and what must hold then."""

    api_version: Literal["schedlab.dev/v1alpha1"]
    kind: Literal["Scenario"]
    name: str | None = None
    description: str | None = None
    seed: Annotated[int, Meta(ge=0, description="Decides names, uids, ties and all that is drawn.")] = 1
    cluster: ClusterSource = ClusterSource()
    scheduler_config: Annotated[
        dict[str, Any] | str | None, Meta(description="A KubeSchedulerConfiguration, or a file with one.")
    ] = None
    feature_gates: dict[str, bool] = {}
    service_time: ServiceTime = ServiceTime()
    loads: list[Load] = []
    operations: list[Operation] = []
    stop: Stop = Stop()
    metrics: Metrics = Metrics()
    assertions: list[Assertion] = []


def scenario_schema() -> dict[str, Any]:
    """Return the JSON schema of a scenario file."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "schedlab Scenario", **json.schema(Scenario)}
