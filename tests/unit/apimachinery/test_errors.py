"""Each error of the API carries the Status that kube-apiserver sends."""

import pickle
from typing import Any

import pytest

from schedlab.apimachinery import errors, field
from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.field import Path
from schedlab.apimachinery.gvk import GroupKind, GroupResource

PODS = GroupResource("", "pods")
DEPLOYMENTS = GroupResource("apps", "deployments")
NONE = GroupResource("", "")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (
            errors.new_not_found(DEPLOYMENTS, "x"),
            404,
            "NotFound",
            'deployments.apps "x" not found',
            {"name": "x", "group": "apps", "kind": "deployments"},
        ),
        (
            errors.new_already_exists(PODS, "x"),
            409,
            "AlreadyExists",
            'pods "x" already exists',
            {"name": "x", "kind": "pods"},
        ),
        (
            errors.new_generate_name_conflict(PODS, "x", 1),
            409,
            "AlreadyExists",
            'pods "x" already exists, the server was not able to generate a unique name for the object',
            {"name": "x", "kind": "pods", "retryAfterSeconds": 1},
        ),
        (errors.new_unauthorized(), 401, "Unauthorized", "not authorized", None),
        (errors.new_unauthorized("Unauthorized"), 401, "Unauthorized", "Unauthorized", None),
        (errors.new_forbidden(NONE, "", "no"), 403, "Forbidden", "forbidden: no", {}),
        (errors.new_forbidden(PODS, "", "no"), 403, "Forbidden", "pods is forbidden: no", {"kind": "pods"}),
        (
            errors.new_forbidden(PODS, "x", ValueError("no")),
            403,
            "Forbidden",
            'pods "x" is forbidden: no',
            {"name": "x", "kind": "pods"},
        ),
        (
            errors.new_conflict(PODS, "x"),
            409,
            "Conflict",
            (
                'Operation cannot be fulfilled on pods "x": the object has been modified; '
                "please apply your changes to the latest version and try again"
            ),
            {"name": "x", "kind": "pods"},
        ),
        (
            errors.new_apply_conflict([{"reason": "FieldManagerConflict", "message": "m", "field": ".a"}], "text"),
            409,
            "Conflict",
            "text",
            {"causes": [{"reason": "FieldManagerConflict", "message": "m", "field": ".a"}]},
        ),
        (errors.new_gone("gone"), 410, "Gone", "gone", None),
        (errors.new_expired("too old"), 410, "Expired", "too old", None),
        (errors.new_bad_request("bad"), 400, "BadRequest", "bad", None),
        (errors.new_too_many_requests("slow", 2), 429, "TooManyRequests", "slow", {"retryAfterSeconds": 2}),
        (errors.new_too_many_requests("slow", 0), 429, "TooManyRequests", "slow", {}),
        (errors.new_overloaded("busy"), 429, "TooManyRequests", "Too many requests: busy", None),
        (errors.new_service_unavailable("off"), 503, "ServiceUnavailable", "off", None),
        (
            errors.new_method_not_supported(DEPLOYMENTS, "create"),
            405,
            "MethodNotAllowed",
            'create is not supported on resources of kind "deployments.apps"',
            {"group": "apps", "kind": "deployments"},
        ),
        (
            errors.new_server_timeout(PODS, "get", 3),
            500,
            "ServerTimeout",
            "The get operation against pods could not be completed at this time, please try again.",
            {"name": "get", "kind": "pods", "retryAfterSeconds": 3},
        ),
        (
            errors.new_internal_error("broken"),
            500,
            "InternalError",
            "Internal error occurred: broken",
            {"causes": [{"message": "broken"}]},
        ),
        (errors.new_timeout("late", 1), 504, "Timeout", "Timeout: late", {"retryAfterSeconds": 1}),
        (
            errors.new_too_large_resource_version(9, 5, 1),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 5",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        ),
        (
            errors.new_request_entity_too_large("limit is 3145728"),
            413,
            "RequestEntityTooLarge",
            "Request entity too large: limit is 3145728",
            None,
        ),
        (
            errors.new_not_acceptable(["application/json", "application/yaml"]),
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml",
            None,
        ),
        (
            errors.new_unsupported_media_type(["application/json"]),
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: application/json",
            None,
        ),
        (errors.new_unknown("what"), 500, "", "what", None),
    ],
)
def test_an_error_carries_its_status(
    error: StatusError, code: int, reason: str, message: str, details: dict[str, Any] | None
) -> None:
    assert (error.code, error.reason, error.message) == (code, reason, message)
    assert error.status.get("details") == details
    assert str(error) == message
    assert (error.status["kind"], error.status["apiVersion"], error.status["status"]) == ("Status", "v1", "Failure")


