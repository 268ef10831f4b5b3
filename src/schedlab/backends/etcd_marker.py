"""The key that every write of schedlab writes, too: up to which revision etcd holds the cluster, and who wrote it.

A write that must follow another one compares the version of this key, so that a second writer, a repeated request and
a late one are noticed by etcd itself. In etcd's history it says where one write of schedlab ends.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import orjson

from schedlab.kernel.errors import SchedlabError

FORMAT_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Marker:
    """The cluster up to `revision` is there; `writer` names the process that wrote it."""

    revision: int
    writer: str
    format: int = FORMAT_VERSION

    def encode(self) -> bytes:
        return orjson.dumps(asdict(self))

    @classmethod
    def decode(cls, encoded: bytes, location: str) -> Marker:
        """Read a marker; raises SchedlabError when it is none, or one of a newer schedlab."""
        try:
            read = orjson.loads(encoded)
            made = cls(int(read["revision"]), str(read["writer"]), int(read["format"]))
        except (ValueError, TypeError, KeyError) as error:
            raise SchedlabError(
                "the key does not hold what schedlab writes there",
                location=location,
                hint="put a snapshot of etcd in place, or use another --etcd-prefix",
            ) from error
        if made.format > FORMAT_VERSION:
            raise SchedlabError(
                f"etcd holds format version {made.format}, this schedlab knows those up to {FORMAT_VERSION}",
                location=location,
                hint="use a newer schedlab, or another --etcd-prefix",
            )
        return made
