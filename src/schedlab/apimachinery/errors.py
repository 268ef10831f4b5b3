"""Errors that an API server answers with, each carrying a metav1.Status.

    StatusError                 any Status; reason Unknown ("") when none of the classes below fits
    ├── BadRequest              400 BadRequest
    ├── Unauthorized            401 Unauthorized
    ├── Forbidden               403 Forbidden
    ├── NotFound                404 NotFound
    ├── MethodNotAllowed        405 MethodNotAllowed
    ├── NotAcceptable           406 NotAcceptable
    ├── AlreadyExists           409 AlreadyExists
    ├── Conflict                409 Conflict
    ├── Gone                    410 Gone
    ├── Expired                 410 Expired
    ├── RequestEntityTooLarge   413 RequestEntityTooLarge
    ├── UnsupportedMediaType    415 UnsupportedMediaType
    ├── Invalid                 422 Invalid
    ├── TooManyRequests         429 TooManyRequests
    ├── InternalError           500 InternalError
    ├── ServerTimeout           500 ServerTimeout
    ├── ServiceUnavailable      503 ServiceUnavailable
    └── Timeout                 504 Timeout

Raise what a `new_*` function returns; catch by class. `from_status` turns a received Status back into its class.

Mirrors: staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go and
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{negotiation/errors,responsewriters/status}.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from schedlab.apimachinery import gojson
from schedlab.apimachinery.field import (
    ErrorList,
    ErrorType,
    FieldError,
    Path,
    aggregate,
)
from schedlab.apimachinery.gvk import GroupKind, GroupResource

__all__ = [
    "OPTIMISTIC_LOCK_MESSAGE",
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "ErrorList",
    "ErrorType",
    "Expired",
    "FieldError",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "Path",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServiceUnavailable",
    "Status",
    "StatusError",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
    "from_status",
    "new_already_exists",
    "new_apply_conflict",
    "new_bad_request",
    "new_conflict",
    "new_details",
    "new_expired",
    "new_forbidden",
    "new_generate_name_conflict",
    "new_generic_server_response",
    "new_gone",
    "new_internal_error",
    "new_invalid",
    "new_method_not_supported",
    "new_not_acceptable",
    "new_not_found",
    "new_overloaded",
    "new_request_entity_too_large",
    "new_server_timeout",
    "new_service_unavailable",
    "new_status",
    "new_timeout",
    "new_too_large_resource_version",
    "new_too_many_requests",
    "new_unauthorized",
    "new_unknown",
    "new_unsupported_media_type",
]

Status: TypeAlias = dict[str, Any]

#: The cause of a conflict on a stale resourceVersion.
OPTIMISTIC_LOCK_MESSAGE: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)

_NO_RESOURCE: Final = GroupResource("", "")


class StatusError(Exception):
    """An error with the Status that tells a client about it."""

    #: Code and reason of the Statuses this class stands for.
    http_code: ClassVar[int] = 500
    status_reason: ClassVar[str] = ""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        return self.message

    @property
    def code(self) -> int:
        return int(self.status.get("code", 0))

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.status.get("message", ""))

    @property
    def details(self) -> Mapping[str, Any]:
        return self.status.get("details") or {}

    @property
    def causes(self) -> Sequence[Mapping[str, str]]:
        return self.details.get("causes") or ()

    @property
    def retry_after_s(self) -> int:
        """Seconds a client should wait before it tries again; 0 when the server does not say."""
        return int(self.details.get("retryAfterSeconds") or 0)

    def has_cause(self, cause_type: str) -> bool:
        return any(cause.get("reason") == cause_type for cause in self.causes)


class BadRequest(StatusError):
    """The request cannot be understood."""

    http_code = 400
    status_reason = "BadRequest"


class Unauthorized(StatusError):
    """The client has not shown who it is."""

    http_code = 401
    status_reason = "Unauthorized"


class Forbidden(StatusError):
    """The client may not do this, or admission refused it."""

    http_code = 403
    status_reason = "Forbidden"


class NotFound(StatusError):
    """There is no such object or resource."""

    http_code = 404
    status_reason = "NotFound"


class MethodNotAllowed(StatusError):
    """The resource does not support this verb."""

    http_code = 405
    status_reason = "MethodNotAllowed"


class NotAcceptable(StatusError):
    """No representation fits the Accept header."""

    http_code = 406
    status_reason = "NotAcceptable"


class AlreadyExists(StatusError):
    """The name is taken."""

    http_code = 409
    status_reason = "AlreadyExists"


class Conflict(StatusError):
    """The object's state does not allow this write: a stale version, a foreign field, a failed precondition."""

    http_code = 409
    status_reason = "Conflict"


class Gone(StatusError):
    """The object was here but is no longer available."""

    http_code = 410
    status_reason = "Gone"


class Expired(StatusError):
    """The requested revision is older than what is kept."""

    http_code = 410
    status_reason = "Expired"


