"""Checks of certificates and of requests for them.

Mirrors: pkg/apis/certificates/{helpers.go,validation/validation.go} (v1.36)
Differs: what is wrong inside a certificate or a request is said in other words.
"""

from __future__ import annotations

from schedlab.apimachinery import pem
from schedlab.apimachinery.gojson import quote


def request_problem(text: bytes) -> str:
    """Say what is wrong with a request for a certificate, or nothing."""
    # Loading this package takes long, and few clusters ever see such a request.
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm

    block = next(pem.blocks(text), None)
    if block is None or block.type != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        sound = x509.load_der_x509_csr(block.data).is_signature_valid
    except (ValueError, UnsupportedAlgorithm) as error:
        return f"x509: {error}"
    return "" if sound else "x509: signature verification failure"


def certificates_problem(text: bytes) -> str:
    """Say what is wrong with issued certificates, or nothing."""
    from cryptography import x509

    if not text:
        return ""
    found = list(pem.blocks(text))
    for block in found:
        if block.type != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quote(block.type)}"
        if block.headers:
            return "no PEM block headers are permitted"
        if not block.data:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.data)
        except ValueError as error:
            return f"x509: {error}"
    return "" if found else "must contain at least one CERTIFICATE PEM block"


def bundle_problem(text: bytes) -> str:
    """Say why a text holds no trusted certificates, or nothing."""
    from cryptography import x509

    found = [block for block in pem.blocks(text) if block.type == "CERTIFICATE" and not block.headers]
    for block in found:
        try:
            x509.load_der_x509_certificate(block.data)
        except ValueError as error:
            return f"x509: {error}"
    return "" if found else "data does not contain any valid RSA or ECDSA certificates"
