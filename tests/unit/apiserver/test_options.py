"""Query parameters are parsed and refused in kube-apiserver's words."""

from typing import Any

import pytest

from schedlab.apimachinery.errors import StatusError
from schedlab.apiserver.authentication import ANONYMOUS_USER
from schedlab.apiserver.options import (
    ListQuery,
    read_delete_query,
    read_include_object,
    read_list_query,
    read_revision,
    read_write_options,
    to_delete_options,
)
from schedlab.apiserver.request_info import parse_query
from tests.unit.apiserver.requests import make_request


def test_list_query_takes_the_first_value_of_each_parameter() -> None:
    """Every option has its type; unknown parameters are nobody's business."""
    query = parse_query(
        b"labelSelector=a%3Db&labelSelector=c&fieldSelector=x%3Dy&limit=5&limit=6&continue=t&timeoutSeconds=9"
        b"&resourceVersion=7&resourceVersionMatch=Exact&watch=0&allowWatchBookmarks=1&unknown=x"
    )

    with pytest.raises(StatusError, match="resourceVersionMatch is forbidden when continue is provided"):
        read_list_query(query)
    assert read_list_query({key: value for key, value in query.items() if key != "continue"}) == ListQuery(
        label_selector="a=b",
        field_selector="x=y",
        allow_watch_bookmarks=True,
        resource_version="7",
        resource_version_match="Exact",
        timeout_s=9,
        limit=5,
    )


INVALID_LISTS = [
    ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("limit=", 400, 'strconv.ParseInt: parsing "": invalid syntax'),
    ("limit=9223372036854775808", 400, 'strconv.ParseInt: parsing "9223372036854775808": value out of range'),
    ("timeoutSeconds=1.5", 400, 'strconv.ParseInt: parsing "1.5": invalid syntax'),
    (
        "resourceVersionMatch=Exact",
        422,
        (
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
            "resourceVersionMatch is forbidden unless resourceVersion is provided"
        ),
    ),
    (
        "resourceVersionMatch=Bogus&resourceVersion=1",
        422,
        (
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Unsupported value: "Bogus": '
            'supported values: "Exact", "NotOlderThan", ""'
        ),
    ),
    (
        "resourceVersionMatch=Exact&resourceVersion=0",
        422,
        (
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
            'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        ),
    ),
    (
        "sendInitialEvents=false",
        422,
        'ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list',
    ),
    (
        "watch=1&sendInitialEvents=true",
        422,
        (
            'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: '
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        ),
    ),
    (
        "watch=1&resourceVersionMatch=Exact",
        422,
        (
            'ListOptions.meta.k8s.io "" is invalid: [resourceVersionMatch: Forbidden: '
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, "
            'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]'
        ),
    ),
]


@pytest.mark.parametrize(("query", "code", "message"), INVALID_LISTS)
def test_invalid_list_options(query: str, code: int, message: str) -> None:
    """What is wrong with the options of a list or watch is said as kube-apiserver says it."""
    with pytest.raises(StatusError) as caught:
        read_list_query(parse_query(query.encode()))

    assert (caught.value.code, caught.value.message) == (code, message)


INVALID_WRITES = [
    (
        "CreateOptions",
        "dryRun=x",
        ('CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"'),
    ),
    (
        "UpdateOptions",
        "fieldValidation=x",
        (
            'UpdateOptions.meta.k8s.io "" is invalid: fieldValidation: '
            'Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"'
        ),
    ),
    (
        "PatchOptions",
        "force=true",
        ('PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'),
    ),
    (
        "CreateOptions",
        f"fieldManager={'m' * 129}",
        ('CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes'),
    ),
    (
        "CreateOptions",
        "fieldManager=a%07",
        (
            'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: '
            '"a\\a": invalid character U+0007 (at position 1)'
        ),
    ),
]


@pytest.mark.parametrize(("kind", "query", "message"), INVALID_WRITES)
def test_invalid_write_options(kind: str, query: str, message: str) -> None:
    """What is wrong with the options of a write is said as kube-apiserver says it."""
    with pytest.raises(StatusError) as caught:
        read_write_options(make_request("POST", "/api/v1/nodes", query), kind)

    assert (caught.value.code, caught.value.message) == (422, message)


def test_apply_needs_a_field_manager() -> None:
    """An apply without fieldManager is refused, whoever the user agent is."""
    with pytest.raises(StatusError, match="fieldManager: Required value: is required for apply patch"):
        read_write_options(make_request("PATCH", "/api/v1/nodes/a"), "PatchOptions", apply=True)


def test_write_options_carry_what_the_registry_asks_for() -> None:
    """Field validation warns by default; the user agent stands in for a missing field manager."""
    request = make_request("POST", "/api/v1/nodes", "dryRun=All", {"user-agent": "tool/1.0"})

    options = read_write_options(request, "CreateOptions")

    assert (options.dry_run, options.field_validation, options.manager) == (True, "Warn", "tool")
    assert options.warnings is request.warnings


DELETIONS: list[tuple[str, dict[str, Any]]] = [
    ("", {}),
    (
        "gracePeriodSeconds=0&propagationPolicy=Foreground",
        {"grace_period_seconds": 0, "propagation_policy": "Foreground"},
    ),
    ("orphanDependents=false&dryRun=All", {"orphan_dependents": False, "dry_run": True}),
]


@pytest.mark.parametrize(("query", "expected"), DELETIONS)
def test_delete_options_from_the_query(query: str, expected: dict[str, Any]) -> None:
    """Without a body the options of a deletion come from the query."""
    options = to_delete_options(read_delete_query(parse_query(query.encode())), ANONYMOUS_USER)

    assert {name: getattr(options, name) for name in expected} == expected


def test_contradictory_delete_options() -> None:
    """The old and the new way to say what becomes of dependents exclude each other."""
    with pytest.raises(StatusError, match="orphanDependents and deletionPropagation cannot be both set"):
        to_delete_options({"orphanDependents": True, "propagationPolicy": "Orphan"}, ANONYMOUS_USER)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("1.0", "invalid syntax"),
        (str(2**64), "value out of range"),
    ],
)
def test_invalid_revisions(text: str, problem: str) -> None:
    """A resourceVersion is an unsigned number."""
    with pytest.raises(ValueError) as caught:
        read_revision(text)

    assert str(caught.value) == (
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {problem}'
    )


def test_include_object() -> None:
    """Tables carry metadata unless asked otherwise."""
    assert read_include_object({}) == "Metadata"
    assert read_include_object({"includeObject": ("None",)}) == "None"
    with pytest.raises(StatusError, match="must be 'Metadata', 'Object', 'None', or empty"):
        read_include_object({"includeObject": ("x",)})
