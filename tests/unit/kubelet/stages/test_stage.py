"""Stages are read as KWOK's users write them; what is wrong is told with its field."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import StoredObject
from schedlab.apimachinery.resources import ResourceType, known_resources
from schedlab.kernel.clock import EPOCH_NS, SECOND_NS
from schedlab.kernel.randomness import SeededRandom
from schedlab.kubelet.stages import matching
from schedlab.kubelet.stages.expressions import ExpressionError, Subject
from schedlab.kubelet.stages.functions import KNOWN, NODE_CONDITIONS
from schedlab.kubelet.stages.stage import Stage, StageError, read_stage
from schedlab.kubelet.stages.steps import Deed, StepError, deeds, finalizer_operations

NOW_NS = EPOCH_NS


def stage(name: str = "s", **spec: Any) -> Stage:
    spec.setdefault("resourceRef", {"kind": "Pod"})
    spec.setdefault("selector", {})
    return read_stage({"metadata": {"name": name}, "spec": spec})


def subject(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    status: dict[str, Any] | None = None,
    **metadata: Any,
) -> Subject:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "d",
            "uid": "u",
            "labels": labels or {},
            "annotations": annotations or {},
            **metadata,
        },
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        "status": status or {},
    }
    return Subject(StoredObject.encode("pods", pod, 7), NOW_NS, SeededRandom(1))


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        (None, False),
        ({"matchLabels": {"a": "1"}}, True),
        ({"matchLabels": {"a": "2"}}, False),
        ({"matchAnnotations": {"x": "y"}}, True),
        ({"matchAnnotations": {"x": ""}}, False),
        ({"matchExpressions": [expression(".status.phase", "In", "Running", "Pending")]}, True),
        ({"matchExpressions": [expression(".status.phase", "NotIn", "Running")]}, False),
        ({"matchExpressions": [expression(".metadata.deletionTimestamp", "DoesNotExist")]}, True),
        ({"matchExpressions": [expression(".metadata.deletionTimestamp", "Exists")]}, False),
        # What fails finds nothing.
        ({"matchExpressions": [expression(".metadata.ownerReferences.[].kind", "In", "Job")]}, False),
        ({"matchExpressions": [expression(".metadata.ownerReferences.[].kind", "NotIn", "Job")]}, True),
        (
            {
                "matchExpressions": [
                    expression('.status.conditions.[] | select(.type == "Ready") | .status', "In", "True")
                ]
            },
            True,
        ),
        ({"matchExpressions": [expression(".status.restarts", "In", "3")]}, True),
        ({"matchExpressions": [expression(".status.isDone", "In", "true")]}, True),
        ({"matchExpressions": [{"jq": expression(".spec.nodeName", "In", "n")}]}, True),
        ({"matchExpressions": [{"cel": {"expression": "self.status.phase == 'Running'"}}]}, True),
        ({"matchExpressions": [{"cel": {"expression": "has(self.metadata.deletionTimestamp)"}}]}, False),
        ({"matchExpressions": [{"cel": {"expression": "self.spec.missing == 'x'"}}]}, False),
        ({"matchExpressions": [{"cel": {"expression": "Now() > timestamp('2020-01-01T00:00:00Z')"}}]}, True),
        ({"matchExpressions": [{"cel": {"expression": "Rand() < 1.0"}}]}, True),
        ({"matchLabels": {"a": "1"}, "matchExpressions": [expression(".status.phase", "In", "Failed")]}, False),
    ],
)
def test_selector_matches_as_kwok_says(selector: dict[str, Any] | None, *, expected: bool) -> None:
    status = {"phase": "Running", "restarts": 3, "isDone": True, "conditions": [{"type": "Ready", "status": "True"}]}
    about = subject({"a": "1"}, {"x": "y"}, status)

    assert matching.matches(stage(selector=selector), about) is expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"selector": {"matchExpressions": [{}]}},
            "spec.selector.matchExpressions[0]: neither key, jq nor cel is given",
        ),
        (
            {"selector": {"matchExpressions": [expression(".a", "Is")]}},
            "spec.selector.matchExpressions[0].operator: 'Is' is not one of In, NotIn, Exists, DoesNotExist",
        ),
        (
            {"selector": {"matchExpressions": [expression(".a", "In")]}},
            "spec.selector.matchExpressions[0].values: In needs values",
        ),
        (
            {"selector": {"matchExpressions": [expression(".a", "Exists", "x")]}},
            "spec.selector.matchExpressions[0].values: Exists takes no values",
        ),
        (
            {"selector": {"matchExpressions": [expression(".a | (", "Exists")]}},
            "spec.selector.matchExpressions[0].key: jq: error: syntax error",
        ),
        (
            {"selector": {"matchExpressions": [expression("def f: f; f", "Exists")]}},
            "spec.selector.matchExpressions[0].key: jq: def cannot be used in a Stage",
        ),
        (
            {"selector": {"matchExpressions": [expression("[[0, 1] | combinations(40)]", "Exists")]}},
            "spec.selector.matchExpressions[0].key: jq: combinations cannot be used in a Stage",
        ),
        (
            {"selector": {"matchExpressions": [expression("$ENV.HOME", "Exists")]}},
            "spec.selector.matchExpressions[0].key: jq: $ENV cannot be used in a Stage",
        ),
        (
            {"selector": {"matchExpressions": [{"cel": {"expression": "self.a =="}}]}},
            "spec.selector.matchExpressions[0].cel.expression: cel: ",
        ),
        ({"delay": {"durationFrom": {"expressionFrom": "]"}}}, "spec.delay.durationFrom.expressionFrom: jq: "),
        ({"weightFrom": {"jq": {"expression": "]"}}}, "spec.weightFrom.jq.expression: jq: "),
        ({"next": {"statusTemplate": "{{ nope }}"}}, 'spec.next.statusTemplate: line 1: function "nope" not defined'),
        ({"next": {"patches": [{"template": "{{"}]}}, "spec.next.patches[0].template: line 1: unclosed action"),
        (
            {"steps": [{"delete": True}, {"apply": {"template": "{{ end }}"}}]},
            "spec.steps[1].apply.template: line 1: unexpected {{end}}",
        ),
    ],
)
def test_what_is_wrong_with_a_stage_is_told_with_its_field(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(StageError) as caught:
        stage(**spec)

    assert str(caught.value).startswith(message)


def test_field_named_like_a_forbidden_word_can_be_asked_for() -> None:
    about = subject(status={"range": "1", "env": "2"})

    assert matching.matches(
        stage(selector={"matchExpressions": [expression('.status.range, .status["env"]', "In", "2")]}), about
    )


DELAYS: list[tuple[dict[str, Any], tuple[int, int | None]]] = [
    ({}, (0, None)),
    ({"durationMilliseconds": 1500}, (1500, None)),
    ({"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000}, (1000, 5000)),
    (
        {"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": '.metadata.annotations["delay"]'}},
        (30_000, None),
    ),
    ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".metadata.annotations.none"}}, (1000, None)),
    ({"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": ".metadata.annotations.empty"}}, (0, None)),
    ({"durationMilliseconds": 1000, "durationFrom": {"jq": {"expression": ".metadata.annotations.odd"}}}, (1000, None)),
    # A moment is the time until then.
    ({"durationMilliseconds": 0, "jitterDurationFrom": {"expressionFrom": ".metadata.annotations.at"}}, (0, 10_000)),
    ({"durationFrom": {"cel": {"expression": "duration('2s')"}}}, (2000, None)),
]


@pytest.mark.parametrize(("delay", "expected"), DELAYS)
def test_delay_comes_from_numbers_expressions_and_moments(
    delay: dict[str, Any], expected: tuple[int, int | None]
) -> None:
    about = subject(annotations={"delay": "30s", "empty": "", "odd": "soon", "at": "2026-01-01T00:00:10Z"})
    shortest, longest = matching.delay_range_ns(stage(delay=delay), about)

    assert (shortest // 1_000_000, None if longest is None else longest // 1_000_000) == expected


def test_jitter_draws_between_delay_and_longest_delay_or_takes_a_shorter_longest_one() -> None:
    random = SeededRandom(7)
    wide = stage(delay={"durationMilliseconds": 1000, "jitterDurationMilliseconds": 5000})
    drawn = {matching.delay_ns(wide, subject(), random) for _ in range(50)}
    short = stage(delay={"durationMilliseconds": 5000, "jitterDurationMilliseconds": 1000})

    assert len(drawn) > 40
    assert all(SECOND_NS <= each < 5 * SECOND_NS for each in drawn)
    assert matching.delay_ns(short, subject(), random) == SECOND_NS


def chosen(*stages: Stage, annotations: dict[str, str] | None = None) -> dict[str, int]:
    """How often each Stage is chosen in a hundred draws."""
    random, counts = SeededRandom(3), {each.name: 0 for each in stages}
    for _ in range(100):
        found = matching.match(stages, subject(annotations=annotations), random, lambda *_: None)
        assert found is not None
        counts[found.name] += 1
    return counts


def test_stage_is_drawn_by_weight() -> None:
    fallback = {"expressionFrom": ".metadata.annotations.w"}

    assert chosen(stage("a"), stage("b", weight=1)) == {"a": 0, "b": 100}
    assert 15 < chosen(stage("a", weight=1), stage("b", weight=3))["a"] < 35
    assert 30 < chosen(stage("a"), stage("b"))["a"] < 70
    assert chosen(stage("a", weight=1), stage("b", weightFrom=fallback), annotations={"w": "1000000"})["b"] == 100
    # A weight that cannot be told comes after those of 0.
    assert chosen(stage("a"), stage("b", weightFrom=fallback), annotations={"w": "x"}) == {"a": 100, "b": 0}


def test_stage_whose_expression_fails_is_reported_and_leaves_the_others_alone() -> None:
    bad = stage("bad", selector={"matchExpressions": [{"cel": {"expression": "1 / 0 == 1"}}]})
    told: list[tuple[str, str]] = []

    def report(which: Stage, error: ExpressionError) -> None:
        told.append((which.name, str(error)))

    found = matching.match([bad, stage("good")], subject(), SeededRandom(1), report)

    assert found is not None
    assert found.name == "good"
    assert told == [("bad", "cel: division by zero")]


def find(api_version: str, kind: str) -> ResourceType | None:
    return next((one for one in known_resources() if (one.api_version, one.kind) == (api_version, kind)), None)


def written(spec: dict[str, Any], about: Subject | None = None) -> list[Any]:
    made = deeds(stage(**spec), (about or subject()).stored, {"Now": lambda: "2026-01-01T00:00:00Z"}, find)
    return [
        (each.write.verb, each.write.patch_type, each.write.subresource, each.write.body)
        if isinstance(each, Deed)
        else each
        for each in made
    ]


def test_next_is_done_as_event_finalizers_patches_and_deletion() -> None:
    event = {"type": "Normal", "reason": "R", "message": "M"}
    following = {
        "event": event,
        "finalizers": {"add": [{"value": "a/b"}]},
        "statusTemplate": "phase: Running\nstartTime: {{ Now | Quote }}",
        "delete": True,
    }

    verbs = written({"next": following})

    assert verbs[0] == event
    assert verbs[1] == ("patch", "json", "", [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"]}])
    assert verbs[2] == (
        "patch",
        "strategic",
        "status",
        {"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}},
    )
    assert verbs[3][0] == "delete"
    assert verbs[3][3] == {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}


def test_patches_take_root_type_and_subresource() -> None:
    json_patch = {"root": "metadata", "type": "json", "template": '[{op: add, path: /labels/x, value: "1"}]'}
    merge = {"template": "metadata: {annotations: {a: {{ .spec.nodeName | Quote }}}}", "type": "merge"}
    other = {"root": "status", "subresource": "resize", "template": "phase: X"}

    assert written({"next": {"patches": [json_patch, merge, other]}}) == [
        ("patch", "json", "", [{"op": "add", "path": "/metadata/labels/x", "value": "1"}]),
        ("patch", "merge", "", {"metadata": {"annotations": {"a": "n"}}}),
        ("patch", "strategic", "resize", {"status": {"phase": "X"}}),
    ]


def test_apply_creates_an_object_or_changes_it() -> None:
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-x'}"
    [made] = deeds(stage(steps=[{"apply": {"template": template}}]), subject().stored, {}, find)
    assert isinstance(made, Deed)
    assert made.instead is not None

    assert (made.write.verb, made.write.resource, made.write.namespace, made.write.name) == (
        "create",
        "configmaps",
        "d",
        "p-x",
    )
    assert (made.instead.verb, made.instead.patch_type, made.instead.options["force"]) == ("patch", "apply", "true")

    [status] = deeds(
        stage(steps=[{"apply": {"template": template, "subresource": "status", "type": "merge"}}]),
        subject().stored,
        {},
        find,
    )
    assert isinstance(status, Deed)
    assert (status.write.verb, status.write.subresource, status.write.patch_type) == ("patch", "status", "merge")


def test_after_a_deletion_only_events_follow() -> None:
    steps = [{"delete": True}, {"patch": {"template": "a: 1"}}, {"event": {"reason": "Gone"}}]

    assert [each[0] if isinstance(each, tuple) else each["reason"] for each in written({"steps": steps})] == [
        "delete",
        "Gone",
    ]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"patch": {"template": "- a"}}], "the template gives no map"),
        ([{"patch": {"type": "json", "template": "a: 1"}}], "the template gives no list of operations"),
        (
            [{"patch": {"template": "a: {{ index .spec.containers 7 }}"}}],
            "step 1: line 1: index: index out of range: 7",
        ),
        ([{"patch": {"template": "a: [1"}}], "step 1: yaml: "),
        ([{"apply": {"template": "a: 1"}}], "the template to apply must include apiVersion and kind"),
        ([{"apply": {"template": "{apiVersion: a/v1, kind: B}"}}], "no kind B in a/v1 is served"),
    ],
)
def test_step_that_cannot_be_done_says_why(steps: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(StepError) as caught:
        deeds(stage(steps=steps), subject().stored, {}, find)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("have", "change", "expected"),
    [
        ([], {"add": ["a"]}, [("add", "/metadata/finalizers", ["a"])]),
        (["a"], {"add": ["a", "b"]}, [("add", "/metadata/finalizers/-", "b")]),
        (
            ["a", "b", "c"],
            {"remove": ["a", "c"]},
            [("remove", "/metadata/finalizers/2", None), ("remove", "/metadata/finalizers/0", None)],
        ),
        (["a"], {"remove": ["a"]}, [("remove", "/metadata/finalizers", None)]),
        (
            ["a"],
            {"empty": True, "add": ["b"]},
            [("remove", "/metadata/finalizers", None), ("add", "/metadata/finalizers", ["b"])],
        ),
        ([], {"empty": True}, []),
        ([], {"remove": ["a"]}, []),
    ],
)
def test_finalizers_are_changed_by_a_json_patch(
    have: list[str], change: dict[str, Any], expected: list[tuple[str, str, Any]]
) -> None:
    wanted = {
        key: [{"value": each} for each in value] if isinstance(value, list) else value for key, value in change.items()
    }

    assert [(each["op"], each["path"], each.get("value")) for each in finalizer_operations(have, wanted)] == expected


def test_kwok_functions_write_yaml_and_quote() -> None:
    assert KNOWN["Quote"]('a"b') == '"a\\"b"'
    assert KNOWN["Quote"](None) == '"null"'
    assert KNOWN["Quote"](3) == '"3"'
    assert KNOWN["YAML"]({"b": 1, "a": ["x"]}, 1) == "\n  a:\n  - x\n  b: 1\n  "
    assert [each["type"] for each in KNOWN["NodeConditions"]()] == [each["type"] for each in NODE_CONDITIONS]
