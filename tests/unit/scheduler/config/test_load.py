"""Loading a scheduler configuration: from a document to structs with every default, and back."""

from collections.abc import Mapping
from typing import Any

import pytest

from schedlab.apimachinery.features import FEATURES as FEATURE_SPECS
from schedlab.apimachinery.features import FeatureGates
from schedlab.kernel.clock import SECOND_NS
from schedlab.scheduler.config import ConfigError, KubeSchedulerConfiguration, default_configuration, dump, load
from schedlab.scheduler.config.args import NodeResourcesFitArgs, PodTopologySpreadArgs

FEATURES = FeatureGates.default()
# Gates that need NodeDeclaredFeatures.
DEPENDENTS = {name: False for name, spec in FEATURE_SPECS.items() if "NodeDeclaredFeatures" in spec.dependencies}
HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def loaded(gates: Mapping[str, bool] | None = None, **fields: Any) -> KubeSchedulerConfiguration:
    return load({**HEAD, **fields}, FEATURES.with_overrides(gates or {}))


def refusal(gates: Mapping[str, bool] | None = None, **fields: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        loaded(gates, **fields)
    return caught.value


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    return {"profiles": [{"pluginConfig": [{"name": plugin, "args": args}]}]}


def enabled(config: KubeSchedulerConfiguration, point: str = "multi_point") -> list[tuple[str, int]]:
    plugins = config.profiles[0].plugins
    return [(plugin.name, plugin.weight) for plugin in getattr(plugins, point).enabled]


class TestDefaults:
    def test_empty_document_is_the_default_configuration(self) -> None:
        assert loaded() == default_configuration(FEATURES) == load(None, FEATURES)

    def test_numbers(self) -> None:
        config = loaded()

        assert config.parallelism == 16
        assert config.percentage_of_nodes_to_score == 0
        assert (config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds) == (1, 10)
        assert (config.client_connection.qps, config.client_connection.burst) == (50, 100)
        assert config.leader_election.lease_duration == 15 * SECOND_NS
        assert config.profiles[0].scheduler_name == "default-scheduler"

    def test_contention_profiling_follows_profiling(self) -> None:
        assert loaded(enableProfiling=False).enable_contention_profiling is False

    def test_name_is_given_to_a_single_profile_only(self) -> None:
        assert loaded(profiles=[{}]).profiles[0].scheduler_name == "default-scheduler"
        assert refusal(profiles=[{"schedulerName": "a"}, {}]).message == "profiles[1].schedulerName: Required value"

    @pytest.mark.parametrize(
        ("gate", "value", "plugin"),
        [
            ("NodeDeclaredFeatures", False, "NodeDeclaredFeatures"),
            ("GangScheduling", True, "GangScheduling"),
            ("TopologyAwareWorkloadScheduling", True, "PodGroupPodsCount"),
        ],
    )
    def test_gates_decide_about_plugins(self, gate: str, value: bool, plugin: str) -> None:  # noqa: FBT001
        gates = {"GenericWorkload": True, **DEPENDENTS, gate: value}

        assert (plugin in dict(enabled(loaded(gates)))) is value
        assert (plugin in dict(enabled(loaded()))) is not value

    def test_gates_decide_about_arguments(self) -> None:
        args = {config.name: config.args for config in loaded().profiles[0].plugin_config}
        assert args["DynamicResources"].filter_timeout == 10 * SECOND_NS
        assert args["VolumeBinding"].shape is None

        args = {
            config.name: config.args
            for config in loaded({"DRASchedulerFilterTimeout": False, "StorageCapacityScoring": True})
            .profiles[0]
            .plugin_config
        }
        assert args["DynamicResources"].filter_timeout is None
        assert [(point.utilization, point.score) for point in args["VolumeBinding"].shape] == [(0, 10), (100, 0)]

    def test_only_plugins_in_use_get_arguments(self) -> None:
        few = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}]}}

        assert [config.name for config in loaded(profiles=[{"plugins": few}]).profiles[0].plugin_config] == [
            "NodeAffinity"
        ]

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            ({}, ("LeastAllocated", [("cpu", 1), ("memory", 1)])),
            ({"scoringStrategy": {"type": "MostAllocated"}}, ("MostAllocated", [("cpu", 1), ("memory", 1)])),
            (
                {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "x"}]}},
                ("LeastAllocated", [("x", 1)]),
            ),
        ],
    )
    def test_scoring_strategy(self, args: dict[str, Any], expected: tuple[str, list[tuple[str, int]]]) -> None:
        fit = loaded(**with_args("NodeResourcesFit", **args)).profiles[0].args_of("NodeResourcesFit")

        assert isinstance(fit, NodeResourcesFitArgs)
        assert fit.scoring_strategy is not None
        resources = [(resource.name, resource.weight) for resource in fit.scoring_strategy.resources]
        assert (fit.scoring_strategy.type, resources) == expected


