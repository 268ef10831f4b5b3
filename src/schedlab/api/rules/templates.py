"""Whether pods were made alike: what tells pods of one template apart in their encoded specs.

Mirrors: the volume that plugin/pkg/admission/serviceaccount/admission.go (v1.36) gives to every pod, whose name ends in
random characters.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN_VOLUME: Final = re.compile(rb'"kube-api-access-[0-9a-z]{5}"')
_PREFIX: Final = b'"kube-api-access-'


def template_key(encoded: bytes) -> bytes:
    """Return an encoded spec, or what holds one, without the name of the pod's token volume."""
    return _TOKEN_VOLUME.sub(b'"token"', encoded) if _PREFIX in encoded else encoded
