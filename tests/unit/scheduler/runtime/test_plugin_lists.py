"""Which plugins run where, in which order, with which weight."""

from typing import Any

import pytest

from schedlab.scheduler.config.types import KubeSchedulerProfile, Plugin, Plugins, PluginSet
from schedlab.scheduler.runtime.plugin_lists import ProfileError, expand, needed, score_weights, takes_part


class Fake:
    """A plugin with the methods it is given."""

    def __init__(self, name: str, *methods: str) -> None:
        self.name = name
        for method in methods:
            setattr(self, method, lambda *_: None)


MADE = {
    plugin.name: plugin
    for plugin in (
        Fake("Sort", "sort_key"),
        Fake("Sort2", "sort_key"),
        Fake("Bind", "bind"),
        Fake("F", "filter", "score"),
        Fake("G", "filter", "score"),
        Fake("H", "filter"),
        Fake("S", "score"),
        Fake("Gen1", "generate_placements"),
        Fake("Gen2", "generate_placements"),
    )
}


def plugin_set(enabled: str = "", disabled: str = "") -> PluginSet:
    def parse(text: str) -> Plugin:
        name, _, weight = text.partition("=")
        return Plugin(name=name, weight=int(weight or 0))

    return PluginSet(enabled=[*map(parse, enabled.split())], disabled=[*map(parse, disabled.split())])


def profile(multi: str, **points: PluginSet) -> KubeSchedulerProfile:
    return KubeSchedulerProfile(scheduler_name="x", plugins=Plugins(multi_point=plugin_set(multi), **points))


def names(plugins: tuple[Any, ...]) -> list[str]:
    return [plugin.name for plugin in plugins]


@pytest.mark.parametrize(
    ("multi", "filter_", "expected"),
    [
        pytest.param("Sort Bind F G H", plugin_set(), ["F", "G", "H"], id="multiPoint in its order"),
        pytest.param("Sort Bind F G H", plugin_set(disabled="G"), ["F", "H"], id="one disabled at the point"),
        pytest.param("Sort Bind F G H", plugin_set(disabled="*"), [], id="all disabled at the point"),
        pytest.param("Sort Bind F", plugin_set("H"), ["F", "H"], id="what is only enabled at the point comes last"),
        pytest.param("Sort Bind F G H", plugin_set("H F"), ["H", "F", "G"], id="overrides come first, in their order"),
        pytest.param("Sort Bind F G", plugin_set("H G", "*"), ["H", "G"], id="only what the point says"),
        pytest.param("Sort Bind F G", plugin_set("G", "G"), ["F", "G"], id="disabled and enabled is not an override"),
    ],
)
def test_order_at_a_point(multi: str, filter_: PluginSet, expected: list[str]) -> None:
    assert names(expand(profile(multi, filter=filter_), MADE)["filter"]) == expected


@pytest.mark.parametrize(
    ("multi", "points", "message"),
    [
        ("Sort Bind Nope", {}, 'PreFilterPlugin "Nope" does not exist'),
        ("Sort Bind", {"score": plugin_set("Nope")}, 'ScorePlugin "Nope" does not exist'),
        ("Sort Bind", {"score": plugin_set("H")}, 'plugin "H" does not extend ScorePlugin plugin'),
        ("Sort Bind", {"score": plugin_set("S=1 S=2")}, 'plugin "S" already registered as "ScorePlugin"'),
        ("Sort Bind F F", {}, 'plugin "F" already registered as "FilterPlugin"'),
        ("Bind", {}, 'only one queue sort plugin required for profile with scheduler name "x", but got 0'),
        ("Sort Sort2 Bind", {}, 'only one queue sort plugin required for profile with scheduler name "x", but got 2'),
        ("Sort", {}, 'at least one bind plugin is needed for profile with scheduler name "x"'),
        (
            "Sort Bind Gen1 Gen2",
            {},
            'at most one placement generate plugin is allowed for profile with scheduler name "x"',
        ),
    ],
)
def test_mistakes_are_told_in_upstreams_words(multi: str, points: dict[str, PluginSet], message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        expand(profile(multi, **points), MADE)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("multi", "score", "expected"),
    [
        ("Sort Bind F=3 G H=7", "", {"F": 3, "G": 1}),
        ("Sort Bind F=3 G=2", "G=5 S", {"G": 5, "S": 1, "F": 3}),
    ],
)
def test_weight_at_the_score_point_wins_and_is_one_by_default(multi: str, score: str, expected: dict[str, int]) -> None:
    plugins = Plugins(multi_point=plugin_set(multi), score=plugin_set(score))

    assert score_weights(plugins, MADE) == expected


def test_weights_that_could_overflow_are_refused() -> None:
    plugins = Plugins(score=plugin_set(f"F={2**31 - 1} G={2**60}"))

    with pytest.raises(ProfileError, match="total score of Score plugins could overflow"):
        score_weights(plugins, MADE)


def test_only_enabled_plugins_are_needed() -> None:
    plugins = Plugins(multi_point=plugin_set("A B"), filter=plugin_set("C", "D"))

    assert sorted(needed(plugins)) == ["A", "B", "C"]
    assert takes_part(MADE["F"], "filter")
    assert not takes_part(MADE["F"], "bind")
