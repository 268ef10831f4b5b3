"""Tokens of pages, and what is said of bad ones."""

import base64

import pytest

from schedlab.apimachinery.errors import BadRequest
from schedlab.registry.reads import decode_continue, encode_continue


def token(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_token_carries_the_key_below_the_prefix() -> None:
    made = encode_continue("pods/default/x", "pods/", 7)

    assert decode_continue(made, "pods/") == ("pods/default/x", 7)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bogus", "illegal base64 data at input byte 4"),
        ("ab=", "illegal base64 data at input byte 2"),
        ("zażółć", "illegal base64 data at input byte 2"),
        ("abc", "invalid character 'i' looking for beginning of value"),
        (token('{"v":'), "unexpected end of JSON input"),
        (token("[]"), "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (
            token('{"v":"meta.k8s.io/v1","rv":"1"}'),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
        ),
        (token("{}"), "server does not recognize this encoded version "),
        (token('{"v":"v9"}'), "server does not recognize this encoded version v9"),
        (
            token('{"v":"meta.k8s.io/v1"}'),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (token('{"v":"meta.k8s.io/v1","rv":1}'), "encoded start key empty (version meta.k8s.io/v1)"),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":"a/../../b"}'), "a/../../b"),
    ],
)
def test_bad_tokens_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_continue(text, "pods/")

    assert str(caught.value) == f"invalid continue token: continue key is not valid: {reason}"