class RequestEntityTooLarge(StatusError):
    """The body exceeds a limit."""

    http_code = 413
    status_reason = "RequestEntityTooLarge"


class UnsupportedMediaType(StatusError):
    """The body is in a format that this request does not take."""

    http_code = 415
    status_reason = "UnsupportedMediaType"


class Invalid(StatusError):
    """Fields of the object break rules; the causes name them."""

    http_code = 422
    status_reason = "Invalid"


class TooManyRequests(StatusError):
    """Try again later."""

    http_code = 429
    status_reason = "TooManyRequests"


class InternalError(StatusError):
    """The server failed."""

    http_code = 500
    status_reason = "InternalError"


class ServerTimeout(StatusError):
    """The server could not finish in time; the client may try again."""

    http_code = 500
    status_reason = "ServerTimeout"


class ServiceUnavailable(StatusError):
    """The server cannot answer now."""

    http_code = 503
    status_reason = "ServiceUnavailable"


class Timeout(StatusError):
    """The request was not finished in time; it may still take effect."""

    http_code = 504
    status_reason = "Timeout"


_CLASSES: Final[dict[str, type[StatusError]]] = {cls.status_reason: cls for cls in StatusError.__subclasses__()}

ErrorT = TypeVar("ErrorT", bound=StatusError)


def from_status(status: Status) -> StatusError:
    """Wrap a Status received from elsewhere in the class of its reason."""
    return _CLASSES.get(str(status.get("reason", "")), StatusError)(status)


def new_status(
    outcome: str,
    *,
    code: int = 0,
    reason: str = "",
    message: str = "",
    details: dict[str, Any] | None = None,
) -> Status:
    """Make a Status with its members in wire order, without the empty ones."""
    status: Status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": outcome,
    }
    if message:
        status["message"] = message
    if reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = details
    if code:
        status["code"] = code
    return status


def new_details(
    *,
    name: str = "",
    group: str = "",
    kind: str = "",
    uid: str = "",
    causes: Sequence[Mapping[str, str]] = (),
    retry_after_s: int = 0,
) -> dict[str, Any]:
    """Make the details of a Status without their empty members."""
    details: dict[str, Any] = {"name": name, "group": group, "kind": kind, "uid": uid}
    if causes:
        details["causes"] = [dict(cause) for cause in causes]
    details["retryAfterSeconds"] = retry_after_s
    return {key: value for key, value in details.items() if value}


def _make(cls: type[ErrorT], message: str, details: dict[str, Any] | None = None) -> ErrorT:
    failure = new_status(
        "Failure",
        code=cls.http_code,
        reason=cls.status_reason,
        message=message,
        details=details,
    )
    return cls(failure)


def _of(resource: GroupResource, name: str = "", retry_after_s: int = 0) -> dict[str, Any]:
    return new_details(
        name=name,
        group=resource.group,
        kind=resource.resource,
        retry_after_s=retry_after_s,
    )


def new_not_found(resource: GroupResource, name: str) -> NotFound:
    return _make(NotFound, f"{resource} {gojson.quote(name)} not found", _of(resource, name))


def new_already_exists(resource: GroupResource, name: str) -> AlreadyExists:
    return _make(
        AlreadyExists,
        f"{resource} {gojson.quote(name)} already exists",
        _of(resource, name),
    )


def new_generate_name_conflict(resource: GroupResource, name: str, retry_after_s: int) -> AlreadyExists:
    message = (
        f"{resource} {gojson.quote(name)} already exists, "
        "the server was not able to generate a unique name for the object"
    )
    return _make(AlreadyExists, message, _of(resource, name, retry_after_s))


def new_unauthorized(message: str = "") -> Unauthorized:
    return _make(Unauthorized, message or "not authorized")


def new_forbidden(resource: GroupResource, name: str, cause: Exception | str) -> Forbidden:
    if resource == _NO_RESOURCE:
        message = f"forbidden: {cause}"
    elif not name:
        message = f"{resource} is forbidden: {cause}"
    else:
        message = f"{resource} {gojson.quote(name)} is forbidden: {cause}"
    return _make(Forbidden, message, _of(resource, name))


def new_conflict(resource: GroupResource, name: str, cause: Exception | str = OPTIMISTIC_LOCK_MESSAGE) -> Conflict:
    """A write that does not fit the stored object; without a cause, because its resourceVersion is stale."""
    message = f"Operation cannot be fulfilled on {resource} {gojson.quote(name)}: {cause}"
    return _make(Conflict, message, _of(resource, name))


def new_apply_conflict(causes: Sequence[Mapping[str, str]], message: str) -> Conflict:
    return _make(Conflict, message, new_details(causes=causes))


def new_gone(message: str) -> Gone:
    return _make(Gone, message)


def new_expired(message: str) -> Expired:
    return _make(Expired, message)


