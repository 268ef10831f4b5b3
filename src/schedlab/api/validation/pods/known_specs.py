"""Pod specs that were looked at before: pods mostly come from few templates, and what is said of equal specs is equal.

Only what nothing was found in is remembered, so that every finding is worded for its own pod.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

import orjson

from schedlab.api.rules.likeness import SUBDOMAIN
from schedlab.api.rules.templates import template_key
from schedlab.api.validation.pods.rules import PodRules, Spec
from schedlab.apimachinery.features import FeatureGates

_ENTRIES_MAX: Final = 16 * 1024
_BYTES_MAX: Final = 16 * 1024
_DIGEST_BYTES: Final = 16
#: A node that no rule tells from another: what it is called can also be the value of a label.
_NODE: Final = re.compile(rb'"nodeName":"(?=[^"]{1,63}")%b"' % SUBDOMAIN)

#: The rules that a spec was looked at by, and a digest of the spec.
_Key = tuple[FeatureGates, bool, bytes]


class KnownSpecs:
    """Specs in which one kind of look found nothing."""

    def __init__(self) -> None:
        self._known: dict[_Key, None] = {}

    def key(self, spec: Spec, rules: PodRules) -> _Key | None:
        """Return what a spec is remembered by, None when what is said of it depends on the pod's name, too."""
        encoded = template_key(orjson.dumps(spec))
        if len(encoded) > _BYTES_MAX or b'"ephemeral":' in encoded or spec.get("resourceClaims"):
            return None
        encoded = _NODE.sub(b'"nodeName"', encoded)
        return rules.features, rules.is_pod, hashlib.blake2b(encoded, digest_size=_DIGEST_BYTES).digest()

    def __contains__(self, key: _Key | None) -> bool:
        return key in self._known

    def add(self, key: _Key) -> None:
        """Remember a spec."""
        if len(self._known) >= _ENTRIES_MAX:
            self._known.clear()
        self._known[key] = None
