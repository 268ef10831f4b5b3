"""Jobs and cron jobs: defaults, what is wrong with them, what may change."""

from typing import Any

import pytest

from schedlab.api.object import Object
from tests.support.kinds import POD_SPEC, changed, context, create_errors, stored, strategy, update_errors

JOB = "jobs.batch"
CRON_JOB = "cronjobs.batch"
TEMPLATE = {"spec": {**POD_SPEC, "restartPolicy": "Never"}}
INDEXED = {"completionMode": "Indexed", "completions": 2}
IGNORE = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
COMPLETE = [{"type": "Complete", "status": "True"}]
SCHEDULE = "0 0 * * *"


def job(**spec: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": {"template": TEMPLATE, **spec}}


def failure_policy(*rules: Object) -> Object:
    return job(podFailurePolicy={"rules": list(rules)})


def exit_codes(**fields: Any) -> Object:
    return {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], **fields}}


def cron_job(**spec: Any) -> Object:
    known = {"schedule": SCHEDULE, "jobTemplate": {"spec": {"template": TEMPLATE}}}
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": {**known, **spec}}


def status(**fields: Any) -> Object:
    return {"startTime": "2026-01-01T00:00:00Z", **fields}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (job(), []),
        (
            job(parallelism=-1, completions=-1),
            [
                "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
                "spec.completions: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            job(template={"spec": POD_SPEC}),
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (job(completionMode="Indexed"), []),
        (
            job(completionMode="x"),
            ['spec.completionMode: Unsupported value: "x": supported values: "NonIndexed", "Indexed"'],
        ),
        (
            job(backoffLimitPerIndex=1),
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        (
            job(**INDEXED, maxFailedIndexes=1),
            ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
        ),
        (
            job(**INDEXED, backoffLimitPerIndex=1, maxFailedIndexes=3),
            ["spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions"],
        ),
        (
            job(**INDEXED, parallelism=100_001, backoffLimitPerIndex=1, maxFailedIndexes=1),
            [
                (
                    "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when "
                    "completion mode is Indexed"
                )
            ],
        ),
        (
            job(podReplacementPolicy="x"),
            ['spec.podReplacementPolicy: Unsupported value: "x": supported values: "Failed", "TerminatingOrFailed"'],
        ),
        (
            job(managedBy="x"),
            ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            job(ttlSecondsAfterFinished=-1, activeDeadlineSeconds=-1),
            [
                "spec.activeDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            job(manualSelector=True),
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            ],
        ),
        (
            job(selector={"matchLabels": {"c": "d"}}),
            [
                (
                    "spec.selector: Invalid value: "
                    '{"matchLabels":{"batch.kubernetes.io/controller-uid":"u","c":"d"}}: `selector` not '
                    "auto-generated"
                ),
                (
                    "spec.template.metadata.labels: Invalid value: "
                    '{"batch.kubernetes.io/controller-uid":"u","batch.kubernetes.io/job-name":"x","contro'
                    'ller-uid":"u","job-name":"x"}: `selector` does not match template `labels`'
                ),
            ],
        ),
    ],
)
def test_jobs(obj: Object, expected: list[str]) -> None:
    assert create_errors(JOB, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (failure_policy(IGNORE), []),
        (
            failure_policy({"action": "x"}),
            [
                (
                    'spec.podFailurePolicy.rules[0].action: Unsupported value: "x": supported values: '
                    '"Count", "FailIndex", "FailJob", "Ignore"'
                ),
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
                    "OnPodConditions is required"
                ),
            ],
        ),
        (
            failure_policy({"action": "Ignore"}),
            [
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and "
                    "OnPodConditions is required"
                )
            ],
        ),
        (
            failure_policy({**IGNORE, **exit_codes()}),
            [
                (
                    "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and "
                    "OnPodConditions is not supported"
                )
            ],
        ),
        (
            failure_policy(exit_codes(values=[])),
            ["spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: []: at least one value is required"],
        ),
        (
            failure_policy(exit_codes(values=[0])),
            [
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be "
                    "0 for the In operator"
                )
            ],
        ),
        (
            failure_policy(exit_codes(values=[2, 1, 1])),
            [
                "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1",
                "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1,1]: must be ordered",
            ],
        ),
        (
            failure_policy(exit_codes(operator="x")),
            [
                (
                    'spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "x": '
                    'supported values: "In", "NotIn"'
                )
            ],
        ),
        (
            failure_policy(exit_codes(containerName="other")),
            [
                (
                    'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "other": '
                    "must be one of the container or initContainer names in the pod template"
                )
            ],
        ),
        (
            failure_policy({"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}),
            [
                (
                    'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the '
                    "backoffLimitPerIndex to be set"
                )
            ],
        ),
        (
            job(podFailurePolicy={"rules": [IGNORE]}, podReplacementPolicy="TerminatingOrFailed"),
            ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
        ),
        (
            job(podFailurePolicy={"rules": [IGNORE]}, template={"spec": {**POD_SPEC, "restartPolicy": "OnFailure"}}),
            [
                (
                    'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is '
                    "supported when podFailurePolicy is specified"
                )
            ],
        ),
    ],
)
def test_what_a_job_makes_of_failed_pods(obj: Object, expected: list[str]) -> None:
    assert create_errors(JOB, obj) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (job(**INDEXED, successPolicy={"rules": [{"succeededIndexes": "0"}]}), []),
        (
            job(successPolicy={"rules": [{"succeededCount": 1}]}),
            [
                (
                    "spec.successPolicy: Invalid value: "
                    '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed '
                    "completion mode"
                )
            ],
        ),
        (
            job(**INDEXED, successPolicy={"rules": []}),
            [
                (
                    "spec.successPolicy.rules: Required value: at least one rules must be specified when "
                    "the successPolicy is specified"
                )
            ],
        ),
        (
            job(**INDEXED, successPolicy={"rules": [{}]}),
            [
                (
                    "spec.successPolicy.rules[0]: Required value: at least one of succeededCount or "
                    "succeededIndexes must be specified"
                )
            ],
        ),
        (
            job(**INDEXED, successPolicy={"rules": [{"succeededIndexes": "1-0"}]}),
            [
                (
                    'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1-0": error parsing '
                    "succeededIndexes: non-increasing order, previous: 1, current: 0"
                )
            ],
        ),
        (
            job(**INDEXED, successPolicy={"rules": [{"succeededIndexes": "5"}]}),
            [
                (
                    'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "5": error parsing '
                    'succeededIndexes: too large index: "5"'
                )
            ],
        ),
        (
            job(**INDEXED, successPolicy={"rules": [{"succeededCount": 3}]}),
            [
                (
                    "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or "
                    "equal to 2 (the number of specified completions)"
                )
            ],
        ),
    ],
)
def test_when_a_job_has_succeeded(obj: Object, expected: list[str]) -> None:
    assert create_errors(JOB, obj) == expected


