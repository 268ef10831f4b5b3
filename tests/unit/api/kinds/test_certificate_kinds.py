"""Requests for certificates: who asked, what is wrong with them, and who may change what."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from schedlab.api.kinds.strategy import Context
from schedlab.api.object import Object
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.user import User
from tests.support.kinds import NOW, changed, create_errors, decoded, stored, strategy, update_errors

CSR = "certificatesigningrequests.certificates.k8s.io"


def pem_request() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a")])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


PEM = base64.b64encode(pem_request()).decode()


def request(**spec: Any) -> Object:
    known = {"request": PEM, "signerName": "example.com/a", "usages": ["client auth"]}
    return {"metadata": {"name": "x"}, "spec": {**known, **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        (
            {"request": base64.b64encode(b"-----BEGIN X-----\n-----END X-----\n").decode()},
            [
                (
                    'spec.request: Invalid value: "LS0tLS1CRUdJTiBYLS0tLS0KLS0tLS1FTkQgWC0tLS0tCg==": '
                    "PEM block type must be CERTIFICATE REQUEST"
                )
            ],
        ),
        ({"usages": []}, ["spec.usages: Required value"]),
        ({"usages": ["any", "any"]}, ['spec.usages[1]: Duplicate value: "any"']),
        ({"signerName": ""}, ["spec.signerName: Required value"]),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            [
                (
                    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not '
                    "allowed via this API version"
                )
            ],
        ),
        (
            {"expirationSeconds": 599},
            [
                (
                    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds "
                    "(10 minutes)"
                )
            ],
        ),
    ],
)
def test_requests_for_certificates(spec: Object, expected: list[str]) -> None:
    assert create_errors(CSR, request(**spec)) == expected


def test_a_broken_request_is_refused() -> None:
    assert create_errors(CSR, request(request=PEM[:-400]))[0].endswith("PEM block type must be CERTIFICATE REQUEST")


def test_a_request_says_who_asked_whatever_the_client_says() -> None:
    user = User("jane", ("a", "b"), "7", {"k": ("v",)})
    made = stored(CSR, request(username="root"), Context(FeatureGates.default(), NOW, user=user))
    spec = made["spec"]
    assert [spec[key] for key in ("username", "uid", "groups", "extra")] == ["jane", "7", ["a", "b"], {"k": ["v"]}]


def with_condition(kind: str, status: str = "True") -> Object:
    old = stored(CSR, request())
    return changed(old, "status.conditions", [{"type": kind, "status": status}])


@pytest.mark.parametrize(
    ("kind", "subresource", "expected"),
    [
        ("Approved", "approval", []),
        (
            "Approved",
            "status",
            ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
        ),
        ("Failed", "status", []),
    ],
)
def test_only_approval_approves(kind: str, subresource: str, expected: list[str]) -> None:
    assert update_errors(CSR, stored(CSR, request()), with_condition(kind), subresource) == expected


def test_a_decision_is_final() -> None:
    approved = with_condition("Approved")
    both = changed(approved, "status.conditions", [{"type": kind, "status": "True"} for kind in ("Approved", "Denied")])
    assert update_errors(CSR, approved, both, "approval") == [
        'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'
    ]
    assert update_errors(CSR, approved, changed(approved, "status.conditions", []), "approval") == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    assert update_errors(CSR, stored(CSR, request()), with_condition("Approved", "False"), "approval") == [
        'status.conditions[0].status: Unsupported value: "False": supported values: "True"'
    ]


def test_conditions_get_their_times() -> None:
    old, new = stored(CSR, request()), with_condition("Approved")
    within = Context(FeatureGates.default(), NOW)
    strategy(CSR).subresources["approval"].prepare(new, old, within)
    assert new["status"]["conditions"] == [
        {"type": "Approved", "status": "True", "lastUpdateTime": NOW, "lastTransitionTime": NOW}
    ]


def test_certificates_are_issued_once_and_must_be_certificates() -> None:
    old = stored(CSR, request())
    signed = changed(old, "status.certificate", base64.b64encode(b"no").decode())
    assert update_errors(CSR, old, signed, "status") == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'
    ]
    assert update_errors(CSR, signed, changed(signed, "status.certificate", PEM), "status") == [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    ]


def test_an_update_keeps_spec_and_status() -> None:
    old = stored(CSR, request())
    new = decoded(CSR, {**old, "spec": {}, "status": {"certificate": PEM}})
    strategy(CSR).update.prepare(new, old, Context(FeatureGates.default(), NOW))
    assert (new["spec"], new["status"]) == (old["spec"], old["status"])
