"""Answers take the form that the Accept header asks for."""

import pytest

from schedlab.apimachinery.errors import StatusError
from schedlab.apimachinery.gvk import GroupVersionKind
from schedlab.apiserver.negotiation import (
    LIST_MEDIA_TYPES,
    PLAIN,
    Form,
    body_media_type,
    check_patch_route,
    check_route,
    discovery_target,
    error_form,
    fixed_form,
    output_form,
    stream_form,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FORMS = [
    ("", PLAIN),
    ("*/*", PLAIN),
    ("application/json", PLAIN),
    ("application/yaml", Form("yaml")),
    ("application/json;pretty=1", Form(pretty=True)),
    ("application/vnd.kubernetes.protobuf", PLAIN),
    ("application/vnd.kubernetes.protobuf, */*", PLAIN),
    (TABLE, Form(transform="Table")),
    (f"{TABLE},application/json", Form(transform="Table")),
    ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Form(transform="Table", version="v1beta1")),
    ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", PLAIN),
    ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(transform="PartialObjectMetadata")),
    ("application/yaml;q=0.5,application/json", PLAIN),
    ("application/json;q=0.5,application/yaml", Form("yaml")),
]


@pytest.mark.parametrize(("accept", "form"), FORMS)
def test_output_form(accept: str, form: Form) -> None:
    """The best alternative that can be fulfilled is taken; protobuf is answered with JSON."""
    assert output_form(accept) == form


@pytest.mark.parametrize("accept", ["text/html", "application/json;as=Bogus;v=v1;g=meta.k8s.io", "nonsense"])
def test_unacceptable(accept: str) -> None:
    """An Accept header that nothing fits is refused with what there is."""
    with pytest.raises(StatusError) as caught:
        output_form(accept)

    assert caught.value.message == (
        "only the following media types are accepted: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )


def test_watches_have_no_yaml() -> None:
    """Events need frames, which YAML does not have."""
    with pytest.raises(
        StatusError, match=r"application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    ):
        stream_form("application/yaml")
    assert stream_form("application/json;stream=watch") == PLAIN


def test_errors_are_always_shown() -> None:
    """An error that cannot take the form that was asked for is indented JSON."""
    assert error_form("application/yaml") == Form("yaml")
    assert error_form(TABLE) == Form(pretty=True)
    assert error_form("text/html") == Form(pretty=True)


def test_documents_have_one_form() -> None:
    """Discovery documents are no Tables."""
    with pytest.raises(StatusError, match="only the following media types are accepted"):
        fixed_form(TABLE)


def test_aggregated_discovery_is_asked_for_by_type() -> None:
    """Clients offer both forms, the aggregated one first."""
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    assert discovery_target(f"{aggregated},application/json") == GroupVersionKind(
        "apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"
    )
    assert discovery_target("application/json") is None


def test_routes_compare_plain_names() -> None:
    """Before a request is looked at, neither ranges nor capitals are understood."""
    check_route("text/html, application/json;q=0.1", LIST_MEDIA_TYPES)
    check_route("*/*", LIST_MEDIA_TYPES)
    for accept in ("application/*", "APPLICATION/JSON"):
        with pytest.raises(StatusError) as caught:
            check_route(accept, LIST_MEDIA_TYPES)

        assert caught.value.code == 406
        assert caught.value.message.startswith("406: Not Acceptable\n\nAvailable representations: application/json, ")


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json"])
def test_patches_say_what_they_are(content_type: str) -> None:
    """A patch of an unknown type is refused by its route."""
    with pytest.raises(StatusError) as caught:
        check_patch_route(content_type)

    assert (caught.value.code, caught.value.message) == (415, "415: Unsupported Media Type")


def test_body_media_types() -> None:
    """No Content-Type is JSON; parameters do not matter; what is unknown is refused."""
    assert str(body_media_type("")) == "application/json"
    assert str(body_media_type("application/yaml; charset=utf-8")) == "application/yaml"
    with pytest.raises(StatusError, match="the body of the request was in an unknown format"):
        body_media_type("text/plain")
