"""The certificates of a cluster: a CA, the serving certificate it signed and the administrator's client certificate.

    FOLDER/ca.crt, ca.key             ten years; signs the other two
    FOLDER/apiserver.crt, .key        one year; every name a client may call this server by
    FOLDER/admin.crt, .key            one year; user `admin` of the group `system:masters`
    FOLDER/sa.key                     signs the tokens of service accounts

Files are made on first use and used again while they are valid; whoever runs as another user cannot read the keys.

Mirrors: what `kubeadm init phase certs` leaves behind (v1.36). Differs: ECDSA P-256 keys, no front proxy, no etcd.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from schedlab.kernel.errors import SchedlabError

#: Every name and address by which a client on this machine, or one that believes to be in the cluster, calls us.
SERVING_NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
    "10.96.0.1",
)
ADMIN_USER: Final = "admin"
ADMIN_GROUP: Final = "system:masters"

_CA_LIFETIME: Final = timedelta(days=3650)
_LEAF_LIFETIME: Final = timedelta(days=365)
#: A certificate is renewed when less than this is left.
_RENEWAL_MARGIN: Final = timedelta(days=30)
#: Clocks of clients may be a little behind.
_BACKDATE: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate file with the file of its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Certificates:
    """The three pairs of a cluster."""

    ca: Pair
    serving: Pair
    admin: Pair


def ensure_signing_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key in a folder that signs tokens, after making it if need be; raises SchedlabError."""
    file = folder / "sa.key"
    try:
        if file.exists():
            key = serialization.load_pem_private_key(file.read_bytes(), password=None)
            if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
                return key
            raise ValueError("it is no ECDSA P-256 key")  # noqa: TRY301 - read with everything else that can be wrong
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = ec.generate_private_key(ec.SECP256R1())
        write_private(file, _encode_key(made))
    except (OSError, ValueError) as error:
        raise SchedlabError(
            f"the key for tokens of service accounts cannot be read or made: {error}",
            location=str(file),
            hint="remove the file so that a new key is made; tokens that were given out are not good any more then",
        ) from error
    return made


def ensure_certificates(folder: Path, now: datetime, names: Sequence[str] = SERVING_NAMES) -> Certificates:
    """Return the certificates in a folder, after making those that are missing, expired or too narrow.

    `names` are the DNS names and addresses of the server. Raises SchedlabError when the folder cannot be used.
    """
    found = Certificates(_pair(folder, "ca"), _pair(folder, "apiserver"), _pair(folder, "admin"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _authority(found.ca, now)
        if not _usable(found.serving, authority, now, names):
            _issue(found.serving, authority, now, _serving_subject(names))
        if not _usable(found.admin, authority, now):
            _issue(found.admin, authority, now, _admin_subject())
    except (OSError, ValueError) as error:
        raise SchedlabError(
            f"the certificates cannot be read or made: {error}",
            location=str(folder),
            hint="make the folder writable, or remove it so that new certificates are made",
        ) from error
    return found


@dataclass(frozen=True, slots=True)
class _Authority:
    """A CA that can sign."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class _Subject:
    """Whom a leaf certificate is for."""

    name: x509.Name
    usage: x509.ObjectIdentifier
    alternatives: x509.SubjectAlternativeName | None = None


def _pair(folder: Path, name: str) -> Pair:
    return Pair(folder / f"{name}.crt", folder / f"{name}.key")


def _authority(pair: Pair, now: datetime) -> _Authority:
    if pair.certificate.exists() and pair.key.exists():
        certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
        if isinstance(key, ec.EllipticCurvePrivateKey) and _covers(certificate, now):
            return _Authority(certificate, key)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "schedlab-ca")])
    builder = (
        _builder(name, name, key.public_key(), now, _CA_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    certificate = builder.sign(key, hashes.SHA256())
    _write_pair(pair, certificate, key)
    return _Authority(certificate, key)


def _covers(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc - _RENEWAL_MARGIN


def _usable(pair: Pair, authority: _Authority, now: datetime, names: Iterable[str] = ()) -> bool:
    """Whether a leaf is there, was signed by this CA, lasts a while and has all the names."""
    if not (pair.certificate.exists() and pair.key.exists()):
        return False
    certificate = x509.load_pem_x509_certificate(pair.certificate.read_bytes())
    key = serialization.load_pem_private_key(pair.key.read_bytes(), password=None)
    if not _covers(certificate, now) or certificate.issuer != authority.certificate.subject:
        return False
    if key.public_key() != certificate.public_key() or not _signed_by(certificate, authority):
        return False
    return set(names) <= _names_of(certificate)


def _signed_by(certificate: x509.Certificate, authority: _Authority) -> bool:
    """Whether this very CA signed it: another CA of ours has the same name."""
    own = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    expected = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return own.key_identifier == expected.key_identifier


def _names_of(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*found.get_values_for_type(x509.DNSName), *map(str, found.get_values_for_type(x509.IPAddress))}


def _issue(pair: Pair, authority: _Authority, now: datetime, subject: _Subject) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate.subject
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = (
        _builder(subject.name, issuer, key.public_key(), now, _LEAF_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([subject.usage]), critical=False)
        .add_extension(identifier, critical=False)
    )
    if subject.alternatives is not None:
        builder = builder.add_extension(subject.alternatives, critical=False)
    _write_pair(pair, builder.sign(authority.key, hashes.SHA256()), key)


def _serving_subject(names: Iterable[str]) -> _Subject:
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    common_name = x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")
    return _Subject(x509.Name([common_name]), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)


def _admin_subject() -> _Subject:
    group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, ADMIN_GROUP)
    user = x509.NameAttribute(NameOID.COMMON_NAME, ADMIN_USER)
    return _Subject(x509.Name([group, user]), ExtendedKeyUsageOID.CLIENT_AUTH)


def _general_name(name: str) -> x509.GeneralName:
    try:
        address: IPv4Address | IPv6Address = ip_address(name)
    except ValueError:
        return x509.DNSName(name)
    return x509.IPAddress(address)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write_pair(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    """Write the key before the certificate, so that a certificate is never there without its key."""
    write_private(pair.key, _encode_key(key))
    write_private(pair.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _encode_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    partial.replace(file)
