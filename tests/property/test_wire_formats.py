"""Readers of foreign bytes refuse what they cannot read with their own error and nothing else."""

import contextlib
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from schedlab.apimachinery import protobuf, quantity, yaml
from schedlab.apimachinery.protobuf import ProtobufError
from schedlab.apimachinery.quantity import QuantityError
from schedlab.apimachinery.yaml import YAMLError

POD: Final[dict[str, Any]] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "x", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"a": "b"}},
    "spec": {
        "containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1500m"}}}],
        "securityContext": {"supplementalGroups": [1, -2]},
    },
}
ENCODED: Final = protobuf.encode_object(POD)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text("abc/-", max_size=5), children, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.integers(4, len(ENCODED) - 1), st.integers(0, 255), min_size=1, max_size=4))
def test_damaged_protobuf_is_read_or_refused(damage: dict[int, int]) -> None:
    body = bytearray(ENCODED)
    for position, byte in damage.items():
        body[position] = byte

    try:
        decoded = protobuf.decode_object(bytes(body))
    except ProtobufError:
        return
    assert set(decoded) >= {"kind", "apiVersion"}


@given(json_values)
def test_json_is_yaml(value: Any) -> None:
    assert yaml.load(yaml.encode_json(value)) == value


@given(st.text("ab:-[]{},&*!|>'\"#? \n\t01.", max_size=30))
def test_any_text_is_yaml_or_refused(text: str) -> None:
    with contextlib.suppress(YAMLError):
        yaml.load(text)


@given(st.text("0123456789.+-eEinumkKMGTP", max_size=12))
def test_a_quantity_keeps_its_value_through_its_printed_form(text: str) -> None:
    try:
        parsed = quantity.parse(text)
    except QuantityError:
        return
    printed = str(parsed)
    if abs(parsed.scaled_value(18)) < 1000 and parsed.scale < 18:  # beyond exa upstream prints no suffix
        assert quantity.parse(printed) == parsed


@given(st.integers(-(10**18), 10**18), st.integers(-9, 3), st.integers(-(10**18), 10**18), st.integers(-9, 3))
def test_sums_of_quantities_are_exact(a: int, a_scale: int, b: int, b_scale: int) -> None:
    left, right = quantity.Quantity(a, a_scale), quantity.Quantity(b, b_scale)

    assert (left + right) - right == left
    assert left + right == right + left
