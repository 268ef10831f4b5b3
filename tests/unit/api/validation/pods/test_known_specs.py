"""Specs in which nothing was found are remembered by rules and content, within limits."""

from schedlab.api.validation.pods import known_specs
from schedlab.api.validation.pods.known_specs import KnownSpecs
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.warnings import pod_warnings
from schedlab.apimachinery.features import FeatureGates

RULES = PodRules(FeatureGates.default(), is_pod=True)
SPEC = {"containers": [{"name": "c"}]}


def test_a_spec_is_known_by_its_content_and_the_rules() -> None:
    known = KnownSpecs()
    key = known.key(SPEC, RULES)
    assert key is not None
    assert key not in known
    known.add(key)

    assert known.key({"containers": [{"name": "c"}]}, RULES) in known
    assert known.key({"containers": [{"name": "d"}]}, RULES) not in known
    assert known.key(SPEC, PodRules(RULES.features, is_pod=False)) not in known
    assert known.key(SPEC, PodRules(FeatureGates.default(), is_pod=True)) not in known


def test_pods_of_one_template_are_alike_on_every_node_whose_name_any_label_could_have() -> None:
    known = KnownSpecs()
    on_node = known.key({**SPEC, "nodeName": "n-1"}, RULES)

    assert on_node == known.key({**SPEC, "nodeName": "ip-10-0-0-1.ec2.internal"}, RULES)
    assert on_node != known.key({**SPEC, "nodeName": "Upper"}, RULES)
    assert on_node != known.key({**SPEC, "nodeName": "x" * 64}, RULES)
    assert on_node != known.key(SPEC, RULES)


def test_specs_whose_checks_depend_on_the_pod_or_that_are_big_are_not_remembered() -> None:
    known = KnownSpecs()

    assert known.key({"volumes": [{"name": "v", "ephemeral": {}}]}, RULES) is None
    assert known.key({"resourceClaims": [{"name": "c"}]}, RULES) is None
    assert known.key({"hostname": "x" * 20_000}, RULES) is None


def test_the_number_of_specs_is_limited() -> None:
    known = KnownSpecs()
    for number in range(known_specs._ENTRIES_MAX + 1):
        key = known.key({"priority": number}, RULES)
        assert key is not None
        known.add(key)

    assert len(known._known) == 1


def test_warnings_are_given_to_every_pod_that_deserves_them() -> None:
    odd = {"containers": [{"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1}]}]}
    first = pod_warnings({}, odd, RULES)

    assert first
    assert pod_warnings({}, odd, RULES) == first
    assert pod_warnings({}, SPEC, RULES) == pod_warnings({}, SPEC, RULES) == []
    old = {"annotations": {"scheduler.alpha.kubernetes.io/critical-pod": ""}}
    assert len(pod_warnings(old, SPEC, RULES)) == 1
