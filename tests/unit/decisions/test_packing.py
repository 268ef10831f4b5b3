"""A packed attempt comes back whole."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import pytest

from schedlab.decisions import packed_arrays, packing
from schedlab.decisions.packed_arrays import Blob
from schedlab.decisions.packing import Block, Packer, Restored
from schedlab.scheduler.framework.record import CycleRecord, ExtenderCall, FilterRecord, PreemptionRecord
from schedlab.scheduler.framework.status import REASONS, Code, Status
from tests.unit.decisions import records


def _plain(value: Any) -> Any:
    """The record as comparable data, without its pod and what keeps its texts."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.tolist())
    if isinstance(value, msgspec.Struct):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__ if name not in {"pod", "texts"}}
    return value


@pytest.mark.parametrize("record", [records.scheduled(), records.failed()], ids=["scheduled", "failed"])
def test_unpacking_gives_the_record_back(record: CycleRecord) -> None:
    before = _plain(record)
    packer = Packer()
    block, place = packer.pack(record)

    assert _plain(block.cycle(place)) == before, "while its block is open"
    packer.close_block()
    assert _plain(block.cycle(place)) == before, "once it is compressed"
    assert _plain(block.cycle(place)) == before, "a second time"


def test_scores_that_follow_from_the_raw_ones_are_not_kept() -> None:
    """They are worked out when they are read; all is as it was."""
    record = records.scheduled()
    assert record.score is not None
    record.score.offsets = (300, 0)
    before = _plain(record)
    packed = _pack(record)

    assert _plain(packed.cycle(0)) == before
    assert not {"score.final", "score.total"} & set(_blob(packed).attempts[0])


@pytest.mark.parametrize("others", [[0], [2], [1, 3], [0, 1, 3], [0, 1, 2, 3]])
def test_scores_of_plugins_without_an_offset_are_kept(others: list[int]) -> None:
    """Whatever they are; those of the others are worked out."""
    raw = np.arange(12, dtype=np.int64).reshape(4, 3)
    weights, offsets = [1, 2, 3, 4], [100, 0, 0, 300]
    final = raw * np.array(weights).reshape(-1, 1) + np.array(offsets).reshape(-1, 1)
    for place in others:
        raw[place], final[place] = (-4000, 0, 70_000), (0, 5, 100)
    score = records.score_record()
    score.plugins, score.weights = tuple("abcd"), tuple(weights)
    score.raw, score.final, score.total = raw, final, final.sum(axis=0)
    score.offsets = tuple(None if place in others else offset for place, offset in enumerate(offsets))
    record = records.scheduled(score=score)
    before = _plain(record)

    packed = _pack(record)

    assert _plain(packed.cycle(0)) == before
    assert "score.total" not in _blob(packed).attempts[0]


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_verdicts_that_follow_from_those_on_all_nodes_are_not_kept(seed: int, changed: bool) -> None:  # noqa: FBT001 - of the test
    """They, and the nodes that passed, are worked out when they are read, while the block is open and afterwards."""
    chance = np.random.default_rng(seed)
    record = _known_record(chance, changed=changed)
    before = _plain(record)
    packer = Packer()
    # One before it that has fewer arrays, and these in another order.
    packer.pack(records.scheduled(filter=None))
    block, place = packer.pack(record)
    assert record.filter is not None
    assert record.filter.code is None
    assert _plain(block.cycle(place)) == before
    packer.close_block()
    kept = _blob(block).attempts[place]

    assert _plain(block.cycle(place)) == before
    assert not {"filter.code", "filter.failed_plugin", "filter.reason"} & set(kept)
    assert [kept[name].way for name in ("passed_filters", "feasible", "score.rows")] == ["passed", "same", "same"]


