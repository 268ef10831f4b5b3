"""Pods as people name them."""

import pytest

from schedlab.apimachinery.references import parse_pod
from schedlab.kernel.errors import SchedlabError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web", ("default", "web")),
        ("pod/web", ("default", "web")),
        ("pods/web", ("default", "web")),
        ("shop/web", ("shop", "web")),
    ],
)
def test_pod_can_be_named_in_several_ways(text: str, expected: tuple[str, str]) -> None:
    assert parse_pod(text, "default") == expected


@pytest.mark.parametrize("text", ["", "/", "a/", "/b", "a/b/c"])
def test_text_that_names_no_pod_is_refused(text: str) -> None:
    with pytest.raises(SchedlabError, match="names no pod"):
        parse_pod(text, "default")