class TestMergingPlugins:
    def merged(self, **points: Any) -> KubeSchedulerConfiguration:
        return loaded(profiles=[{"plugins": points}])

    def test_plugin_configured_anew_keeps_its_place(self) -> None:
        before = enabled(loaded())
        after = enabled(self.merged(multiPoint={"enabled": [{"name": "NodeAffinity", "weight": 9}]}))

        assert after == [(name, 9 if name == "NodeAffinity" else weight) for name, weight in before]

    def test_others_are_appended(self) -> None:
        assert enabled(self.merged(multiPoint={"enabled": [{"name": "Mine"}]}))[-1] == ("Mine", 0)

    def test_disabled_ones_are_left_out(self) -> None:
        config = self.merged(multiPoint={"disabled": [{"name": "NodeAffinity"}]})

        assert "NodeAffinity" not in dict(enabled(config))
        assert config.profiles[0].plugins is not None
        assert config.profiles[0].plugins.multi_point.disables("NodeAffinity")

    def test_star_disables_all(self) -> None:
        config = self.merged(multiPoint={"disabled": [{"name": "*"}], "enabled": [{"name": "NodeAffinity"}]})

        assert enabled(config) == [("NodeAffinity", 0)]

    def test_of_a_plugin_named_twice_the_last_replaces_the_default(self) -> None:
        config = self.merged(
            multiPoint={"enabled": [{"name": "NodeName", "weight": 1}, {"name": "NodeName", "weight": 2}]}
        )

        assert [weight for name, weight in enabled(config) if name == "NodeName"] == [2, 1]

    def test_profile_knows_what_it_enables(self) -> None:
        profile = self.merged(score={"enabled": [{"name": "Mine"}]}).profiles[0]

        assert profile.enables("Mine")
        assert profile.enables("NodeName")
        assert not profile.enables("Other")


