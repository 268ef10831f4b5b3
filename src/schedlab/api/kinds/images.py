"""Image names, as far as the default of a pull policy asks: which tag does a reference mean?

Mirrors: pkg/util/parsers/parsers.go and github.com/distribution/reference (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_COMPONENT: Final = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_PATH: Final = f"{_COMPONENT}(?:/{_COMPONENT})*"
_LABEL: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])"
_DOMAIN: Final = f"{_HOST}(?::[0-9]+)?"
_DIGEST: Final = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PATH})(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?", re.ASCII
)
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")
_NAME_LENGTH_MAX: Final = 255
#: Hexadecimal digits of the digests that are known.
_DIGEST_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """Return when to pull an image whose container does not say: always if it means the newest."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"


def tag_of(image: str) -> str:
    """Return the tag of a reference, `latest` if it names neither tag nor digest, "" if it is no reference."""
    if _IDENTIFIER.fullmatch(image):
        return ""
    found = _REFERENCE.fullmatch(image)
    if found is None or len(found["name"]) > _NAME_LENGTH_MAX or not _is_digest(found["digest"]):
        return ""
    if found["tag"] is None and found["digest"] is None:
        return "latest"
    return found["tag"] or ""


def _is_digest(digest: str | None) -> bool:
    if digest is None:
        return True
    algorithm, _, digits = digest.partition(":")
    return len(digits) == _DIGEST_DIGITS.get(algorithm) and digits == digits.lower()
