"""`python -m bench.api [LOAD …]`: run loads and print one line of JSON for each."""

from __future__ import annotations

import json
import sys

import uvloop

from bench.api.loads import LOADS
from schedlab import __version__


def main(arguments: list[str]) -> int:
    """Run the named loads, or all."""
    unknown = [name for name in arguments if name not in LOADS]
    if unknown:
        sys.stderr.write(f"error: {unknown[0]!r} is no load\nhint: choose from {', '.join(LOADS)}\n")
        return 2
    for name in arguments or LOADS:
        figures = uvloop.run(LOADS[name]())
        sys.stdout.write(json.dumps({"load": name, "version": __version__, **figures}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
