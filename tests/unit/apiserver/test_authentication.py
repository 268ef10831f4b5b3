"""Who sends a request is told by certificate, token or nobody; wrong credentials are worse than none."""

from typing import Any

import pytest

from schedlab.apimachinery.errors import BadRequest, Unauthorized
from schedlab.apiserver.authentication import (
    ANONYMOUS_USER,
    UNSECURED_USER,
    Authenticator,
    UserInfo,
    read_impersonation,
)

ADMIN = UserInfo("admin", "admin-uid", ("system:masters",))
AUTHENTICATOR = Authenticator({"secret": ADMIN})
PEER: dict[str, Any] = {
    "subject": ((("organizationName", "system:masters"),), (("organizationName", "b"),), (("commonName", "carol"),))
}


@pytest.mark.parametrize("header", [b"Bearer secret", b"bearer secret", b"Bearer   secret "])
def test_token_of_a_user(header: bytes) -> None:
    """A known token stands for its user, who is also an authenticated one."""
    user = AUTHENTICATOR.authenticate(header, None)

    assert (user.name, user.uid, user.groups) == ("admin", "admin-uid", ("system:masters", "system:authenticated"))


@pytest.mark.parametrize("header", [None, b"", b"Basic eDp5", b"Bearer", b"Bearer "])
def test_no_credentials_is_anonymous(header: bytes | None) -> None:
    """Who shows nothing, or something of another kind, is nobody in particular."""
    assert AUTHENTICATOR.authenticate(header, None) is ANONYMOUS_USER


def test_nobody_can_be_somebody() -> None:
    """On a server without credentials whoever shows none is an administrator; a wrong token is wrong all the same."""
    open_to_all = Authenticator({"secret": ADMIN}, nobody=UNSECURED_USER).knowing(lambda _token, _audiences: None)

    assert open_to_all.authenticate(None, None) is UNSECURED_USER
    assert UNSECURED_USER.groups == ("system:masters", "system:authenticated")
    assert open_to_all.authenticate(b"Bearer secret", None).name == "admin"
    with pytest.raises(Unauthorized):
        open_to_all.authenticate(b"Bearer wrong", None)


def test_wrong_token_is_refused() -> None:
    """A token that nobody has is an error, not anonymity."""
    with pytest.raises(Unauthorized) as caught:
        AUTHENTICATOR.authenticate(b"Bearer wrong", None)

    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")


def test_certificate_tells_user_and_groups() -> None:
    """The common name is the user, organisations are groups; a certificate without a name says nothing."""
    user = AUTHENTICATOR.authenticate(b"Bearer wrong", PEER)

    assert (user.name, user.groups) == ("carol", ("system:masters", "b", "system:authenticated"))
    assert AUTHENTICATOR.authenticate(None, {"subject": ()}) is ANONYMOUS_USER


def test_impersonation_reads_all_headers() -> None:
    """User, groups, uid and extra are taken over, and each of them has to be allowed."""
    found = read_impersonation(
        [
            (b"impersonate-user", b"bob"),
            (b"impersonate-group", b"g"),
            (b"impersonate-group", b"h"),
            (b"impersonate-uid", b"7"),
            (b"impersonate-extra-a%2fb", b"x"),
        ]
    )

    assert found is not None
    assert found.user.to_wire() == {
        "username": "bob",
        "uid": "7",
        "groups": ["g", "h", "system:authenticated"],
        "extra": {"a/b": ["x"]},
    }
    assert found.targets == (
        ("users", "", "bob", "", ""),
        ("groups", "", "g", "", ""),
        ("groups", "", "h", "", ""),
        ("uids", "authentication.k8s.io", "7", "", ""),
        ("userextras", "authentication.k8s.io", "x", "", "a/b"),
    )


def test_impersonated_service_accounts_have_their_groups() -> None:
    """A service account belongs to those of its namespace."""
    found = read_impersonation([(b"impersonate-user", b"system:serviceaccount:ns:name")])

    assert found is not None
    assert found.user.groups == ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")
    assert found.targets == (("serviceaccounts", "", "name", "ns", ""),)


def test_impersonation_needs_a_user() -> None:
    """Groups without a user are refused; no header at all is no impersonation."""
    assert read_impersonation([(b"accept", b"*/*")]) is None
    with pytest.raises(BadRequest, match="requested impersonation without impersonating a user"):
        read_impersonation([(b"impersonate-group", b"g")])