def new_invalid(kind: GroupKind, name: str, errors: Sequence[FieldError]) -> Invalid:
    message = f"{kind} {gojson.quote(name)} is invalid"
    if errors:
        message += f": {aggregate(errors)}"
    details = new_details(
        name=name,
        group=kind.group,
        kind=kind.kind,
        causes=[error.cause for error in errors],
    )
    return _make(Invalid, message, details)


def new_bad_request(message: str) -> BadRequest:
    return _make(BadRequest, message)


def new_too_many_requests(message: str, retry_after_s: int) -> TooManyRequests:
    return _make(TooManyRequests, message, new_details(retry_after_s=retry_after_s))


def new_overloaded(message: str) -> TooManyRequests:
    """The request was turned away before it was looked at (NewTooManyRequestsError)."""
    return _make(TooManyRequests, f"Too many requests: {message}")


def new_service_unavailable(message: str) -> ServiceUnavailable:
    return _make(ServiceUnavailable, message)


def new_method_not_supported(resource: GroupResource, action: str) -> MethodNotAllowed:
    message = f"{action} is not supported on resources of kind {gojson.quote(str(resource))}"
    return _make(MethodNotAllowed, message, _of(resource))


def new_server_timeout(resource: GroupResource, operation: str, retry_after_s: int) -> ServerTimeout:
    message = f"The {operation} operation against {resource} could not be completed at this time, please try again."
    return _make(ServerTimeout, message, _of(resource, operation, retry_after_s))


def new_internal_error(cause: Exception | str) -> InternalError:
    causes = [{"message": str(cause)}] if str(cause) else [{}]
    return _make(InternalError, f"Internal error occurred: {cause}", new_details(causes=causes))


def new_timeout(message: str, retry_after_s: int) -> Timeout:
    return _make(Timeout, f"Timeout: {message}", new_details(retry_after_s=retry_after_s))


def new_too_large_resource_version(requested: int, current: int, retry_after_s: int) -> Timeout:
    """A list asked for a revision that does not exist yet."""
    text = "Too large resource version"
    error = new_timeout(f"{text}: {requested}, current: {current}", retry_after_s)
    causes = [{"reason": "ResourceVersionTooLarge", "message": text}]
    error.status["details"] = new_details(causes=causes, retry_after_s=retry_after_s)
    return error


def new_request_entity_too_large(message: str) -> RequestEntityTooLarge:
    return _make(RequestEntityTooLarge, f"Request entity too large: {message}")


def new_not_acceptable(accepted: Sequence[str]) -> NotAcceptable:
    return _make(
        NotAcceptable,
        f"only the following media types are accepted: {', '.join(accepted)}",
    )


def new_unsupported_media_type(accepted: Sequence[str]) -> UnsupportedMediaType:
    text = "the body of the request was in an unknown format - accepted media types include: "
    return _make(UnsupportedMediaType, text + ", ".join(accepted))


def new_unknown(message: str, code: int = 500) -> StatusError:
    """An error without a reason: what the server makes of a failure that is no Status."""
    return StatusError(new_status("Failure", code=code, message=message))


_GENERIC_MESSAGES: Final = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: (
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    ),
    409: ("Conflict", "the server reported a conflict"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: (
        "TooManyRequests",
        "the server has received too many requests and has asked us to try again later",
    ),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}


def new_generic_server_response(
    code: int,
    verb: str,
    resource: GroupResource = _NO_RESOURCE,
    name: str = "",
    server_message: str = "",
    retry_after_s: int = 0,
    *,
    unexpected: bool = False,
) -> StatusError:
    """What an HTTP answer without a Status means; `verb` is the HTTP method."""
    reason, message = _generic_reason(code, verb, server_message)
    if resource != _NO_RESOURCE:
        target = f"{resource} {name}" if name else f"{resource}"
        message = f"{message} ({verb.lower()} {target})"
    causes = [{"reason": "UnexpectedServerResponse", "message": server_message}] if unexpected else []
    details = new_details(
        name=name,
        group=resource.group,
        kind=resource.resource,
        causes=causes,
        retry_after_s=retry_after_s,
    )
    return from_status(new_status("Failure", code=code, reason=reason, message=message, details=details))


def _generic_reason(code: int, verb: str, server_message: str) -> tuple[str, str]:
    if code == 409 and verb == "POST":
        return "AlreadyExists", _GENERIC_MESSAGES[409][1]
    if code in _GENERIC_MESSAGES:
        return _GENERIC_MESSAGES[code]
    if code == 403:
        return "Forbidden", server_message
    if code == 415:
        return "UnsupportedMediaType", server_message
    if code == 406:
        fallback = "the server was unable to respond with a content type that the client supports"
        return "NotAcceptable", fallback if server_message in (
            "",
            "unknown",
        ) else server_message
    if code >= 500:
        quoted = gojson.quote(server_message)
        return (
            "InternalError",
            f"an error on the server ({quoted}) has prevented the request from succeeding",
        )
    return (
        "",
        f"the server responded with the status code {code} but did not return more information",
    )
