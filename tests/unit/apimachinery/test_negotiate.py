"""Accept and Content-Type headers: what is agreed upon and what is refused."""

import pytest

from schedlab.apimachinery import negotiate
from schedlab.apimachinery.errors import NotAcceptable, UnsupportedMediaType
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apimachinery.negotiate import JSON, NO_TRANSFORM, PROTOBUF, YAML, FixedRestrictions, ResourceRestrictions

TABLE = GroupVersionKind("meta.k8s.io", "v1", "Table")
METADATA = GroupVersionKind("meta.k8s.io", "v1", "PartialObjectMetadata")
RESOURCE = ResourceRestrictions()


@pytest.mark.parametrize(
    ("accept", "media_type", "target"),
    [
        ("", JSON, None),
        ("*/*", JSON, None),
        ("*", JSON, None),
        ("application/*", JSON, None),
        ("application/json", JSON, None),
        ("application/json; charset=utf-8", JSON, None),
        ("application/yaml", YAML, None),
        ("application/vnd.kubernetes.protobuf", PROTOBUF, None),
        ("application/vnd.kubernetes.protobuf,application/json", PROTOBUF, None),
        ("application/vnd.kubernetes.protobuf;q=0.5,application/json", JSON, None),
        ("text/html,application/yaml", YAML, None),
        ("*/*,application/yaml", YAML, None),
        ("application/*;q=0.9,application/yaml;q=0.9", YAML, None),
        ("application/yaml;q=nonsense,application/json", JSON, None),
        ("a/b/c,application/yaml", YAML, None),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", JSON, TABLE),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", YAML, TABLE),
        ("application/json; as = Table; v= v1 ;g=meta.k8s.io", JSON, TABLE),
        ("application/json;as=Table;g=meta.k8s.io;v=v1beta1", JSON, TABLE._replace(version="v1beta1")),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", JSON, TABLE),
        ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", JSON, None),
        ("application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", PROTOBUF, METADATA),
        ("application/json;as=Other;v=v1;g=meta.k8s.io,application/json", JSON, None),
        ("application/json;sv=v1", JSON, None),
        ("application/json;a=b=c;=;d", JSON, None),
    ],
)
def test_the_first_preferred_clause_that_can_be_fulfilled_is_taken(
    accept: str, media_type: negotiate.MediaType, target: GroupVersionKind | None
) -> None:
    agreed = negotiate.negotiate_output(accept, RESOURCE)

    assert (agreed.media_type, agreed.target) == (media_type, target)


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "nonsense",
        ",",
        "APPLICATION/JSON",
        "*/json",
        "application/json;as=Bogus;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v9;g=meta.k8s.io",
        "application/json;as=Table;v=v1;g=wrong",
        "application/json;as=Table",
        "application/json;stream=other",
        "application/yaml;stream=watch",
        "application/json;sv=v2",
    ],
)
def test_an_unacceptable_header_is_refused_with_what_is_accepted(accept: str) -> None:
    with pytest.raises(NotAcceptable) as raised:
        negotiate.negotiate_output(accept, RESOURCE)

    assert raised.value.message == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_parameters_that_are_no_conversion_are_kept() -> None:
    agreed = negotiate.negotiate_output("application/json;pretty=1;stream=watch;profile=nopeer", RESOURCE)

    assert (agreed.is_pretty, agreed.stream, agreed.profile, agreed.target) == (True, "watch", "nopeer", None)


def test_yaml_cannot_be_watched() -> None:
    assert negotiate.negotiate_stream("application/json", RESOURCE).media_type == JSON
    for accept in ("application/yaml", "text/html"):
        with pytest.raises(NotAcceptable) as raised:
            negotiate.negotiate_stream(accept, RESOURCE)
        assert raised.value.message == (
            "only the following media types are accepted: "
            "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        )


def test_an_endpoint_restricts_formats_and_conversions() -> None:
    custom = ResourceRestrictions(has_table=False, own_types=(JSON, YAML))
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    groups = GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
    discovery = FixedRestrictions(frozenset((groups,)))

    assert negotiate.negotiate("application/vnd.kubernetes.protobuf", custom) is None
    assert negotiate.negotiate(table, custom) is None
    assert negotiate.negotiate(table, NO_TRANSFORM) is None
    assert negotiate.negotiate("application/json;sv=v1", NO_TRANSFORM) is None
    assert negotiate.negotiate("application/json", NO_TRANSFORM) is not None
    agreed = negotiate.negotiate("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", discovery)
    assert agreed is not None
    assert agreed.target == groups
    assert negotiate.negotiate("application/json", discovery) is None


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        ("", JSON),
        ("application/json", JSON),
        ("Application/JSON ; charset=utf-8", JSON),
        ("application/json;", JSON),
        ("application/json; ", JSON),
        ('application/yaml; a="b \\" c"; d=e', YAML),
        ("application/vnd.kubernetes.protobuf", PROTOBUF),
    ],
)
def test_the_content_type_says_the_format_of_a_body(content_type: str, media_type: negotiate.MediaType) -> None:
    assert negotiate.negotiate_input(content_type) == media_type


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "nonsense",
        ";",
        "application/",
        "application/json/x",
        "application/json; charset",
        "application/json; charset=",
        "application/json; a=b; a=c",
        'application/json; a="b',
        'application/json; a="b\nc"',
        "application/json; =b",
        "application/json, text/plain",
        "application/json; a=b c",
    ],
)
def test_an_unknown_or_malformed_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType) as raised:
        negotiate.negotiate_input(content_type)

    assert raised.value.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_the_router_understands_fewer_accept_headers() -> None:
    produces = negotiate.names(negotiate.MEDIA_TYPES) + negotiate.stream_names(negotiate.MEDIA_TYPES)

    for accept in ("", "*/*", "text/html, application/yaml;q=0.1", "application/json;as=Table"):
        negotiate.check_route(accept, produces, "GET")
    for accept in ("application/*", "APPLICATION/JSON", "nonsense"):
        with pytest.raises(NotAcceptable) as raised:
            negotiate.check_route(accept, produces, "GET")
        assert raised.value.message == (
            "406: Not Acceptable\n\nAvailable representations: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf, "
            "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        )
        assert raised.value.status["details"] == {}


@pytest.mark.parametrize(
    ("pretty", "user_agent", "wanted"),
    [
        (None, "curl/8", True),
        ("", "Mozilla/5.0 (X11)", True),
        (None, "kubectl/v1.36", False),
        ("true", "kubectl/v1.36", True),
        ("0", "curl/8", False),
    ],
)
def test_people_get_indented_json(pretty: str | None, user_agent: str, wanted: bool) -> None:  # noqa: FBT001
    assert negotiate.wants_pretty(pretty, user_agent) is wanted
