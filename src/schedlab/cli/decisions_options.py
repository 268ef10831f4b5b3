"""How much of the decision log is kept, as options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from cyclopts import Parameter

from schedlab.apimachinery.quantity import QuantityError, parse
from schedlab.cli.options import read_seconds
from schedlab.kernel.errors import SchedlabError


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class DecisionsOptions:
    """Limits of the decision log."""

    decisions_size: Annotated[
        str, Parameter(help="How much the decision log may hold in memory, and in its file in the data folder.")
    ] = "512Mi"
    decisions_age: Annotated[str, Parameter(help="How long decisions are kept; 0 is for ever.")] = "0"

    def read_bytes(self) -> int:
        """Return the limit in bytes; raises SchedlabError."""
        try:
            size = parse(self.decisions_size).value()
        except QuantityError as error:
            raise SchedlabError(
                f"{self.decisions_size!r} is no size",
                location="--decisions-size",
                hint="write a size like 512Mi or 2Gi",
            ) from error
        if size < 1:
            raise SchedlabError(
                f"{self.decisions_size} keeps nothing",
                location="--decisions-size",
                hint="write a size like 512Mi or 2Gi",
            )
        return size

    def read_age_s(self) -> int:
        """Return the greatest age in seconds, 0 for none; raises SchedlabError."""
        return read_seconds(self.decisions_age, "--decisions-age")


DECISIONS_DEFAULTS: Final = DecisionsOptions()
