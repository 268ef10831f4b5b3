"""What is refused in a configuration, with upstream's paths and words."""

from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.scheduler.config import ConfigError, load
from schedlab.scheduler.config.args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from schedlab.scheduler.config.validation_args import check_node_resources_fit

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
ARGS = "profiles[0].pluginConfig[0].args"


def message(fields: dict[str, Any], gates: dict[str, bool] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load({**HEAD, **fields}, FeatureGates.default().with_overrides(gates or {}))
    return caught.value.message


def args(plugin: str, **values: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": values}]}]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"parallelism": 0}, "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"podMaxBackoffSeconds": 0},
            "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst: Invalid value: -1: must be non-negative"),
        (
            {"leaderElection": {"leaseDuration": "5s"}},
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        ),
        (
            {"leaderElection": {"retryPeriod": "-1s"}},
            'leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero',
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
        ),
    ],
)
def test_top_level(fields: dict[str, Any], expected: str) -> None:
    assert message(fields) == expected


def test_leader_election_is_not_looked_at_when_it_is_off() -> None:
    config = {**HEAD, "leaderElection": {"leaderElect": False, "resourceLock": "endpoints"}}

    assert load(config, FeatureGates.default()).leader_election.resource_lock == "endpoints"


def test_every_mistake_is_listed_at_once() -> None:
    assert message({"parallelism": -1, "percentageOfNodesToScore": -1}) == (
        "[parallelism: Invalid value: -1: should be an integer value greater than zero, "
        "percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]]"
    )


REMOVED = (
    'was invalid in version "kubescheduler.config.k8s.io/v1" '
    '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")'
)


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        ([{"schedulerName": ""}], "profiles[0].schedulerName: Required value"),
        (
            [{"percentageOfNodesToScore": 200}],
            "profiles[0].percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
        ),
        ([{"schedulerName": "x"}, {"schedulerName": "x"}], "profiles[1].schedulerName: Duplicate value: {}"),
        (
            [{"plugins": {"filter": {"enabled": [{"name": "EBSLimits"}]}}}],
            f'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": {REMOVED}',
        ),
        (
            [{"pluginConfig": [{"name": "CinderLimits"}]}],
            f'profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": {REMOVED}',
        ),
        (
            [{"pluginConfig": [{"name": "Mine"}, {"name": "Mine"}]}],
            'profiles[0].pluginConfig[1]: Duplicate value: "Mine"',
        ),
        (
            [
                {"schedulerName": "x"},
                {"schedulerName": "y", "plugins": {"queueSort": {"enabled": [{"name": "Other"}]}}},
            ],
            (
                'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Other","Weight":0}],"Disabled":null}: '
                "must be the same for all profiles"
            ),
        ),
        (
            [{"plugins": {"queueSort": {"enabled": [{"name": "A"}, {"name": "B"}]}}}],
            "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
        ),
    ],
)
def test_profiles(profiles: list[Any], expected: str) -> None:
    assert message({"profiles": profiles}) == expected


def test_arguments_of_queue_sort_must_agree() -> None:
    def profile(name: str, value: int) -> dict[str, Any]:
        return {
            "schedulerName": name,
            "plugins": {"queueSort": {"enabled": [{"name": "Mine"}]}},
            "pluginConfig": [{"name": "Mine", "args": {"n": value}}],
        }

    assert message({"profiles": [profile("x", 1), profile("y", 2)]}) == (
        'profiles[1].pluginConfig.args: Invalid value: {"n":2}: queueSort must be the same for all profiles'
    )


@pytest.mark.parametrize(
    ("extenders", "expected"),
    [
        (
            [{"prioritizeVerb": "p"}],
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            [{"bindVerb": "b"}, {"bindVerb": "b"}],
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
        ),
        (
            [{"managedResources": [{"name": "cpu"}]}],
            'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
        ),
        (
            [{"managedResources": [{"name": "example.com/x"}]}, {"managedResources": [{"name": "example.com/x"}]}],
            (
                'extenders[1].managedResources[0].name: Invalid value: "example.com/x": '
                "duplicate extender managed resource name"
            ),
        ),
    ],
)
def test_extenders(extenders: list[Any], expected: str) -> None:
    assert message({"extenders": extenders}) == expected


