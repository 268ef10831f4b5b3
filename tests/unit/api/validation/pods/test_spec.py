"""Checks of pod specs: equal specs are checked once, and only sound ones are remembered."""

from typing import Any

import pytest

from schedlab.api.validation.pods import spec as checks
from schedlab.api.validation.pods.known_specs import KnownSpecs
from schedlab.api.validation.pods.rules import PodRules
from schedlab.apimachinery.features import FeatureGates

RULES = PodRules(FeatureGates.default(), is_pod=True)


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": "i",
        "resources": {},
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
    }
    defaults = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
    }
    return {"metadata": {"name": name, "namespace": "d"}, "spec": {**defaults, **spec}, "status": {}}


def test_an_equal_spec_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    check = checks.validate_pod_spec

    def counted(spec: Any, metadata: Any, path: Any, rules: PodRules) -> Any:
        calls.append(metadata["name"])
        return check(spec, metadata, path, rules)

    monkeypatch.setattr(checks, "_sound_specs", KnownSpecs())
    monkeypatch.setattr(checks, "validate_pod_spec", counted)

    for name in ("one", "two"):
        assert checks.validate_pod(pod(name), RULES) == []
    other_gates = PodRules(FeatureGates.default(), is_pod=True)
    assert checks.validate_pod(pod("three"), other_gates) == []

    assert calls == ["one", "three"]


def test_a_faulty_spec_is_refused_every_time() -> None:
    faults = [checks.validate_pod(pod(dnsPolicy="no"), RULES) for _ in range(2)]

    assert [str(error.field) for error in faults[0]] == ["spec.dnsPolicy"]
    assert faults[0] == faults[1]


def test_the_names_of_pods_are_checked_whatever_their_spec() -> None:
    assert checks.validate_pod(pod("ok"), RULES) == []
    assert [error.field for error in checks.validate_pod(pod("Not OK"), RULES)] == ["metadata.name"]
