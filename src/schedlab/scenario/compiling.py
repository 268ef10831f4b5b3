"""Makes a plan of a scenario; finds every mistake that shows before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schedlab.apimachinery.distribution import NEVER_NS, Distribution
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.yaml_file import read_document
from schedlab.cluster.cluster import ClusterSettings
from schedlab.cluster.service_time import ServiceTime
from schedlab.mirror.snapshot import check, whole_objects
from schedlab.scenario import model
from schedlab.scenario.arrivals import poisson_gaps, read_distribution, read_trace
from schedlab.scenario.deeds import compile_deeds
from schedlab.scenario.judging import compile_checks
from schedlab.scenario.manifests import configuration, node_group, read_files, read_template
from schedlab.scenario.mistakes import Path as Place
from schedlab.scenario.plan import Arrival, LoadPlan, NodeSet, Plan, PodPlan, PricePlan
from schedlab.scenario.reader import Reader

_POD: Final = {"apiVersion": "v1", "kind": "Pod"}


def compile_plan(scenario: model.Scenario, reader: Reader) -> Plan:
    """Return the plan of a scenario; it can be run when the reader has no mistakes."""
    reader.end_ns = end_ns = reader.duration(("stop", "at"), scenario.stop.at, least=1)
    if reader.mistakes:
        # Nothing else is too late when nobody knows when the end is.
        reader.end_ns = NEVER_NS
    gates = reader.attempt(
        ("featureGates",),
        lambda: FeatureGates.default().with_overrides(scenario.feature_gates),
        FeatureGates.default(),
    )
    settings = _settings(scenario, gates, reader)
    snapshot = _snapshot(scenario, reader)
    objects = _objects(scenario.cluster, reader)
    deeds = compile_deeds(scenario, gates, reader)
    bursts = [_burst(number, group, reader) for number, group in enumerate(scenario.cluster.pods)]
    started = {operation.start for operation in scenario.operations}
    loads = [_load(number, load, started, reader) for number, load in enumerate(scenario.loads)]
    return Plan(
        scenario,
        str(reader.source.file),
        scenario.name or reader.source.file.stem,
        settings,
        snapshot,
        objects,
        [*bursts, *loads],
        deeds,
        compile_checks(scenario, reader),
        [
            PricePlan(
                NodeSet()
                if price.nodes is None
                else reader.node_set(("metrics", "prices", number, "nodes"), price.nodes),
                price.per_hour,
            )
            for number, price in enumerate(scenario.metrics.prices)
        ],
        reader.duration(("metrics", "every"), scenario.metrics.every, least=1),
        end_ns,
        None
        if scenario.stop.pending_for is None
        else reader.duration(("stop", "pendingFor"), scenario.stop.pending_for, least=1),
        reader.warnings,
        tuple(reader.files),
    )


# --- The cluster -----------------------------------------------------------------------------------------------------


def _settings(scenario: model.Scenario, gates: FeatureGates, reader: Reader) -> ClusterSettings:
    config, location = configuration(("schedulerConfig",), scenario.scheduler_config, gates, reader)
    time = scenario.service_time
    return ClusterSettings(
        scheduler_config=config,
        scheduler_config_location=location,
        feature_gates=gates,
        annotations="off",
        full=False,
        events=False,
        service_time=ServiceTime(
            reader.duration(("serviceTime", "cycle"), time.cycle),
            reader.duration(("serviceTime", "perNode"), time.per_node),
        ),
    )


def _snapshot(scenario: model.Scenario, reader: Reader) -> Mapping[str, Any] | None:
    given = scenario.cluster.snapshot
    if given is None:
        return None
    hint = "name a file that `schedlab snapshot save` has written"
    nothing: Mapping[str, Any] = {}
    found = reader.attempt(
        ("cluster", "snapshot"),
        lambda: check(read_document(reader.path(given), hint, strict=False)),
        nothing,
    )
    reader.learn(whole_objects(found))
    return found


def _objects(source: model.ClusterSource, reader: Reader) -> list[dict[str, Any]]:
    """Return what the cluster begins with, in order; where each stands is looked at when all are known."""
    placed: list[tuple[Place, dict[str, Any]]] = []
    for number, text in enumerate(source.files):
        place: Place = ("cluster", "files", number)
        placed += ((place, obj) for obj in read_files(place, text, reader))
    first = 0
    for number, group in enumerate(source.nodes):
        place = ("cluster", "nodes", number)
        placed += ((place, body) for body in node_group(place, group, first, reader))
        first += group.count
    inline = [(("cluster", "objects", number), obj) for number, obj in enumerate(source.objects)]
    reader.learn(obj for _, obj in placed)
    reader.learn(obj for _, obj in inline if isinstance(obj.get("metadata"), dict))
    for place, obj in [*placed, *inline]:
        if reader.check_manifest(place, obj):
            reader.check_home(place, obj)
    return [obj for _, obj in [*placed, *inline]]


# --- Pods ------------------------------------------------------------------------------------------------------------


def _pod(
    place: Place,
    group: model.PodTemplate,
    name: str,
    reader: Reader,
    sample: Mapping[str, Any],
    weight: int = 1,
    *,
    may_have_name: bool = False,
) -> PodPlan | None:
    template = read_template((*place, "template"), group.template, reader, sample)
    if template is None:
        return None
    body = reader.attempt((*place, "template"), lambda: template.make(0, 1, sample), None)
    if body is None:
        return None
    reader.check_home((*place, "template"), {**_POD, **body})
    reader.check_accepted((*place, "template"), {**_POD, **body})
    own_name = not may_have_name and body["metadata"].get("name")
    if own_name and own_name == template.make(1, 2, sample)["metadata"]["name"]:
        reader.wrong(
            (*place, "template"), "all pods have one name", "leave metadata.name out, or put {{.Index}} into it"
        )
    return PodPlan(template, name, _run_time((*place, "runTime"), group.run_time, reader), weight)


def _run_time(place: Place, text: str | None, reader: Reader) -> Distribution | None:
    if text is None:
        return None
    return reader.attempt(place, lambda: read_distribution(text, reader.path), None)


def _burst(number: int, group: model.PodGroup, reader: Reader) -> LoadPlan:
    """Pods that are there at the start are a load all of whose arrivals are at once."""
    pod = _pod(("cluster", "pods", number), group, f"pods-{number}", reader, {}, may_have_name=group.count == 1)
    arrivals = [Arrival(0, None, {})] * group.count
    return LoadPlan(f"pods-{number}", [] if pod is None else [pod], 0, None, None, None, arrivals, starts_itself=True)


def _load(number: int, load: model.Load, started: set[str | None], reader: Reader) -> LoadPlan:
    place: Place = ("loads", number)
    gaps, trace = _arrivals((*place, "arrivals"), load.arrivals, reader)
    sample = trace[0].values if trace else {}
    pods = [
        # The pods of a trace may have names of their own.
        _pod((*place, "pods", index), pod, load.name, reader, sample, pod.weight, may_have_name=bool(trace))
        for index, pod in enumerate(load.pods)
    ]
    from_ns = reader.moment((*place, "from"), load.from_)
    until_ns = None if load.until is None else reader.moment((*place, "until"), load.until)
    if until_ns is not None and until_ns <= from_ns:
        reader.wrong((*place, "until"), f"{load.until} is not after from ({load.from_})", "let it end later")
    return LoadPlan(
        load.name,
        [pod for pod in pods if pod is not None],
        from_ns,
        until_ns,
        load.count,
        gaps,
        trace,
        starts_itself=load.name not in started,
    )


def _arrivals(
    place: Place, arrivals: model.Arrivals, reader: Reader
) -> tuple[Distribution | None, tuple[Arrival, ...]]:
    given = [name for name in ("poisson", "every", "trace") if getattr(arrivals, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "nothing"
        reader.wrong(place, f"{found} is given", "give one of poisson, every, trace")
        return None, ()
    if arrivals.trace is not None:
        trace = arrivals.trace
        return None, reader.attempt((*place, "trace"), lambda: read_trace(reader.path(trace)), ())
    if arrivals.poisson is not None:
        rate = arrivals.poisson
        return reader.attempt((*place, "poisson"), lambda: poisson_gaps(rate), None), ()
    every_ns = reader.duration((*place, "every"), arrivals.every or "", least=1)
    return Distribution(arrivals.every or "", lambda _: every_ns), ()
