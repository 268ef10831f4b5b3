"""Records as data that can be compared, however they were kept."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from schedlab.scheduler.framework.record import CycleRecord


def plain(value: Any) -> Any:
    """Return a record as comparable data; what keeps its texts known is none of it."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.tolist()
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__ if name != "texts"}
    if isinstance(value, dict):
        return [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)


def whole(record: CycleRecord) -> CycleRecord:
    """Put a record that was read back together: with and without sharing evaluations it is kept differently."""
    if record.score is not None:
        record.score.offsets = None
    verdicts = record.filter
    if verdicts is not None:
        every = verdicts.every_verdict()
        if every is not None:
            verdicts.full_code, verdicts.full_reason = every
        verdicts.changed_rows = verdicts.changed_code = verdicts.changed_reason = None
        verdicts.follows = False
    return record