class TestStrictDecoding:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"nonsense": 1}, 'strict decoding error: unknown field "nonsense"'),
            (
                {"a": 1, "profiles": [{"plugins": {"filter": {"enable": []}}}]},
                'strict decoding error: unknown field "a", unknown field "profiles[0].plugins.filter.enable"',
            ),
            (
                with_args("NodeResourcesFit", bogus=1, scoringStrategy={"kind": "x"}),
                (
                    "strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for "
                    'plugin NodeResourcesFit: strict decoding error: unknown field "bogus", '
                    'unknown field "scoringStrategy.kind"'
                ),
            ),
        ],
    )
    def test_every_unknown_field_is_named(self, fields: dict[str, Any], message: str) -> None:
        assert refusal(**fields).message == message

    def test_near_miss_gets_a_hint(self) -> None:
        error = refusal(percentageOfNodeToScore=5)

        assert error.hint == "percentageOfNodeToScore: did you mean percentageOfNodesToScore?"

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"parallelism": "many"},
                "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
            ),
            (
                {"podMaxBackoffSeconds": True},
                (
                    "json: cannot unmarshal bool into Go struct field "
                    "KubeSchedulerConfiguration.podMaxBackoffSeconds of type int64"
                ),
            ),
            (
                {"profiles": {}},
                (
                    "json: cannot unmarshal object into Go struct field "
                    "KubeSchedulerConfiguration.profiles of type []v1.KubeSchedulerProfile"
                ),
            ),
            (
                {"profiles": [{"schedulerName": 1}]},
                (
                    "json: cannot unmarshal number into Go struct field "
                    "KubeSchedulerProfile.profiles.schedulerName of type string"
                ),
            ),
            (
                {"leaderElection": {"leaseDuration": 15}},
                "json: cannot unmarshal number into Go value of type string",
            ),
            ({"leaderElection": {"leaseDuration": "soon"}}, 'time: invalid duration "soon"'),
            (
                with_args("NodeResourcesFit", ignoredResources="cpu"),
                (
                    "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: json: cannot unmarshal "
                    "string into Go struct field NodeResourcesFitArgs.ignoredResources of type []string"
                ),
            ),
        ],
    )
    def test_wrong_types_are_told_in_gos_words(self, fields: dict[str, Any], message: str) -> None:
        assert refusal(**fields).message == message

    @pytest.mark.parametrize(
        ("document", "message"),
        [
            ({"kind": "KubeSchedulerConfiguration"}, "Object 'apiVersion' is missing in"),
            ({"apiVersion": "kubescheduler.config.k8s.io/v1"}, "Object 'Kind' is missing in"),
            (
                {**HEAD, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
                (
                    'no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" '
                    'in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"'
                ),
            ),
            (["a"], "json: cannot unmarshal array into Go value"),
        ],
    )
    def test_other_documents_are_refused(self, document: Any, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            load(document, FEATURES, location="scheduler.yaml")

        assert caught.value.message.startswith(message)
        assert caught.value.location == "scheduler.yaml"
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            (
                "InterPodAffinityArgs",
                (
                    "decoding .profiles[0].pluginConfig[0]: args for plugin NodeResourcesFit were not of type "
                    "NodeResourcesFitArgs.kubescheduler.config.k8s.io, got InterPodAffinityArgs.kubescheduler.config.k8s.io"
                ),
            ),
            (
                "Other",
                (
                    'decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: no kind "Other" is '
                    'registered for version "kubescheduler.config.k8s.io/v1" in scheme '
                    '"pkg/scheduler/apis/config/scheme/scheme.go:29"'
                ),
            ),
        ],
    )
    def test_arguments_of_another_kind_are_refused(self, kind: str, message: str) -> None:
        args = {"apiVersion": HEAD["apiVersion"], "kind": kind}

        assert refusal(**with_args("NodeResourcesFit", **args)).message == message

    def test_nulls_count_as_absent(self) -> None:
        assert loaded(parallelism=None, profiles=None) == loaded()

    def test_arguments_of_unknown_plugins_stay_as_they_are(self) -> None:
        config = loaded(**with_args("Mine", any={"thing": [1]}))

        assert config.profiles[0].args_of("Mine") == {"any": {"thing": [1]}}
        assert config.profiles[0].args_of("Nobody") is None

    def test_views_are_decoded_inside_arguments(self) -> None:
        constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
        config = loaded(**with_args("PodTopologySpread", defaultingType="List", defaultConstraints=[constraint]))

        spread = config.profiles[0].args_of("PodTopologySpread")
        assert isinstance(spread, PodTopologySpreadArgs)
        assert spread.default_constraints[0].topology_key == "z"


class TestWireForm:
    def test_defaulted_configuration_loads_as_itself(self) -> None:
        config = loaded(
            profiles=[{"schedulerName": "x", "plugins": {"score": {"disabled": [{"name": "*"}]}}}],
            extenders=[
                {
                    "urlPrefix": "http://x",
                    "httpTimeout": "1.5s",
                    "enableHTTPS": True,
                    "tlsConfig": {"caData": "QQ=="},
                    "managedResources": [{"name": "example.com/x"}],
                }
            ],
        )

        wire = dump(config)

        assert load(wire, FEATURES) == config
        assert wire["extenders"] == [
            {
                "urlPrefix": "http://x",
                "httpTimeout": "1.5s",
                "enableHTTPS": True,
                "tlsConfig": {"caData": "QQ=="},
                "managedResources": [{"name": "example.com/x"}],
            }
        ]

    def test_weights_and_empty_points_are_written(self) -> None:
        plugins = dump(loaded())["profiles"][0]["plugins"]

        assert plugins["filter"] == {}
        assert plugins["multiPoint"]["enabled"][0] == {"name": "SchedulingGates", "weight": 0}

    def test_zero_is_written_where_go_has_a_pointer(self) -> None:
        wire = dump(loaded(**with_args("InterPodAffinity", hardPodAffinityWeight=0)))
        args = wire["profiles"][0]["pluginConfig"][0]["args"]

        assert args["hardPodAffinityWeight"] == 0
        assert args["ignorePreferredTermsOfExistingPods"] is False
        assert wire["percentageOfNodesToScore"] == 0