def _known_record(chance: np.random.Generator, *, changed: bool) -> CycleRecord:
    """An attempt on 20 nodes with three filters, of which all say something about every node."""
    full_code = chance.choice([0, 0, 0, 2, 3], (3, 20)).astype(np.uint8)
    texts = np.array([REASONS.id_of((text,)) for text in ("a", "b", "c")], np.int32).reshape(-1, 1)
    filters = FilterRecord(
        ("A", "B", "C"),
        (np.arange(12, dtype=np.int32) + 15) % 20,
        records.NOTHING,
        records.NOTHING,
        records.NOTHING,
        full_code=full_code,
        full_reason=np.where(full_code != 0, texts, 0).astype(np.int32),
    )
    if changed:
        code = chance.choice([0, 2], (3, 4)).astype(np.uint8)
        filters.changed_rows = np.array([0, 17, 3, 12], np.int32)
        filters.changed_code, filters.changed_reason = code, np.where(code != 0, texts, 0).astype(np.int32)
    every = filters.every_verdict()
    assert every is not None
    codes, reasons = every
    said = [next((at for at in range(3) if codes[at, row]), -1) for row in filters.visited.tolist()]
    places = [(at, row) if at >= 0 else (0, row) for at, row in zip(said, filters.visited.tolist(), strict=True)]
    filters.failed_plugin = np.array(said, np.int8)
    filters.code = np.array([codes[place] for place in places], np.uint8)
    filters.reason = np.array([reasons[place] for place in places], np.int32)
    filters.follows = True
    passed = filters.visited[filters.failed_plugin == -1][:-1]
    score = records.score_record()
    score.rows = passed
    return records.scheduled(
        filter=filters, passed_filters=passed, feasible=passed, score=score, node_names=[str(n) for n in range(20)]
    )


def _pack(record: CycleRecord) -> Block:
    """The record in a block of its own, compressed."""
    packer = Packer()
    block, _ = packer.pack(record)
    packer.close_block()
    return block


def _blob(block: Block) -> Blob:
    return packed_arrays.decompressed(block.blob)


@pytest.mark.parametrize(
    ("values", "way", "stored_bytes"),
    [
        ([0, 1], "numbers", 2),
        ([-129, 0], "numbers", 4),
        ([70_000, 1], "numbers", 8),
        ([1 << 40, 0], "numbers", 16),
        ([70_000], "constant", 0),
        ([7, 7, 7], "constant", 0),
        ([], "constant", 0),
    ],
)
def test_array_takes_as_little_as_it_can(values: list[int], way: str, stored_bytes: int) -> None:
    score = records.score_record()
    score.total = np.array(values, np.int64)

    packed = _pack(records.scheduled(score=score))

    blob = _blob(packed)
    assert blob.attempts[0]["score.total"].way == way
    assert len(blob.numbers["score.total"].data if "score.total" in blob.numbers else b"") == stored_bytes
    found = packed.cycle(0).score
    assert found is not None
    assert found.total.dtype == np.int64
    assert found.total.tolist() == values


@pytest.mark.parametrize("visited", [[0, 1, 2], [2, 3, 0], [3, 1, 2], [1], [0, 1, 2, 3], [3, 0, 1, 2], []])
@pytest.mark.parametrize("feasible", [[0, 2], []])
def test_rows_come_back_in_their_order(visited: list[int], feasible: list[int]) -> None:
    size = len(visited)
    record = records.scheduled(
        passed_filters=np.array(visited, np.int32),
        feasible=np.array(feasible, np.int32),
        filter=FilterRecord(
            ("A",),
            np.array(visited, np.int32),
            np.full(size, -1, np.int8),
            np.zeros(size, np.uint8),
            np.zeros(size, np.int32),
            second_pass=np.ones(size, np.bool_),
            full_code=np.zeros((1, 4), np.uint8),
            full_reason=np.arange(4, dtype=np.int32).reshape(1, 4) % 2,
        ),
    )

    before = _plain(record)

    assert _plain(_pack(record).cycle(0)) == before


def test_rows_that_follow_each_other_and_verdicts_that_are_all_the_same_take_no_room() -> None:
    few, many = (_pack(records.many_nodes(1, size)).size_bytes for size in (110, 5000))

    assert many < few + 600


