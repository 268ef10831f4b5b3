"""Rows as a data frame of the reader's choice. The libraries are optional: they are imported when one is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, Final, Literal, get_args

from schedlab.decisions.tables import Row, columns
from schedlab.kernel.errors import SchedlabError

#: What rows are made into: a pandas or polars DataFrame, or a list of dicts.
Frame = Literal["pandas", "polars", "rows"]
FRAMES: Final[tuple[Frame, ...]] = get_args(Frame)


def as_frame(rows: Iterable[Row], frame: Frame) -> Any:
    """Return rows, all with the same keys, as a frame; raises SchedlabError when its library is not installed."""
    if frame == "rows":
        return list(rows)
    library = library_of(frame)
    return library.DataFrame(columns(rows))


def library_of(frame: str) -> Any:
    """Return the library that makes such frames; raises SchedlabError."""
    if frame not in FRAMES or frame == "rows":
        raise SchedlabError(f"{frame!r} is no kind of frame", location="frame", hint=f"one of {', '.join(FRAMES)}")
    try:
        return import_module(frame)
    except ImportError as error:
        raise SchedlabError(
            f"{frame} is not installed",
            location=f"frame={frame!r}",
            hint=f"install it: pip install 'schedlab[{frame}]'; frame=\"rows\" needs nothing",
        ) from error
