"""The certificates of a cluster are made once, renewed in time, and readable by their owner only."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from schedlab.apiserver.certificates import SERVING_NAMES, ensure_certificates
from schedlab.kernel.errors import SchedlabError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_files_are_private_and_used_again(tmp_path: Path) -> None:
    """A second start finds what the first one made."""
    first = ensure_certificates(tmp_path / "pki", NOW)
    contents = {path: path.read_bytes() for path in (tmp_path / "pki").iterdir()}

    assert ensure_certificates(tmp_path / "pki", NOW) == first
    assert {path: path.read_bytes() for path in (tmp_path / "pki").iterdir()} == contents
    assert {path.stat().st_mode & 0o777 for path in contents} == {0o600}
    assert len(contents) == 6


def test_leaves_are_signed_by_the_ca(tmp_path: Path) -> None:
    """TLS accepts both leaves; the administrator's says who it is."""
    found = ensure_certificates(tmp_path, NOW)
    ca = load(found.ca.certificate)

    for pair in (found.serving, found.admin):
        load(pair.certificate).verify_directly_issued_by(ca)
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(pair.certificate, pair.key)
    subject = load(found.admin.certificate).subject
    names = [subject.get_attributes_for_oid(oid)[0].value for oid in (NameOID.ORGANIZATION_NAME, NameOID.COMMON_NAME)]
    assert names == ["system:masters", "admin"]


def test_serving_certificate_has_every_name(tmp_path: Path) -> None:
    """A server that is also called something else gets a certificate that says so."""
    first = ensure_certificates(tmp_path, NOW)
    serial = load(first.serving.certificate).serial_number
    second = ensure_certificates(tmp_path, NOW, (*SERVING_NAMES, "example.com", "192.0.2.1"))

    extension = load(second.serving.certificate).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert load(second.serving.certificate).serial_number != serial
    assert {"localhost", "example.com", "kubernetes.default.svc"} <= set(extension.get_values_for_type(x509.DNSName))
    assert {"127.0.0.1", "::1", "192.0.2.1"} <= set(map(str, extension.get_values_for_type(x509.IPAddress)))


def test_leaves_are_renewed_before_they_expire(tmp_path: Path) -> None:
    """A month before its end a leaf is made anew; the CA stays."""
    first = ensure_certificates(tmp_path, NOW)
    before = {pair.certificate: pair.certificate.read_bytes() for pair in (first.ca, first.serving, first.admin)}

    ensure_certificates(tmp_path, NOW + timedelta(days=340))

    changed = {path for path, content in before.items() if path.read_bytes() != content}
    assert changed == {first.serving.certificate, first.admin.certificate}


def test_leaves_of_another_ca_are_replaced(tmp_path: Path) -> None:
    """When the CA is gone, what it signed is of no use."""
    first = ensure_certificates(tmp_path, NOW)
    first.ca.certificate.unlink()

    second = ensure_certificates(tmp_path, NOW)

    load(second.serving.certificate).verify_directly_issued_by(load(second.ca.certificate))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    """What cannot be read is no reason to start with other keys; the message says where and what to do."""
    found = ensure_certificates(tmp_path, NOW)
    found.ca.certificate.write_text("nonsense")

    with pytest.raises(SchedlabError) as caught:
        ensure_certificates(tmp_path, NOW)

    assert str(tmp_path) in str(caught.value)
    assert "hint: " in str(caught.value)
