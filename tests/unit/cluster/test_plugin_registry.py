"""Which plugins a configuration gets beside those of the scheduler, and what the user is told."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

import pytest

from schedlab.apimachinery.features import FeatureGates
from schedlab.cluster import plugin_registry
from schedlab.cluster.plugin_loading import PluginLoadError
from schedlab.cluster.plugin_registry import enable, registry_for
from schedlab.scheduler.config import KubeSchedulerConfiguration, default_configuration, load
from schedlab.scheduler.framework.interface import PluginEntry

FEATURES = FeatureGates.default()
MINE = PluginEntry("Mine", lambda _args, _handle: None)
YOURS = PluginEntry("Yours", lambda _args, _handle: None)


def config_of(*profiles: dict[str, Any]) -> KubeSchedulerConfiguration:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return load({**head, "profiles": list(profiles)}, FEATURES)


def enabling(*names: str, **more: Any) -> dict[str, Any]:
    return {"plugins": {"multiPoint": {"enabled": [{"name": name} for name in names]}}, **more}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One installed plugin, and the list of those whose code was imported."""
    imported: list[str] = []
    point = importlib.metadata.EntryPoint("Installed", "package:Installed", "schedlab.plugins")

    def load_point(point: importlib.metadata.EntryPoint) -> PluginEntry:
        imported.append(point.name)
        return PluginEntry(point.name, lambda _args, _handle: None)

    monkeypatch.setattr(plugin_registry, "installed_plugins", lambda: {"Installed": point})
    monkeypatch.setattr(plugin_registry, "load_installed", load_point)
    return imported


def test_given_plugins_are_registered() -> None:
    found = registry_for(config_of(enabling("Mine", "Yours")), [MINE, YOURS])

    assert found.entries == {"Mine": MINE, "Yours": YOURS}
    assert found.warnings == []


def test_installed_plugin_is_loaded_when_a_profile_enables_it(installed: list[str]) -> None:
    registry_for(config_of({}), [])
    assert installed == []

    found = registry_for(config_of({"plugins": {"score": {"enabled": [{"name": "Installed"}]}}}), [])
    assert list(found.entries) == installed == ["Installed"]


def test_given_plugin_stands_in_for_an_installed_one(installed: list[str]) -> None:
    given = PluginEntry("Installed", lambda _args, _handle: None)

    assert registry_for(config_of(enabling("Installed")), [given]).entries == {"Installed": given}
    assert installed == []


def test_plugin_that_no_profile_enables_is_told_how_to() -> None:
    [warning] = registry_for(config_of({}), [MINE], location="scheduler.yaml").warnings

    assert warning == (
        "plugin Mine does not run: no profile of scheduler.yaml enables it; "
        "add to a profile: plugins: {multiPoint: {enabled: [{name: Mine}]}}"
    )


def test_arguments_of_a_plugin_nobody_knows_are_told() -> None:
    config = config_of({"pluginConfig": [{"name": "NodeNumbr", "args": {}}]})

    assert registry_for(config, [], location="s.yaml").warnings == [
        "s.yaml: profiles[0].pluginConfig[0]: there is no plugin NodeNumbr; its arguments are ignored"
    ]


GUEST = [{"name": "Guest", "args": {"guestURL": "file:///guest.wasm"}}]


def test_plugin_whose_arguments_have_a_guest_url_is_webassembly(installed: list[str]) -> None:
    at_one_point = {"plugins": {"filter": {"enabled": [{"name": "Guest"}]}}, "pluginConfig": GUEST}
    profiles = [{**at_one_point, "schedulerName": name} for name in ("default-scheduler", "other")]
    found = registry_for(config_of(*profiles), [])

    assert list(found.entries) == ["Guest"]
    assert found.warnings == []


def test_given_plugin_may_have_a_guest_url_of_its_own() -> None:
    given = PluginEntry("Guest", MINE.factory)

    assert registry_for(config_of(enabling("Guest", pluginConfig=GUEST)), [given]).entries == {"Guest": given}


def test_webassembly_that_no_profile_enables_is_told() -> None:
    [warning] = registry_for(config_of({"pluginConfig": GUEST}), []).warnings

    assert warning == (
        "profiles[0].pluginConfig[0]: no profile enables the WebAssembly plugin Guest; its arguments are ignored"
    )


def test_hooks_around_a_plugin_that_does_not_run_are_told() -> None:
    found = registry_for(config_of({}), [], ["NodeName", "Mine"])

    assert found.warnings == ["hooks around Mine do nothing: no profile enables such a plugin"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([PluginEntry("NodeName", MINE.factory)], "a plugin of the scheduler has this name already"),
        ([MINE, MINE], "another plugin has this name already"),
    ],
)
def test_names_are_unique(given: Sequence[PluginEntry], message: str) -> None:
    with pytest.raises(PluginLoadError, match=message):
        registry_for(config_of({}), given)


def test_without_a_configuration_given_plugins_run_at_all_their_points() -> None:
    config = default_configuration(FEATURES)

    enable(config, [MINE])

    assert config.profiles[0].plugins is not None
    assert config.profiles[0].plugins.multi_point.enabled[-1].name == "Mine"
    assert registry_for(config, [MINE]).warnings == []
