"""Pods of one template are told apart by nothing but the name of their token volume."""

import pytest

from schedlab.api.rules.templates import template_key


@pytest.mark.parametrize(
    ("encoded", "key"),
    [
        (b'{"a":1}', b'{"a":1}'),
        (b'[{"name":"kube-api-access-x2b4c"},"kube-api-access-x2b4c"]', b'[{"name":"token"},"token"]'),
        (b'{"name":"kube-api-access-mine-own"}', b'{"name":"kube-api-access-mine-own"}'),
    ],
)
def test_only_the_random_name_is_taken_out(encoded: bytes, key: bytes) -> None:
    assert template_key(encoded) == key
