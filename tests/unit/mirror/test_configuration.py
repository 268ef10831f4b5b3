"""kube-scheduler-simulator's configuration file and environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from schedlab.kernel.errors import SchedlabError
from schedlab.mirror.configuration import SimulatorConfiguration, load_configuration

SAMPLE: dict[str, Any] = {
    "apiVersion": "kube-scheduler-simulator-config/v1alpha1",
    "kind": "SimulatorConfiguration",
    "port": 1212,
    "etcdURL": "http://127.0.0.1:2379",
    "corsAllowedOriginList": ["http://localhost:3000"],
    "kubeConfig": "/kubeconfig.yaml",
    "kubeApiServerUrl": "http://localhost:3131",
    "kubeSchedulerConfigPath": "",
    "externalImportEnabled": False,
    "resourceSyncEnabled": False,
    "recordFilePath": "/record.jsonl",
    "replayEnabled": False,
}


def _load(tmp_path: Path, environment: dict[str, str] | None = None, **changes: Any) -> SimulatorConfiguration:
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**SAMPLE, **changes}))
    return load_configuration(file, environment or {})


def test_the_sample_of_upstream_is_read(tmp_path: Path) -> None:
    assert _load(tmp_path) == SimulatorConfiguration(
        port=1212,
        apiserver_port=3131,
        origins=("http://localhost:3000",),
        kubeconfig="/kubeconfig.yaml",
        record="/record.jsonl",
    )


def test_a_selector_is_written_as_the_api_takes_it(tmp_path: Path) -> None:
    selector = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["d", "e"]},
            {"key": "f", "operator": "NotIn", "values": ["g"]},
            {"key": "h", "operator": "Exists"},
            {"key": "i", "operator": "DoesNotExist"},
        ],
    }
    config = _load(tmp_path, resourceImportLabelSelector=selector, externalImportEnabled=True)

    assert config.selector == "a=b,c in (d,e),f notin (g),h,!i"
    assert config.imports


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    environment = {
        "PORT": "4000",
        "KUBE_APISERVER_URL": "http://localhost:5000",
        "CORS_ALLOWED_ORIGIN_LIST": "http://a:1, http://b:2",
        "KUBE_SCHEDULER_CONFIG_PATH": "/scheduler.yaml",
        "REPLAYER_ENABLED": "T",
        "RECORD_FILE_PATH": "/other.jsonl",
    }
    config = _load(tmp_path, environment)

    assert (config.port, config.apiserver_port) == (4000, 5000)
    assert config.origins == ("http://a:1", "http://b:2")
    assert config.scheduler_config == "/scheduler.yaml"
    assert (config.replays, config.record) == (True, "/other.jsonl")


@pytest.mark.parametrize(
    "environment",
    [{"PORT": "many"}, {"CORS_ALLOWED_ORIGIN_LIST": "nonsense"}, {"EXTERNAL_IMPORT_ENABLED": "perhaps"}],
)
def test_what_cannot_be_read_in_the_environment_leaves_the_file(tmp_path: Path, environment: dict[str, str]) -> None:
    assert _load(tmp_path, environment) == _load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prot": 1212}, 'unknown field "prot"'),
        ({"port": "1212"}, "port: '1212' is not a number"),
        ({"externalImportEnabled": "yes"}, "externalImportEnabled: 'yes' is not true or false"),
        ({"corsAllowedOriginList": "a"}, "corsAllowedOriginList: 'a' is not a list of texts"),
        ({"corsAllowedOriginList": ["localhost"]}, "corsAllowedOriginList[0]: 'localhost' is no URL"),
        ({"resourceImportLabelSelector": {"a": "b"}}, "is not a label selector"),
        (
            {"externalImportEnabled": True, "replayEnabled": True},
            "externalImportEnabled and replayEnabled: only one of them can be true at a time",
        ),
        ({"kubeApiServerUrl": "http://localhost:many"}, "kubeApiServerUrl"),
    ],
)
def test_mistakes_are_named_by_their_fields(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SchedlabError) as caught:
        _load(tmp_path, **changes)

    assert said in caught.value.message
    assert caught.value.location == str(tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [("port: 1\nport: 2\n", "port"), ("- a\n", "holds list, not a SimulatorConfiguration"), ("a: [", "line")],
)
def test_a_file_that_is_no_configuration_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)

    with pytest.raises(SchedlabError) as caught:
        load_configuration(file, {})

    assert said in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SchedlabError, match="cannot be read"):
        load_configuration(tmp_path / "none", {})