def test_an_invalid_object_lists_each_field_as_a_cause() -> None:
    path = Path("spec")
    found = [
        field.required(path.child("a")),
        field.invalid(path.child("b"), "x", "no"),
        field.required(path.child("a")),
    ]

    error = errors.new_invalid(GroupKind("", "Pod"), "x", found)

    assert error.message == 'Pod "x" is invalid: [spec.a: Required value, spec.b: Invalid value: "x": no]'
    assert [cause["field"] for cause in error.causes] == ["spec.a", "spec.b", "spec.a"]
    assert error.details["kind"] == "Pod"
    assert error.has_cause("FieldValueRequired")
    assert not error.has_cause("FieldValueForbidden")


def test_an_invalid_object_without_field_errors_says_only_that() -> None:
    error = errors.new_invalid(GroupKind("apps", "Deployment"), "x", [])

    assert error.message == 'Deployment.apps "x" is invalid'
    assert error.details == {"name": "x", "group": "apps", "kind": "Deployment"}


@pytest.mark.parametrize("cls", StatusError.__subclasses__())
def test_a_received_status_gets_the_class_of_its_reason(cls: type[StatusError]) -> None:
    status = {"reason": cls.status_reason, "code": cls.http_code, "message": "m"}

    error = errors.from_status(status)

    assert type(error) is cls
    assert error.status is status
    assert type(errors.from_status({"reason": "Odd"})) is StatusError


def test_an_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.new_timeout("late", 4)))

    assert isinstance(error, errors.Timeout)
    assert error.retry_after_s == 4


@pytest.mark.parametrize(
    ("code", "verb", "server_message", "reason", "message"),
    [
        (405, "PUT", "", "MethodNotAllowed", "the server does not allow this method on the requested resource"),
        (406, "GET", "406: x", "NotAcceptable", "406: x"),
        (
            406,
            "GET",
            "unknown",
            "NotAcceptable",
            "the server was unable to respond with a content type that the client supports",
        ),
        (409, "POST", "", "AlreadyExists", "the server reported a conflict"),
        (409, "PUT", "", "Conflict", "the server reported a conflict"),
        (403, "GET", "no", "Forbidden", "no"),
        (415, "POST", "type", "UnsupportedMediaType", "type"),
        (502, "GET", "x", "InternalError", 'an error on the server ("x") has prevented the request from succeeding'),
        (418, "GET", "", "", "the server responded with the status code 418 but did not return more information"),
    ],
)
def test_an_answer_without_a_status_is_explained_by_its_code(
    code: int, verb: str, server_message: str, reason: str, message: str
) -> None:
    error = errors.new_generic_server_response(code, verb, server_message=server_message)

    assert (error.code, error.reason, error.message, error.details) == (code, reason, message, {})


def test_an_explained_answer_names_the_request_and_what_was_unexpected() -> None:
    error = errors.new_generic_server_response(404, "GET", DEPLOYMENTS, "x", "page", 5, unexpected=True)

    assert error.message == "the server could not find the requested resource (get deployments.apps x)"
    assert error.details == {
        "name": "x",
        "group": "apps",
        "kind": "deployments",
        "causes": [{"reason": "UnexpectedServerResponse", "message": "page"}],
        "retryAfterSeconds": 5,
    }
    assert errors.new_generic_server_response(404, "GET", PODS).message.endswith(" (get pods)")


def test_a_success_is_a_status_too() -> None:
    details = errors.new_details(name="x", kind="pods", uid="u")

    assert errors.new_status("Success", details=details) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {"name": "x", "kind": "pods", "uid": "u"},
    }
