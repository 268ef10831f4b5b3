"""Several manifests are checked in the light of each other."""

from __future__ import annotations

from typing import Any

import yaml

from schedlab.whatif.creating import refusals
from tests.unit.whatif.whatif_cluster import Lab
from tools.build_ui import ROOT


def told(lab: Lab, *manifests: dict[str, Any], namespace: str = "default") -> list[str]:
    before = lab.digest()
    found = list(refusals(lab.cluster, manifests, namespace))

    assert lab.digest() == before
    return ["" if one is None else one["message"] for one in found]


def pod(name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    spec = {"containers": [{"name": "c", "image": "i"}], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_the_shop_can_be_created() -> None:
    """Namespace, priority classes and nodes stand before what needs them."""
    files = sorted((ROOT / "examples" / "shop").glob("*.yaml"))
    manifests = [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))]

    assert len(manifests) > 40
    assert set(told(Lab(), *manifests)) == {""}


def test_what_is_missing_is_told_and_what_comes_too_late_as_well() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    early, late = (pod(name, metadata={"namespace": "shop"}) for name in ("early", "late"))

    assert told(Lab(), early, namespace, late) == ['namespaces "shop" not found', "", ""]


def test_the_same_name_twice_is_refused() -> None:
    assert told(Lab(), pod("p"), pod("p"))[1] == 'pods "p" already exists'


def test_unknown_fields_and_kinds_are_refused() -> None:
    manifests = [pod("p", colour="red"), {"apiVersion": "v2", "kind": "Pod", "metadata": {"name": "q"}}, pod("")]
    unknown, other, nameless = told(Lab(), *manifests)

    assert 'unknown field "spec.colour"' in unknown
    assert other == 'no matches for kind "Pod" in version "v2"'
    assert "name or generateName is required" in nameless


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}

    assert told(Lab(), pod("p", deep=deep), pod("q")) == ["Pod cannot be written as JSON: Recursion limit reached", ""]


def test_objects_of_a_kind_that_is_defined_above_them() -> None:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    good, bad = (
        {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": f"w{number}"}, "size": size}
        for number, size in enumerate((3, "big"))
    )
    first, second, third = told(Lab(), definition, good, bad)

    assert (first, second) == ("", "")
    assert "size in body must be of type integer" in third