def test_what_attempts_of_a_block_have_in_common_is_kept_once() -> None:
    packer = Packer()
    pod = records.pod()
    block, _ = packer.pack(records.scheduled(1, pod=pod))
    packer.pack(records.scheduled(2, pod=pod))
    packer.close_block()
    first, second = block.head(0), block.head(1)

    assert second.pre_filter is first.pre_filter
    assert second.filter is first.filter
    assert second.score is first.score
    assert [block.value(place, "attempt") for place in (0, 1)] == [first.attempt, second.attempt] == [1, 2]
    assert _plain(block.cycle(1)) == _plain(records.scheduled(2, pod=pod))


@pytest.mark.parametrize(
    "values",
    [
        {"revision": [1, 2, 2]},
        {"chance": [0, (1 << 64) - 1, 7]},
        {"position": [-1, 5, -1]},
        {"position": [-1, (1 << 64) - 1, 0]},
        {"selected": ["a", "b", "b"], "failure_message": ["", "no", ""]},
        {"victims": [(), ("default/v",), ()], "pre_filter_status": [None, Status(Code.ERROR, ("r",)), None]},
        {"custom": [{}, {"k": "v"}, {"k": "v"}], "extender_calls": [[ExtenderCall("u", "filter", {}, [1])], [], []]},
        {"filter": [None, records.filter_record(), None], "score": [records.score_record(), None, None]},
    ],
)
def test_fields_in_which_attempts_of_a_block_differ(values: dict[str, list[Any]]) -> None:
    made = [records.scheduled(**{name: each[at] for name, each in values.items()}) for at in range(3)]
    before = [_plain(record) for record in made]
    packer = Packer()
    [block] = {packer.pack(record)[0] for record in made}
    packer.close_block()

    assert [_plain(block.cycle(place)) for place in range(3)] == before
    assert [[block.value(place, name) for place in range(3)] for name in values if name not in ("filter", "score")] == [
        each for name, each in values.items() if name not in ("filter", "score")
    ]


@pytest.mark.parametrize("same", [0, 2])
def test_equal_fields_of_another_order_stay_apart(same: int) -> None:
    """Also behind values that differ, where the field has a column."""
    other = Status(Code.ERROR, ("r",))
    orders = [["n1", "n2"]] * same + [["n2", "n1"], ["n1", "n2"]]
    packer = Packer()
    made = [
        records.scheduled(
            pre_filter=dict.fromkeys(names, other),
            preemption=PreemptionRecord([], dict.fromkeys(names, other), 10, ()),
            custom={"place": str(place)},
        )
        for place, names in enumerate(orders)
    ]
    [block] = {packer.pack(record)[0] for record in made}
    packer.close_block()
    found = [block.cycle(place) for place in range(len(orders))]

    assert [list(record.pre_filter) for record in found] == orders
    assert [list(record.preemption.not_candidates) for record in found if record.preemption is not None] == orders


@pytest.mark.parametrize("closed", [False, True])
def test_an_attempt_of_another_cluster_has_no_position(*, closed: bool) -> None:
    packer = Packer()
    [block] = {packer.pack(records.scheduled(number, position=5))[0] for number in range(3)}
    if closed:
        packer.close_block()

    block.disown(1)

    assert [block.value(place, "position") for place in range(3)] == [5, -1, 5]
    assert [block.cycle(place).position for place in range(3)] == [5, -1, 5]


def test_attempts_of_a_block_come_back_each_as_it_was() -> None:
    """Also those of full blocks, and arrays that attempts have in common."""
    packer = Packer()
    made = [records.scheduled(1), records.failed(2), records.many_nodes(3, 9)]
    common = np.arange(27, dtype=np.int64).reshape(3, 9) % 5
    for number in range(4, packing.BLOCK_ATTEMPTS + 9):
        record = records.many_nodes(number, 9)
        assert record.score is not None
        record.score.final = common
        made.append(record)
    before = [_plain(record) for record in made]

    packed = [packer.pack(record) for record in made]

    assert [_plain(block.cycle(place)) for block, place in packed] == before
    assert len({id(block) for block, _ in packed}) == 2


