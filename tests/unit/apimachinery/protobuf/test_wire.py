"""The wire format: numbers, lengths, and what is wrong with damaged bytes."""

import pytest

from schedlab.apimachinery.protobuf import wire
from schedlab.apimachinery.protobuf.wire import ProtobufError


@pytest.mark.parametrize(
    ("number", "written"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (-1, "ffffffffffffffffff01"), (2**63 - 1, "ffffffffffffffff7f")],
)  # fmt: skip
def test_integers_take_seven_bits_a_byte(number: int, written: str) -> None:
    assert wire.write_varint(number).hex() == written
    assert wire.to_int64(wire.read_varint(bytes.fromhex(written), 0)[0]) == number


def test_int32_drops_higher_bits() -> None:
    assert wire.to_int32(2**64 - 5) == -5
    assert wire.to_int32(2**32 + 7) == 7


def test_doubles_have_eight_bytes() -> None:
    written = wire.write_double(1, -2.5)

    assert [(number, kind, wire.to_double(value)) for number, kind, value in wire.read_fields(written) if isinstance(value, int)] == [
        (1, wire.FIXED64, -2.5)
    ]  # fmt: skip


def test_fields_are_read_one_after_the_other_without_groups() -> None:
    group = bytes([3 << 3 | 3, 4 << 3 | 0, 5, 6 << 3 | 3, 6 << 3 | 4, 7 << 3 | 2, 1, 9, 3 << 3 | 4])
    data = wire.write_number(1, 5) + group + wire.write_bytes(2, b"x") + bytes([4 << 3 | 5, 1, 0, 0, 0])

    assert list(wire.read_fields(data)) == [(1, 0, 5), (2, 2, b"x"), (4, 5, 1)]


def test_packed_numbers_are_several_varints() -> None:
    assert wire.read_packed(b"\x01\xac\x02") == [1, 300]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("08", "unexpected EOF"),
        ("0880", "unexpected EOF"),
        ("1205", "unexpected EOF"),
        ("0d0000", "unexpected EOF"),
        ("0b08", "unexpected EOF"),
        ("08ffffffffffffffffffff01", "proto: integer overflow"),
        ("0a8080808080808080" + "8001", "proto: negative length found during unmarshaling"),
        ("0c", "proto: wiretype end group for non-group"),
        ("0e", "proto: illegal wireType 6"),
        ("00", "proto: illegal tag 0 (wire type 0)"),
    ],
)
def test_damaged_bytes_are_refused(data: str, message: str) -> None:
    with pytest.raises(ProtobufError) as raised:
        list(wire.read_fields(bytes.fromhex(data)))

    assert str(raised.value) == message
