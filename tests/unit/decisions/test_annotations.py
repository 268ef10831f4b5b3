"""Attempts as kube-scheduler-simulator's annotations, within the API's size limit."""

from __future__ import annotations

import json

import pytest

from schedlab.decisions.annotations import (
    HISTORY_KEY,
    PREFIX,
    SUMMARY_KEY,
    TOTAL_BYTES_MAX,
    AnnotationMode,
    Projection,
    result_annotations,
    summary_annotations,
)
from schedlab.decisions.log import Attempt, DecisionLog, Ending
from schedlab.decisions.packing import Packer
from schedlab.decisions.rendering import go_json, least_size
from schedlab.scheduler.framework.record import CycleRecord, ExtenderCall
from schedlab.scheduler.framework.status import Code, Status
from tests.unit.decisions import records

KEYS = (
    "prefilter-result-status",
    "prefilter-result",
    "filter-result",
    "postfilter-result",
    "prescore-result",
    "score-result",
    "finalscore-result",
    "reserve-result",
    "permit-result",
    "permit-result-timeout",
    "prebind-result",
    "bind-result",
    "selected-node",
)


def _values(record: CycleRecord, *, bound: bool = True) -> dict[str, str]:
    annotations = result_annotations(record, records.bound() if bound else None)
    return {key.removeprefix(PREFIX): value for key, value in annotations.items()}


def test_all_thirteen_keys_are_written_together() -> None:
    assert sorted(_values(records.scheduled())) == sorted(KEYS)
    assert sorted(_values(records.failed(), bound=False)) == sorted(KEYS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prefilter-result-status", '{"NodePorts":"","NodeResourcesFit":"success"}'),
        ("prefilter-result", "{}"),
        (
            "filter-result",
            (
                '{"a":{"NodeResourcesFit":"passed","TaintToleration":"passed"},'
                '"b":{"NodeResourcesFit":"Insufficient cpu","TaintToleration":"passed"},'
                '"c":{"NodeResourcesFit":"passed","TaintToleration":"passed"}}'
            ),
        ),
        ("postfilter-result", "{}"),
        (
            "score-result",
            '{"a":{"ImageLocality":"5","TaintToleration":"0"},"c":{"ImageLocality":"70","TaintToleration":"0"}}',
        ),
        (
            "finalscore-result",
            '{"a":{"ImageLocality":"5","TaintToleration":"300"},"c":{"ImageLocality":"70","TaintToleration":"300"}}',
        ),
        ("reserve-result", '{"VolumeBinding":"success"}'),
        ("permit-result-timeout", "{}"),
        ("bind-result", '{"DefaultBinder":"success"}'),
        ("selected-node", "c"),
    ],
)
def test_scheduled_attempt(key: str, value: str) -> None:
    assert _values(records.scheduled())[key] == value


def test_node_stops_at_its_first_failing_plugin_and_post_filter_lists_rejected_nodes() -> None:
    values = _values(records.failed(), bound=False)

    assert values["filter-result"] == '{"a":{"NodeResourcesFit":"Insufficient cpu","TaintToleration":"passed"}}'
    assert values["postfilter-result"] == '{"a":{}}'
    assert values["selected-node"] == ""


def test_nominated_node_is_marked() -> None:
    record = records.failed()
    record.post_filter = {"DefaultPreemption": (None, "a", True)}

    assert _values(record, bound=False)["postfilter-result"] == '{"a":{"DefaultPreemption":"preemption victim"}}'


def test_waiting_permit_and_its_timeout() -> None:
    record = records.scheduled(permit={"Gang": (Status(Code.WAIT), 90_000_000_000)})

    values = _values(record)

    assert values["permit-result"] == '{"Gang":"wait"}'
    assert values["permit-result-timeout"] == '{"Gang":"1m30s"}'


def test_extender_keys_appear_only_with_a_call() -> None:
    call = ExtenderCall("http://x/ext", "filter", {}, {"Error": ""})

    values = _values(records.scheduled(extender_calls=[call]))

    assert values["extender-filter-result"] == '{"http://x/ext":{"Error":""}}'
    assert values["extender-bind-result"] == "{}"


def test_custom_results_stand_under_their_own_keys_and_are_listed() -> None:
    cycle, binding = records.scheduled(custom={"example.com/b": "1", "a": "2"}), records.bound()
    binding.custom = {"a": "3"}

    found = result_annotations(cycle, binding)

    assert (found["example.com/b"], found["a"]) == ("1", "3")
    assert found[f"{PREFIX}custom-results"] == "a,example.com/b"


