"""Whether expressions can be compiled is said on their objects."""

from __future__ import annotations

from schedlab.client.effects import WriteEffect
from schedlab.kubelet.usage.definition import CLUSTER_USAGES
from tests.support.usage import Metered


def check(metered: Metered) -> int:
    """Let all new versions be read; returns how many writes came of it."""
    writes = 0
    while metered.checker.ready():
        for effect in metered.checker.step():
            assert isinstance(effect, WriteEffect)
            metered.plane.client.submit(effect.write)
            writes += 1
    return writes


def test_conditions() -> None:
    """With the place of the first mistake; mended objects say so, those without expressions say nothing."""
    metered = Metered()
    metered.say_for_all("right", {"usage": {"cpu": {"expression": "1.0"}}})
    metered.say_for_all("wrong", {"usage": {"cpu": {"value": "1"}}}, {"usage": {"memory": {"expression": "1 +"}}})
    metered.say_for_all("constant", {"usage": {"cpu": {"value": "1"}}})
    writes = check(metered)
    found = {each["metadata"]["name"]: each.get("status", {}) for each in metered.plane.all(CLUSTER_USAGES)}
    (wrong,) = found["wrong"]["conditions"]

    assert (writes, check(metered)) == (2, 0)
    assert found["right"]["conditions"][0]["status"] == "True"
    assert found["constant"] == {}
    assert (wrong["status"], wrong["reason"]) == ("False", "InvalidExpression")
    assert wrong["message"].startswith("spec.usages[1].usage.memory.expression: ")
    assert "Syntax error" in wrong["message"]
    metered.plane.patch(CLUSTER_USAGES, "wrong", {"spec": {"usages": [{"usage": {"cpu": {"expression": "1"}}}]}})
    check(metered)

    assert metered.plane.get(CLUSTER_USAGES, "wrong")["status"]["conditions"][0]["status"] == "True"