def test_a_job_selects_its_own_pods() -> None:
    made = stored(JOB, job())
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert labels["batch.kubernetes.io/job-name"] == "x"
    assert (made["spec"]["completions"], made["spec"]["parallelism"], made["spec"]["backoffLimit"]) == (1, 1, 6)
    assert (made["spec"]["completionMode"], made["spec"]["suspend"]) == ("NonIndexed", False)


def test_a_job_with_a_limit_per_index_may_fail_as_often_as_it_likes() -> None:
    spec = stored(JOB, job(**INDEXED, backoffLimitPerIndex=1))["spec"]
    assert (spec["backoffLimit"], spec["podReplacementPolicy"]) == (2147483647, "TerminatingOrFailed")


def test_very_many_indexes_are_warned_of() -> None:
    within = context()
    wide = job(completionMode="Indexed", completions=200_000, parallelism=20_000)
    strategy(JOB).validate(stored(JOB, wide), within)
    assert within.warnings == [
        (
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
            "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    ]


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.parallelism", 3, "", []),
        ("spec.suspend", True, "", []),
        ("spec.completions", 2, "", ["spec.completions: Invalid value: 2: field is immutable"]),
        ("spec.completionMode", "Indexed", "", ['spec.completionMode: Invalid value: "Indexed": field is immutable']),
        ("spec.backoffLimit", 3, "", []),
    ],
)
def test_updates_of_jobs(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(JOB, job())
    assert update_errors(JOB, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(("path", "value"), [("spec.hostNetwork", True), ("metadata.annotations", {"a": "b"})])
def test_the_template_of_a_running_job_stays(path: str, value: Any) -> None:
    old = stored(JOB, job())
    (error,) = update_errors(JOB, old, changed(old, f"spec.template.{path}", value))
    assert error.startswith('spec.template: Invalid value: {"labels":')
    assert error.endswith(": field is immutable")


def test_a_suspended_job_that_has_not_begun_may_be_steered_elsewhere() -> None:
    old = stored(JOB, job(suspend=True))
    assert update_errors(JOB, old, changed(old, "spec.template.spec.nodeSelector", {"a": "b"})) == []
    begun = changed(old, "status.startTime", "2026-01-01T00:00:00Z")
    assert len(update_errors(JOB, begun, changed(begun, "spec.template.spec.nodeSelector", {"a": "b"}))) == 1


def test_an_indexed_job_can_be_resized_with_its_parallelism() -> None:
    old = stored(JOB, job(**INDEXED, parallelism=2))
    both = changed(changed(old, "spec.completions", 3), "spec.parallelism", 3)
    assert update_errors(JOB, old, both) == []
    assert len(update_errors(JOB, old, changed(old, "spec.completions", 3))) == 1


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("status", status(active=1), "status", []),
        (
            "status",
            status(active=-1),
            "status",
            ["status.active: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "status",
            status(conditions=COMPLETE),
            "status",
            [
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without the "
                    "SuccessCriteriaMet=true condition"
                ),
                "status.completionTime: Required value: completionTime is required for Complete jobs",
            ],
        ),
        (
            "status",
            status(conditions=COMPLETE, completionTime="2026-01-01T00:01:00Z"),
            "status",
            [
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without the "
                    "SuccessCriteriaMet=true condition"
                )
            ],
        ),
        (
            "status",
            status(conditions=COMPLETE, completionTime="2025-01-01T00:01:00Z", active=1),
            "status",
            [
                (
                    "status.conditions: Invalid value: cannot set Complete=True condition without the "
                    "SuccessCriteriaMet=true condition"
                ),
                'status.completionTime: Invalid value: "2025-01-01T00:01:00Z": must be equal to or after `startTime`',
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
            ],
        ),
        (
            "status",
            status(completedIndexes="1"),
            "status",
            [
                'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too large index: "1"',
                (
                    'status.completedIndexes: Invalid value: "1": cannot set non-empty completedIndexes '
                    "when non-indexed completion mode"
                ),
            ],
        ),
        (
            "status",
            status(ready=2, active=1),
            "status",
            ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
        ),
        (
            "status",
            status(uncountedTerminatedPods={"succeeded": ["a", "a"], "failed": ["a"]}),
            "status",
            [
                'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
                'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            ],
        ),
    ],
)
def test_statuses_of_jobs(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(JOB, job())
    assert update_errors(JOB, old, changed(old, path, value), subresource) == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (cron_job(), []),
        (cron_job(schedule=""), ["spec.schedule: Required value"]),
        (
            cron_job(schedule="* * * *"),
            ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
        ),
        (
            cron_job(schedule="TZ=UTC 0 0 * * *"),
            [
                (
                    'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in '
                    "schedule, use timeZone field instead"
                )
            ],
        ),
        (cron_job(timeZone=""), ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
        (
            cron_job(timeZone="Nowhere/At_All"),
            ['spec.timeZone: Invalid value: "Nowhere/At_All": unknown time zone Nowhere/At_All'],
        ),
        (cron_job(timeZone="Europe/Berlin"), []),
        (
            cron_job(concurrencyPolicy="x"),
            ['spec.concurrencyPolicy: Unsupported value: "x": supported values: "Allow", "Forbid", "Replace"'],
        ),
        (
            cron_job(startingDeadlineSeconds=-1, successfulJobsHistoryLimit=-1, failedJobsHistoryLimit=-1),
            [
                "spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0",
                "spec.successfulJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
                "spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0",
            ],
        ),
        (
            cron_job(jobTemplate={"spec": {"template": {"spec": POD_SPEC}}}),
            [('spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"')],
        ),
        (
            cron_job(jobTemplate={"spec": {"template": TEMPLATE, "manualSelector": True}}),
            ['spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
        ),
        (
            {**cron_job(), "metadata": {"name": "x" * 53, "namespace": "n"}},
            [
                (
                    "metadata.name: Invalid value: "
                    '"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 52 '
                    "characters"
                )
            ],
        ),
    ],
)
def test_cron_jobs(obj: Object, expected: list[str]) -> None:
    assert create_errors(CRON_JOB, obj) == expected


@pytest.mark.parametrize(
    ("path", "value", "subresource", "expected"),
    [
        ("spec.suspend", True, "", []),
        ("spec.schedule", "x", "", ['spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]']),
        ("spec.concurrencyPolicy", "Replace", "", []),
    ],
)
def test_updates_of_cron_jobs(path: str, value: Any, subresource: str, expected: list[str]) -> None:
    old = stored(CRON_JOB, cron_job())
    assert update_errors(CRON_JOB, old, changed(old, path, value), subresource) == expected


def test_a_cron_job_has_its_defaults() -> None:
    spec = stored(CRON_JOB, cron_job())["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    assert "completions" not in spec["jobTemplate"]["spec"] or spec["jobTemplate"]["spec"]["completions"] == 1


def test_a_schedule_with_a_zone_is_warned_of_in_updates() -> None:
    old, within = stored(CRON_JOB, cron_job(schedule="TZ=UTC 0 0 * * *")), context()
    strategy(CRON_JOB).update.validate(old, old, within)
    assert within.warnings == [
        (
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    ]
