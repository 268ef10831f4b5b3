"""Tokens of service accounts: JSON Web Tokens that this server signs and knows again.

    HEADER.CLAIMS.SIGNATURE      each part in base64; the claims name the account and what the token is bound to

A token is good while it has not expired, its account is still the same one, and so is the pod, secret or node to which
it is bound. Everything but the signature is looked at each time.

Mirrors: pkg/serviceaccount/{jwt,claims}.go (v1.36)
Differs: keys are ECDSA P-256 only; there are no legacy tokens of secrets.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import NotFound
from schedlab.apimachinery.time import SECOND, parse_time
from schedlab.apiserver.authentication import ALL_AUTHENTICATED, ISSUER, SERVICE_ACCOUNT_PREFIX, UserInfo
from schedlab.kernel.clock import Clock
from schedlab.registry.registry import Registry

GROUP: Final = "system:serviceaccounts"

_ALGORITHM: Final = ec.ECDSA(hashes.SHA256())
_COORDINATE_BYTES: Final = 32
_PRIVATE: Final = "kubernetes.io"
#: What is being deleted stays good for so long.
_DELETION_LEEWAY_NS: Final = 60 * SECOND
#: What a token can be bound to: the member of its claims and the resource.
_BOUND: Final = {"pod": "pods", "secret": "secrets", "node": "nodes"}
_KNOWN_TOKENS_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Binding:
    """What a token dies with, by kind: pod, secret or node. A pod's node is only told, and may be gone already."""

    pod: StoredObject | None = None
    secret: StoredObject | None = None
    node: StoredObject | None = None
    node_name: str = ""

    def claims(self) -> dict[str, Any]:
        """Name what is there."""
        found = {"pod": self.pod, "secret": self.secret, "node": self.node}
        claims: dict[str, Any] = {
            key: {"name": bound.name, "uid": bound.uid} for key, bound in found.items() if bound is not None
        }
        if self.node is None and self.node_name:
            claims["node"] = {"name": self.node_name}
        return claims


class ServiceAccountTokens:
    """Issues tokens and recognises them."""

    def __init__(self, registry: Registry, clock: Clock, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        self._registry = registry
        self._clock = clock
        self._key = ec.generate_private_key(ec.SECP256R1()) if key is None else key
        self._public = self._key.public_key()
        encoded = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self._key_id = _encode(hashlib.sha256(encoded).digest())
        #: Tokens whose signature is right, with their claims.
        self._known: dict[str, Mapping[str, Any]] = {}

    # --- issuing -----------------------------------------------------------------------------------------------------

    def issue(
        self,
        account: StoredObject,
        audiences: Sequence[str],
        lifetime_s: int,
        binding: Binding,
        warn_after_s: int | None = None,
    ) -> str:
        """Sign a token for an account; its use is only warned of after `warn_after_s`."""
        now_s = self._clock.now_ns() // SECOND
        private: dict[str, Any] = {
            "namespace": account.namespace,
            "serviceaccount": {"name": account.name, "uid": account.uid},
            **binding.claims(),
        }
        if warn_after_s is not None:
            private["warnafter"] = now_s + warn_after_s
        return self._sign(
            {
                "aud": list(audiences),
                "exp": now_s + lifetime_s,
                "iat": now_s,
                "iss": ISSUER,
                "jti": str(uuid.uuid4()),
                _PRIVATE: private,
                "nbf": now_s,
                "sub": f"{SERVICE_ACCOUNT_PREFIX}{account.namespace}:{account.name}",
            }
        )

    def _sign(self, claims: Mapping[str, Any]) -> str:
        head = _encode(orjson.dumps({"alg": "ES256", "kid": self._key_id}))
        signed = f"{head}.{_encode(orjson.dumps(claims))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), _ALGORITHM))
        signature = r.to_bytes(_COORDINATE_BYTES, "big") + s.to_bytes(_COORDINATE_BYTES, "big")
        return f"{signed}.{_encode(signature)}"

    def public_keys(self) -> dict[str, Any]:
        """Return the JSON Web Key Set by which others can check the tokens."""
        numbers = self._public.public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self._key_id,
            "crv": "P-256",
            "alg": "ES256",
            "x": _encode(numbers.x.to_bytes(_COORDINATE_BYTES, "big")),
            "y": _encode(numbers.y.to_bytes(_COORDINATE_BYTES, "big")),
        }
        return {"keys": [key]}

    # --- recognising -------------------------------------------------------------------------------------------------

    def authenticate(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[UserInfo, Sequence[str]] | None:
        """Say whose token this is and for which of the audiences it is good; None for a token that is not."""
        claims = self._known.get(token)
        if claims is None:
            claims = self._verify(token)
            if claims is None:
                return None
            if len(self._known) >= _KNOWN_TOKENS_MAX:
                self._known.clear()
            self._known[token] = claims
        meant = [audience for audience in audiences if audience in claims["aud"]]
        now_s = self._clock.now_ns() // SECOND
        if not meant or not claims["nbf"] <= now_s < claims["exp"] or not self._is_current(claims[_PRIVATE]):
            return None
        return _user(claims), meant

    def _verify(self, token: str) -> Mapping[str, Any] | None:
        """Return the claims of a token that this key has signed."""
        signed, _, signature_text = token.rpartition(".")
        try:
            signature = _decode(signature_text)
            claims = orjson.loads(_decode(signed.partition(".")[2]))
        except ValueError:
            return None
        if len(signature) != 2 * _COORDINATE_BYTES:
            return None
        r, s = signature[:_COORDINATE_BYTES], signature[_COORDINATE_BYTES:]
        pair = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
        try:
            self._public.verify(pair, signed.encode(), _ALGORITHM)
        except InvalidSignature:
            return None
        # Whatever this key has signed was made by `issue`, so that nothing else needs to be checked.
        found: Mapping[str, Any] = claims
        return found

    def _is_current(self, private: Mapping[str, Any]) -> bool:
        """Whether everything that the token names is still the same."""
        namespace = private["namespace"]
        named = [("serviceaccounts", private["serviceaccount"])]
        # Of a pod's node only the name is told.
        bound = ("pod",) if "pod" in private else ("secret", "node")
        named += [(_BOUND[kind], private[kind]) for kind in bound if kind in private]
        return all(self._lives(resource, namespace, claim) for resource, claim in named)

    def _lives(self, resource: str, namespace: str, claim: Mapping[str, str]) -> bool:
        try:
            found = self._registry.get(resource, claim["name"], "" if resource == "nodes" else namespace)
        except NotFound:
            return False
        if found.uid != claim["uid"]:
            return False
        deleted = found.thaw()["metadata"].get("deletionTimestamp")
        return deleted is None or self._clock.now_ns() <= parse_time(deleted) + _DELETION_LEEWAY_NS


def _user(claims: Mapping[str, Any]) -> UserInfo:
    private = claims[_PRIVATE]
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
    for kind in ("pod", "node"):
        for member, value in private.get(kind, {}).items():
            extra[f"authentication.kubernetes.io/{kind}-{member}"] = (value,)
    groups = (GROUP, f"{GROUP}:{private['namespace']}", ALL_AUTHENTICATED)
    return UserInfo(claims["sub"], private["serviceaccount"]["uid"], groups, extra)


def _encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
