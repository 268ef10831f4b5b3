"""Profiles are made of plugins, or refused with every mistake and its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from schedlab.scheduler.config import ConfigError
from schedlab.scheduler.framework.plugin_class import entry_of
from tests.unit.scheduler.fake_cluster import BASIC_PLUGINS, FakeCluster, configuration, profile


class Mine:
    name = "Mine"

    @dataclass
    class Args:
        reverse: bool = False

    def __init__(self, args: Args) -> None:
        self.reverse = args.reverse

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def refusal(*profiles: dict[str, Any], plugin: type[Any] = Mine, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        FakeCluster(configuration(*profiles), registry={"Mine": entry_of(plugin)}, **options)
    return caught.value


def with_args(args: Any, name: str = "default-scheduler") -> dict[str, Any]:
    return profile(*BASIC_PLUGINS, "Mine", name=name, pluginConfig=[{"name": "Mine", "args": args}])


@pytest.mark.parametrize("args", [None, {}, {"reverse": True}])
def test_plugin_gets_its_arguments_typed(args: Any) -> None:
    cluster = FakeCluster(configuration(with_args(args)), registry={"Mine": entry_of(Mine)})

    made: Any = cluster.scheduler.profiles["default-scheduler"].plugin("Mine")
    assert made.reverse == bool(args)


def test_every_mistake_in_arguments_is_named_with_its_path() -> None:
    error = refusal(with_args({"revers": True, "x": 1}), with_args({"reverse": 1}, "other"))

    assert error.message == (
        "[profiles[0].pluginConfig[0].args.revers: unknown field, profiles[0].pluginConfig[0].args.x: unknown field, "
        "profiles[1].pluginConfig[0].args.reverse: Expected `bool`, got `int`]"
    )
    assert error.hint == "profiles[0].pluginConfig[0].args.revers: did you mean reverse?"


def test_arguments_must_be_a_mapping() -> None:
    assert refusal(with_args([])).message == "profiles[0].pluginConfig[0].args: Expected `object`, got `list`"


def test_plugin_that_cannot_be_made_is_told() -> None:
    class Broken(Mine):
        def __init__(self, args: Any) -> None:
            raise RuntimeError("no")

    assert (
        'initializing plugin "Mine": Broken.__init__ raised RuntimeError: no'
        in refusal(profile(*BASIC_PLUGINS, "Mine"), plugin=Broken).message
    )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (lambda _: [3], "events_to_register gave 3, which is no ClusterEventWithHint"),
        (lambda _: None, "events_to_register raised TypeError: 'NoneType' object is not iterable"),
        (lambda _: 1 / 0, "events_to_register raised ZeroDivisionError: division by zero"),
    ],
)
def test_plugin_that_cannot_say_what_wakes_its_pods_is_told(events: Any, words: str) -> None:
    plugin = type("Deaf", (Mine,), {"events_to_register": events})

    assert refusal(profile(*BASIC_PLUGINS, "Mine"), plugin=plugin).message == f'initializing plugin "Mine": {words}'


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        (
            ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
            "profiles[0].plugins: TopologyPlacementGenerator is not part of schedlab: placements of pod groups are missing",
        ),
        (
            ("GenericWorkload", "GangScheduling", "WorkloadAwarePreemption"),
            "the gate WorkloadAwarePreemption is on: preemption for a pod group as a whole is not part of schedlab",
        ),
    ],
)
def test_alpha_gates_whose_plugins_are_absent_are_refused(gates: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FakeCluster(configuration({}), gates=dict.fromkeys(gates, True))

    assert caught.value.message == message
    assert f"leave the alpha gate {gates[-1]} off" in caught.value.hint
