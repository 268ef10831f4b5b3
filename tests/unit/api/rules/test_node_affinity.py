"""Node selectors and node affinity."""

from typing import Any

import msgspec
import pytest

from schedlab.api.rules.node_affinity import (
    parse_node_selector,
    parse_preferred_terms,
    preferred_node_affinity,
    required_node_affinity,
)
from schedlab.api.views.core import Node, NodeSelector, Pod, PreferredSchedulingTerm
from schedlab.api.views.meta import ObjectMeta
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.selectors import SelectorError


def pod_of(spec: dict[str, Any]) -> Pod:
    return msgspec.convert({"spec": spec}, Pod)


NODE = Node(metadata=ObjectMeta(name="n1", labels={"zone": "a", "cores": "8"}))


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values}


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": expressions}


def fields(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"matchFields": requirements}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": terms}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def preferred(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    listed = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": listed}}}


IN_ZONE_A = labels(expression("zone", "In", "a", "b"))
IN_ZONE_B = labels(expression("zone", "In", "b"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, True, id="a pod without requirements fits everywhere"),
        pytest.param({"nodeSelector": {"zone": "a"}}, True, id="selector"),
        pytest.param({"nodeSelector": {"zone": "a", "gone": ""}}, False, id="every label of the selector must match"),
        pytest.param(required(IN_ZONE_A), True, id="In"),
        pytest.param(required(labels(expression("zone", "NotIn", "a"))), False, id="NotIn"),
        pytest.param(required(labels(expression("gone", "NotIn", "a"))), True, id="NotIn matches a missing label"),
        pytest.param(required(labels(expression("zone", "Exists"))), True, id="Exists"),
        pytest.param(required(labels(expression("zone", "DoesNotExist"))), False, id="DoesNotExist"),
        pytest.param(required(labels(expression("cores", "Gt", "7"))), True, id="Gt"),
        pytest.param(required(labels(expression("cores", "Lt", "8"))), False, id="Lt"),
        pytest.param(required(labels(expression("zone", "Gt", "7"))), False, id="Gt needs a number"),
        pytest.param(required(IN_ZONE_B, IN_ZONE_A), True, id="one term is enough"),
        pytest.param(
            required(labels(expression("zone", "In", "a"), expression("cores", "In", "4"))),
            False,
            id="every expression of a term must match",
        ),
        pytest.param(required(fields(expression("metadata.name", "In", "n1"))), True, id="field In"),
        pytest.param(required(fields(expression("metadata.name", "NotIn", "n1"))), False, id="field NotIn"),
        pytest.param(required(fields(expression("metadata.uid", "In", "x"))), False, id="an unknown field is empty"),
        pytest.param(
            required(IN_ZONE_A | fields(expression("metadata.name", "In", "n2"))), False, id="both must match"
        ),
        pytest.param(required(), False, id="no terms match nothing"),
        pytest.param(required({}), False, id="an empty term matches nothing"),
        pytest.param(required({}, IN_ZONE_A), True, id="an empty term is left out"),
        pytest.param({"nodeSelector": {"zone": "b"}} | required(IN_ZONE_A), False, id="selector and affinity"),
        pytest.param(required(labels(expression("zone", "Sounds", "a"))), False, id="a term in error matches nothing"),
    ],
)
def test_required_node_affinity(spec: dict[str, Any], *, expected: bool) -> None:
    assert required_node_affinity(pod_of(spec)).matches(NODE) is expected


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (
            [labels(expression("zone", "Sounds", "a"))],
            (
                'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Sounds": supported values: '
                '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ),
        ),
        (
            [{}, labels(expression("cores", "Gt", "many"))],
            (
                'nodeSelectorTerms[1].matchExpressions[0].values[0]: Invalid value: "many": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (
            [fields(expression("metadata.name", "In", "a", "b"), expression("metadata.name", "Exists"))],
            (
                '[nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a","b"]: must have one element, '
                'nodeSelectorTerms[0].matchFields[1].operator: Unsupported value: "Exists": supported values: '
                '"In", "NotIn"]'
            ),
        ),
    ],
)
def test_error_names_the_field(terms: list[dict[str, Any]], message: str) -> None:
    affinity = required_node_affinity(pod_of(required(*terms)))

    with pytest.raises(SelectorError) as caught:
        affinity.matches_or_raises(NODE)

    assert str(caught.value) == message


def test_error_counts_only_where_no_other_term_matches() -> None:
    bad = labels(expression("zone", "Sounds", "a"))

    def judge(spec: dict[str, Any]) -> bool:
        return required_node_affinity(pod_of(spec)).matches_or_raises(NODE)

    assert judge(required(bad, IN_ZONE_A))
    assert not judge({"nodeSelector": {"zone": "b"}} | required(bad))
    assert not judge(required(IN_ZONE_B))
    assert judge({})


def test_preferred_terms_have_weights() -> None:
    pod = pod_of(preferred((5, IN_ZONE_A), (0, IN_ZONE_A), (7, {}), (9, IN_ZONE_B)))
    terms = preferred_node_affinity(pod)

    assert terms is not None
    assert [weight for weight, term in terms if term.matches(NODE)] == [5]
    assert len(terms) == 2
    assert preferred_node_affinity(Pod()) is None


def test_preferred_terms_in_error_are_refused() -> None:
    pod = pod_of(preferred((1, IN_ZONE_A), (1, labels(expression("cores", "Lt", "x")))))

    with pytest.raises(SelectorError, match=r"^\[1\]\.matchExpressions\[0\]\.values\[0\]: Invalid value: \"x\""):
        preferred_node_affinity(pod)


def test_errors_start_with_the_given_path() -> None:
    term = labels(expression("a", "Gt", "x"))
    path = Path("args", "added")

    selector = parse_node_selector(msgspec.convert({"nodeSelectorTerms": [term]}, NodeSelector), path)
    assert selector.errors[0].field == "args.added.nodeSelectorTerms[0].matchExpressions[0].values[0]"
    with pytest.raises(SelectorError, match=r"^args\.added\[0\]\.matchExpressions"):
        parse_preferred_terms((msgspec.convert({"weight": 1, "preference": term}, PreferredSchedulingTerm),), path)
