"""Where the referee's data is: beside the repository, or where the environment says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_SHARED: Final = Path(__file__).resolve().parents[3] / "shared"

#: Recorded decisions; SCHEDLAB_PARITY names another folder.
CORPUS: Final = Path(os.environ.get("SCHEDLAB_PARITY", _SHARED / "parity"))
#: Public bug reports as cases; SCHEDLAB_REPORTS names another folder.
REPORTS: Final = Path(os.environ.get("SCHEDLAB_REPORTS", _SHARED / "reports"))


def judge() -> Path:
    """Return the program that compares: the corpus's own, or the one beside the repository."""
    own = CORPUS / "compare.py"
    return own if own.is_file() else _SHARED / "parity" / "compare.py"