def test_custom_result_never_overrides_a_built_in_key() -> None:
    found = result_annotations(records.scheduled(custom={f"{PREFIX}selected-node": "lie"}), None)

    assert found[f"{PREFIX}selected-node"] == "c"


@pytest.mark.parametrize(("size", "keys"), [(100, ["custom-results", "mine"]), (9000, [])])
def test_summary_holds_custom_results_that_are_small(size: int, keys: list[str]) -> None:
    record = records.scheduled(custom={"mine": "x" * size})
    attempt = Attempt(*Packer().pack(record), record.pod, ending=Ending.of(records.bound()))

    found = Projection("summary").annotations("default", "p", [attempt], 0)

    assert sorted({key.removeprefix(PREFIX) for key in found} & {"mine", "custom-results"}) == sorted(keys)


def test_json_is_escaped_as_go_does() -> None:
    assert go_json({"b": "<&>", "a": "é"}) == '{"a":"é","b":"\\u003c\\u0026\\u003e"}'


def _attempts(*cycles: CycleRecord) -> list[Attempt]:
    packer = Packer()
    return [Attempt(*packer.pack(cycle), cycle.pod) for cycle in cycles]


def test_history_holds_all_attempts_oldest_first() -> None:
    attempts = _attempts(records.failed(1), records.scheduled(2))

    annotations = Projection().annotations("default", "p", attempts, 0)

    history = json.loads(annotations[HISTORY_KEY])
    assert [entry[f"{PREFIX}selected-node"] for entry in history] == ["", "c"]


def test_mode_off_writes_nothing() -> None:
    assert Projection("off").annotations("default", "p", _attempts(records.failed()), 0) == {}


def test_summary_counts_reasons_and_points_to_the_rest() -> None:
    annotations = Projection("summary").annotations("default", "p", _attempts(records.scheduled()), 0)

    assert json.loads(annotations[SUMMARY_KEY]) == {
        "nodes": 4,
        "visited": 3,
        "feasible": 2,
        "rejected": {"NodeResourcesFit: Insufficient cpu": 1},
        "details": "/api/v1/decisions/default/p",
    }
    assert annotations[f"{PREFIX}filter-result"] == "{}"
    assert annotations[f"{PREFIX}selected-node"] == "c"


@pytest.mark.parametrize("mode", ["auto", "full", "summary"])
@pytest.mark.parametrize("nodes", [1, 300, 5000])
@pytest.mark.parametrize("others", [0, 200_000])
def test_size_limit_is_never_passed(mode: AnnotationMode, nodes: int, others: int) -> None:
    attempts = _attempts(*(records.many_nodes(number, nodes) for number in (1, 2, 3)))

    annotations = Projection(mode).annotations("default", "p", attempts, others)

    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    assert 0 < size + others <= TOTAL_BYTES_MAX
    assert annotations[f"{PREFIX}selected-node"] == "node-0"


def test_full_mode_writes_more_than_auto() -> None:
    attempts = _attempts(records.many_nodes(1, 300))

    auto = Projection("auto").annotations("default", "p", attempts, 0)
    full = Projection("full").annotations("default", "p", attempts, 0)

    assert SUMMARY_KEY in auto
    assert SUMMARY_KEY not in full


def test_summary_of_an_outline_is_that_of_the_whole_record() -> None:
    record = records.scheduled()
    assert record.score is not None
    record.score.offsets = (0,) * len(record.score.plugins)
    [attempt] = _attempts(record)

    outline = attempt.outline()

    assert outline.score is not None
    assert outline.score.total is None
    assert summary_annotations(outline, None, "p") == summary_annotations(attempt.cycle(), None, "p")


def test_log_feeds_the_projection() -> None:
    log = DecisionLog()
    log.cycle(records.failed())
    story = log.story("uid-p")

    assert story is not None
    assert HISTORY_KEY in Projection().annotations("default", "p", story.attempts, 0)


@pytest.mark.parametrize("record", [records.scheduled(), records.failed(), records.many_nodes(1, 40)])
def test_the_bound_by_which_results_are_summarised_is_never_above_their_size(record: CycleRecord) -> None:
    rendered = sum(len(_values(record)[key]) for key in ("filter-result", "score-result", "finalscore-result"))

    assert least_size(record) <= rendered
    assert not record.score or least_size(record) >= 0.75 * rendered
