"""Who sends a request: client certificate, bearer token, or nobody; and whom an administrator speaks for.

    credentials                          answer
    a certificate signed by our CA       its common name, its organisations as groups
    Authorization: Bearer TOKEN          the user of that token, or the service account; 401 when there is none
    anything else                        system:anonymous

Mirrors: staging/src/k8s.io/apiserver/pkg/authentication/{request,user},
endpoints/filters/{authentication,impersonation}.go (v1.36)
Differs: tokens of users are kept in memory; no OIDC, no webhook, no front proxy.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from schedlab.apimachinery.errors import Unauthorized, new_bad_request, new_unauthorized

ANONYMOUS: Final = "system:anonymous"
ALL_AUTHENTICATED: Final = "system:authenticated"
ALL_UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
#: Who signs tokens of service accounts, and whom tokens are for unless they say otherwise: this server.
ISSUER: Final = "https://kubernetes.default.svc.cluster.local"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"

_IMPERSONATE: Final = b"impersonate-"
_EXTRA_PREFIX: Final = b"impersonate-extra-"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """One user, as authorization and reviews see them."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_wire(self) -> dict[str, Any]:
        """Return the UserInfo of authentication.k8s.io, without its empty members."""
        found = {
            "username": self.name,
            "uid": self.uid,
            "groups": list(self.groups),
            "extra": {key: list(values) for key, values in self.extra.items()},
        }
        return {key: value for key, value in found.items() if value}


ANONYMOUS_USER: Final = UserInfo(ANONYMOUS, groups=(ALL_UNAUTHENTICATED,))
#: Who everybody is on a server without credentials, as on the insecure port that kube-apiserver once had.
UNSECURED_USER: Final = UserInfo("system:unsecured", groups=(MASTERS, ALL_AUTHENTICATED))


#: Says whose token one is and for which of the given audiences it is good; None for a token it does not know.
TokenReader: TypeAlias = Callable[[str, Sequence[str]], tuple[UserInfo, Sequence[str]] | None]


class Authenticator:
    """Knows the tokens of users, and what a certificate that TLS has verified says.

    `others` know further tokens. `nobody` is who sends no credentials.
    """

    def __init__(
        self, tokens: Mapping[str, UserInfo], others: Sequence[TokenReader] = (), nobody: UserInfo = ANONYMOUS_USER
    ) -> None:
        self._nobody = nobody
        self._tokens = [(token.encode(), _authenticated(user)) for token, user in tokens.items()]
        self._others = tuple(others)

    def knowing(self, reader: TokenReader) -> Authenticator:
        """Return an authenticator that knows further tokens as well."""
        made = Authenticator({}, (*self._others, reader), self._nobody)
        made._tokens = self._tokens
        return made

    def authenticate(self, authorization: bytes | None, peer: Mapping[str, Any] | None) -> UserInfo:
        """Say who sends a request, from its Authorization header and `ssl.getpeercert`; raises Unauthorized."""
        if peer:
            user = _certificate_user(peer)
            if user is not None:
                return user
        if authorization is None:
            return self._nobody
        scheme, _, token = authorization.strip().partition(b" ")
        token = token.strip()
        if scheme.lower() != b"bearer" or not token:
            return self._nobody
        found = self.token_owner(token, (ISSUER,))
        if found is None:
            raise unauthorized()
        return found[0]

    def token_owner(self, token: bytes, audiences: Sequence[str]) -> tuple[UserInfo, Sequence[str]] | None:
        """Say whose token one is and for which of the audiences it is good: those of users are good for this server."""
        for known, user in self._tokens:
            if hmac.compare_digest(known, token):
                return (user, (ISSUER,)) if ISSUER in audiences else None
        text = token.decode("latin-1")
        return next((found for reader in self._others if (found := reader(text, audiences)) is not None), None)


def unauthorized() -> Unauthorized:
    """The answer to credentials that are wrong."""
    return new_unauthorized("Unauthorized")


def _authenticated(user: UserInfo) -> UserInfo:
    if ALL_AUTHENTICATED in user.groups:
        return user
    return UserInfo(user.name, user.uid, (*user.groups, ALL_AUTHENTICATED), user.extra)


def _certificate_user(peer: Mapping[str, Any]) -> UserInfo | None:
    """Read user and groups from the subject; None when it names nobody."""
    names: list[str] = []
    groups: list[str] = []
    for relative_name in peer.get("subject", ()):
        for key, value in relative_name:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    return UserInfo(names[0], groups=(*groups, ALL_AUTHENTICATED)) if names else None


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the Impersonate headers name."""

    user: UserInfo
    #: What the sender needs the verb `impersonate` on: resource, its API group, name, namespace, subresource.
    targets: tuple[tuple[str, str, str, str, str], ...]


def read_impersonation(headers: Sequence[tuple[bytes, bytes]]) -> Impersonation | None:
    """Read the Impersonate headers, None when there are none; raises BadRequest for groups without a user."""
    found = [(name, value.decode("latin-1")) for name, value in headers if name.startswith(_IMPERSONATE)]
    if not found:
        return None
    name = next((value for key, value in found if key == b"impersonate-user"), "")
    groups = [value for key, value in found if key == b"impersonate-group"]
    uid = next((value for key, value in found if key == b"impersonate-uid"), "")
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in found:
        if key.startswith(_EXTRA_PREFIX):
            extra_key = unquote(key.removeprefix(_EXTRA_PREFIX).decode("latin-1"))
            extra[extra_key] = (*extra.get(extra_key, ()), value)
    if not name:
        raise new_bad_request("requested impersonation without impersonating a user")
    return Impersonation(_impersonated(name, uid, groups, extra), _targets(name, uid, groups, extra))


def _impersonated(name: str, uid: str, groups: list[str], extra: Mapping[str, tuple[str, ...]]) -> UserInfo:
    all_groups = list(groups)
    if name == ANONYMOUS:
        if ALL_UNAUTHENTICATED not in groups:
            all_groups.append(ALL_UNAUTHENTICATED)
    else:
        namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
        if name.startswith(SERVICE_ACCOUNT_PREFIX) and account and not groups:
            all_groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
        if ALL_AUTHENTICATED not in groups and ALL_UNAUTHENTICATED not in groups:
            all_groups.append(ALL_AUTHENTICATED)
    return UserInfo(name, uid, tuple(all_groups), extra)


def _targets(
    name: str, uid: str, groups: list[str], extra: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, str, str, str, str], ...]:
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if name.startswith(SERVICE_ACCOUNT_PREFIX) and account:
        targets = [("serviceaccounts", "", account, namespace, "")]
    else:
        targets = [("users", "", name, "", "")]
    targets += [("groups", "", group, "", "") for group in groups]
    if uid:
        targets.append(("uids", "authentication.k8s.io", uid, "", ""))
    targets += [
        ("userextras", "authentication.k8s.io", value, "", key) for key, values in extra.items() for value in values
    ]
    return tuple(targets)