def test_arrays_that_attempts_have_in_common_are_kept_once() -> None:
    packer = Packer()
    common = np.arange(72, dtype=np.int64).reshape(8, 9) % 5
    made = [records.many_nodes(number, 9) for number in range(5)]
    for record in made:
        assert record.score is not None
        record.score.final = common
    [block] = {packer.pack(record)[0] for record in made}
    packer.close_block()

    assert len(_blob(block).numbers["score.final"].data) == common.size


def test_block_is_closed_early_when_its_arrays_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "BLOCK_BYTES", 100_000)
    packer = Packer()

    first, second, third = (packer.pack(records.many_nodes(number, 500))[0] for number in range(3))

    assert first is second
    assert first is not third
    assert packer.expected_bytes < 10_000


def test_constants_without_room_of_their_own_cost_nothing() -> None:
    """Verdicts that are all the same may be views of one value."""
    record = records.many_nodes(1, 500)
    assert record.filter is not None
    record.filter.full_code = np.broadcast_to(np.uint8(0), (8, 500))
    record.filter.full_reason = np.broadcast_to(np.int32(0), (8, 500))
    before = _plain(record)

    packed = _pack(record)

    assert _plain(packed.cycle(0)) == before
    assert {"filter.full_code", "filter.full_reason"}.isdisjoint(_blob(packed).numbers)


def test_verdicts_that_have_changed_come_back_with_the_others() -> None:
    """With the texts of their reasons, which the others need not have."""
    record = records.many_nodes(1, 500)
    assert record.filter is not None
    reason = REASONS.id_of(("nobody else says so",))
    record.filter.full_code = np.broadcast_to(np.uint8(0), (2, 500))
    record.filter.full_reason = np.broadcast_to(np.int32(0), (2, 500))
    record.filter.changed_rows = np.array([7, 3], np.int32)
    record.filter.changed_code = np.array([[0, 2], [3, 0]], np.uint8)
    record.filter.changed_reason = np.array([[0, reason], [reason, 0]], np.int32)

    packed = _pack(record)

    assert ("nobody else says so",) in _blob(packed).reasons.values()
    found = packed.cycle(0).filter
    every = None if found is None else found.every_verdict()
    assert every is not None
    code, reasons = every
    assert [code[0, 3], code[1, 7], np.count_nonzero(code)] == [2, 3, 2]
    assert [reasons[0, 3], reasons[1, 7], np.count_nonzero(reasons)] == [reason, reason, 2]


def test_reasons_of_another_process_are_renamed() -> None:
    packed = _pack(records.scheduled())
    blob = _blob(packed)
    other = max(blob.reasons) + 1000
    moved = np.array([0, other, 0], np.int32)
    blob.numbers["filter.reason"] = packed_arrays.pack_numbers([moved])
    blob.reasons = {other: (records.NO_CPU,)}
    foreign = Restored(packed.head(0), packed_arrays.compressed(blob))

    assert _plain(foreign.cycle(0)) == _plain(records.scheduled())


def test_threads_pack_at_the_same_time() -> None:
    """Whoever decides and the thread of an archive do."""
    random = np.random.default_rng(1)
    totals = [random.integers(0, 1 << 40, 60_000) for _ in range(4)]

    def pack_often(total: Any) -> bool:
        packed = packed_arrays.pack([({"score.total": total}, 1)])
        many = [packed_arrays.pack([({"score.total": total}, 1)]) for _ in range(100)]
        whole = all(np.array_equal(packed_arrays.unpack(each, 0)[0]["score.total"], total) for each in many)
        return whole and set(many) == {packed}

    with ThreadPoolExecutor(len(totals)) as pool:
        assert all(pool.map(pack_often, totals))