def test_managed_resource_needs_a_qualified_name() -> None:
    assert message({"extenders": [{"managedResources": [{"name": "-"}]}]}).startswith(
        'extenders[0].managedResources[0].name: Invalid value: "-": name part must consist of'
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            args("DefaultPreemption", minCandidateNodesAbsolute=-1),
            f"{ARGS}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
        ),
        (
            args("InterPodAffinity", hardPodAffinityWeight=-1),
            f"{ARGS}.hardPodAffinityWeight: Invalid value: -1: not in valid range [0, 100]",
        ),
        (
            args("PodTopologySpread", defaultingType="Odd"),
            f'{ARGS}.defaultingType: Unsupported value: "Odd": supported values: "System", "List"',
        ),
        (
            args("PodTopologySpread", defaultingType="List", defaultConstraints=[{"maxSkew": 1}]),
            (
                f"[{ARGS}.defaultConstraints[0].topologyKey: Required value: can not be empty, "
                f"{ARGS}.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty]"
            ),
        ),
        (
            args(
                "PodTopologySpread",
                defaultingType="List",
                defaultConstraints=[
                    {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"},
                    {"maxSkew": 2, "topologyKey": "a", "whenUnsatisfiable": "Never"},
                ],
            ),
            (
                f'[{ARGS}.defaultConstraints[1]: Duplicate value: "{{a, DoNotSchedule}}", '
                f'{ARGS}.defaultConstraints[2].whenUnsatisfiable: Unsupported value: "Never": '
                'supported values: "DoNotSchedule", "ScheduleAnyway"]'
            ),
        ),
        (
            args("VolumeBinding", shape=[{"utilization": 1, "score": 2}]),
            (
                f'{ARGS}.shape: Invalid value: [{{"Utilization":1,"Score":2}}]: '
                "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            ),
        ),
        (
            args("DynamicResources", bindingTimeout="10ms", filterTimeout="-1s"),
            (
                f'[{ARGS}.filterTimeout: Invalid value: "-1s": must be zero or positive, '
                f'{ARGS}.bindingTimeout: Invalid value: "10ms": must be at least 1 second]'
            ),
        ),
        (
            args(
                "NodeAffinity",
                addedAffinity={
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Odd"}]}]
                    }
                },
            ),
            (
                f"{ARGS}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
                '.matchExpressions[0].operator: Unsupported value: "Odd": '
                'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ),
        ),
    ],
)
def test_arguments(fields: dict[str, Any], expected: str) -> None:
    assert message(fields) == expected


@pytest.mark.parametrize(
    ("fields", "gates", "expected"),
    [
        (
            args("DynamicResources", filterTimeout="1s"),
            {"DRASchedulerFilterTimeout": False},
            f"{ARGS}.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
        ),
        (
            args("DynamicResources", bindingTimeout="1s"),
            {"DRADeviceBindingConditions": False},
            (
                f"{ARGS}.bindingTimeout: Forbidden: "
                "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
            ),
        ),
        (
            args("VolumeBinding", shape=[{"utilization": 50, "score": 11}, {"utilization": 20, "score": 1}]),
            {"StorageCapacityScoring": True},
            (
                f"[{ARGS}.shape[1].utilization: Invalid value: 20: values must be sorted in increasing order, "
                f"{ARGS}.shape[0].score: Invalid value: 11: not in valid range [0, 10]]"
            ),
        ),
    ],
)
def test_arguments_under_gates(fields: dict[str, Any], gates: dict[str, bool], expected: str) -> None:
    assert message(fields, gates) == expected


def strategy(type_: str, *resources: ResourceSpec, shape: list[UtilizationShapePoint] | None = None) -> Any:
    ratio = None if shape is None else RequestedToCapacityRatioParam(shape=shape)
    return ScoringStrategy(type=type_, resources=list(resources), requested_to_capacity_ratio=ratio)


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ({"scoring_strategy": None}, ["scoringStrategy: Required value: ScoringStrategy field is required"]),
        (
            {"scoring_strategy": strategy("Odd")},
            [
                (
                    'scoringStrategy.type: Unsupported value: "Odd": supported values: '
                    '"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
                )
            ],
        ),
        (
            {"scoring_strategy": strategy("MostAllocated", shape=[])},
            [
                (
                    "scoringStrategy.requestedToCapacityRatio: Forbidden: "
                    "must be nil when type is not RequestedToCapacityRatio"
                )
            ],
        ),
        (
            {"scoring_strategy": strategy("RequestedToCapacityRatio")},
            [
                (
                    "scoringStrategy.requestedToCapacityRatio: Required value: "
                    "must be specified when type is RequestedToCapacityRatio"
                )
            ],
        ),
        (
            {"scoring_strategy": strategy("RequestedToCapacityRatio", shape=[])},
            ["scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified"],
        ),
        (
            {"scoring_strategy": strategy("LeastAllocated"), "ignored_resource_groups": ["a/b"]},
            ["ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"],
        ),
    ],
)
def test_arguments_of_node_resources_fit(fit: dict[str, Any], expected: list[str]) -> None:
    assert [str(error) for error in check_node_resources_fit(None, NodeResourcesFitArgs(**fit))] == expected
