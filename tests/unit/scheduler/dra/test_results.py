"""Allocations as they are written into claims."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.scheduler.dra.types import AllocationError
from tests.unit.scheduler.dra.device_search import Bench, wire
from tests.unit.scheduler.plugins.dynamic_resources.device_cluster import (
    DRIVER,
    Raw,
    claim,
    device,
    device_class,
    either,
    request,
    slice_of,
)


def opaque(mode: str) -> Raw:
    return {"opaque": {"driver": DRIVER, "parameters": {"mode": mode}}}


def term(*values: str, key: str = "zone") -> Raw:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def written(bench: Bench, wanted: Raw, **labels: str) -> Any:
    results = bench.results(wanted, **labels)
    assert results is not None
    return wire(results[0])


def test_devices() -> None:
    """Only what there is to say is said."""
    assert written(Bench(slice_of("s", "a", node="n")), claim("c", request())) == {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": "n", "device": "a"}]},
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
        },
    }


def test_binding_conditions_are_carried_over() -> None:
    """They belong to the device, and are looked at in the claim."""
    waits = device("a", bindingConditions=["Ready"], bindingFailureConditions=["Broken"], bindsToNode=True)
    made = written(Bench(slice_of("s", waits, allNodes=True)), claim("c", request()))

    (result,) = made["devices"]["results"]
    assert (result["bindingConditions"], result["bindingFailureConditions"]) == (["Ready"], ["Broken"])
    assert made["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["n"]


def test_configuration() -> None:
    """Classes first, each once for all its requests; then the claim's, once for each request that it names."""
    classes = [device_class("gpu", config=[opaque("class")]), device_class("net", config=[opaque("net")])]
    wanted = claim(
        "c",
        request("p"),
        request("q", "net"),
        either("r", request("x", "gpu", "false"), request("y")),
        config=[
            opaque("all"),
            opaque("p-and-r") | {"requests": ["p", "r"]},
            opaque("y") | {"requests": ["r/y"]},
            opaque("x") | {"requests": ["r/x"]},
        ],
    )
    made = written(Bench(slice_of("s", "a", "b", "d", node="n"), classes=classes), wanted)

    assert [
        (each["source"], each.get("requests", []), each["opaque"]["parameters"]["mode"])
        for each in made["devices"]["config"]
    ] == [
        ("FromClass", ["p", "r/y"], "class"),
        ("FromClass", ["q"], "net"),
        ("FromClaim", [], "all"),
        ("FromClaim", ["p", "r"], "p-and-r"),
        ("FromClaim", ["p", "r"], "p-and-r"),
        ("FromClaim", ["r/y"], "y"),
    ]


class TestNodeSelector:
    def test_devices_for_all_nodes_have_none(self) -> None:
        assert "nodeSelector" not in written(Bench(slice_of("s", "a", allNodes=True)), claim("c", request()))

    def test_terms_of_several_slices_are_joined(self) -> None:
        terms = [term("one", "two"), term("two", "one"), term("big", key="size")]
        slices = [
            slice_of(f"s{number}", "a", nodeSelector={"nodeSelectorTerms": [each]}) for number, each in enumerate(terms)
        ]
        made = written(Bench(*slices), claim("c", request(count=3)), zone="one", size="big")

        (joined,) = made["nodeSelector"]["nodeSelectorTerms"]
        assert joined["matchExpressions"] == [*term("one", "two")["matchExpressions"], *terms[2]["matchExpressions"]]

    def test_devices_may_have_their_own(self) -> None:
        devices = [
            device("a", nodeSelector={"nodeSelectorTerms": [term("one")]}),
            device("b", nodeName="n"),
        ]
        bench = Bench(slice_of("s", *devices, perDeviceNodeSelection=True))
        one = written(bench, claim("c", request()), zone="one")
        assert one["nodeSelector"]["nodeSelectorTerms"] == [term("one")]
        both = written(bench, claim("c", request(count=2)), zone="one")
        assert "matchFields" in both["nodeSelector"]["nodeSelectorTerms"][0]

    def test_one_term_is_all_there_can_be(self) -> None:
        several = slice_of("s", "a", nodeSelector={"nodeSelectorTerms": [term("one"), term("two")]})
        with pytest.raises(AllocationError) as failure:
            Bench(several).results(claim("c", request()), zone="one")
        said = "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms"
        assert str(failure.value) == said
