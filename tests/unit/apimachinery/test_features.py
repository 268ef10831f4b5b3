"""Feature gates: the table of Kubernetes 1.36, choices, refusals."""

import json

import pytest

from schedlab.apimachinery.features import FEATURES, FeatureGates, Stage
from schedlab.kernel.errors import SchedlabError
from tests.parity.places import CORPUS

# Recorded from the real binaries.
RECORDED = CORPUS / "features.json"


def test_defaults_are_those_of_the_release() -> None:
    gates = FeatureGates.default()

    assert gates.enabled("SchedulerPopFromBackoffQ")
    assert not gates.enabled("GangScheduling")
    assert {spec.name for spec in FEATURES.values() if gates.enabled(spec.name) != spec.default} == set()


def test_table_equals_the_recorded_gates() -> None:
    """Every gate that the real binaries know, with the same default, stage and lock."""
    recorded = json.loads(RECORDED.read_bytes())

    ours = [
        {"name": spec.name, "default": spec.default, "stage": spec.stage.value, "locked": spec.locked}
        for spec in FEATURES.values()
    ]

    assert recorded == ours


def test_dependencies_name_known_gates_and_hold_by_default() -> None:
    for spec in FEATURES.values():
        assert all(name in FEATURES for name in spec.dependencies)
        assert not spec.default or all(FEATURES[name].default for name in spec.dependencies)


def test_choices_add_up() -> None:
    """A later choice keeps the earlier ones and leaves the set it came from alone."""
    default = FeatureGates.default()
    first = default.with_overrides({"GenericWorkload": True})
    both = first.with_overrides({"GangScheduling": True})

    assert both.enabled("GenericWorkload")
    assert both.enabled("GangScheduling")
    assert not first.enabled("GangScheduling")
    assert both.overrides == {"GenericWorkload": True, "GangScheduling": True}
    assert repr(both) == "FeatureGates(GangScheduling=True, GenericWorkload=True)"


def test_flag_text_is_parsed() -> None:
    gates = FeatureGates.parse("OpportunisticBatching=false, TaintTolerationComparisonOperators = T,")

    assert not gates.enabled("OpportunisticBatching")
    assert gates.enabled("TaintTolerationComparisonOperators")


def test_whole_stage_yields_to_a_choice_by_name() -> None:
    gates = FeatureGates.parse("GangScheduling=false,WorkloadAwarePreemption=false,AllAlpha=true")

    assert gates.enabled("StorageCapacityScoring")
    assert not gates.enabled("GangScheduling")
    assert all(gates.enabled(s.name) for s in FEATURES.values() if s.stage is Stage.BETA and s.default)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("GangSchedulng=true", "unrecognized feature gate: GangSchedulng", "did you mean GangScheduling?"),
        ("Xyzzy=true", "unrecognized feature gate: Xyzzy", "gates are named as in Kubernetes 1.36"),
        ("SidecarContainers", "missing bool value for SidecarContainers", "write SidecarContainers=true"),
        ("PodsAPI=maybe", 'invalid value of PodsAPI: "maybe" is not a boolean', "use true or false"),
        (
            "SidecarContainers=false",
            "cannot set feature gate SidecarContainers to false, feature is locked to true",
            "leave SidecarContainers out: in Kubernetes 1.36 it is always true",
        ),
        (
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]",
            "also set GenericWorkload=true, or GangScheduling=false",
        ),
    ],
)
def test_impossible_choice_says_what_to_do(text: str, message: str, hint: str) -> None:
    with pytest.raises(SchedlabError) as caught:
        FeatureGates.parse(text)

    assert (message, "--feature-gates", hint) == (caught.value.message, caught.value.location, caught.value.hint)


def test_locked_gate_may_be_set_to_its_default() -> None:
    assert FeatureGates.parse("SidecarContainers=true").enabled("SidecarContainers")
