"""Writes the cases as a corpus of one family: `python -m tests.parity.written FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.parity import families, written


def main() -> int:
    """Write the file."""
    if len(sys.argv) != 2:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    families.write(folder / "written.jsonl.gz", written.cases())
    return 0


if __name__ == "__main__":
    sys.exit(main())
