"""`python -m bench.life [--scale N] [LOAD …]`: run loads, N times smaller, and print one line of JSON for each."""

from __future__ import annotations

import argparse
import json
import sys

import uvloop

from bench.life.loads import GOALS, LOADS, Figures
from schedlab import __version__


def main() -> int:
    """Run the named loads, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench.life", description=__doc__)
    parser.add_argument("loads", nargs="*", metavar="LOAD", help=f"{', '.join(LOADS)}; all without one")
    parser.add_argument("--scale", type=int, default=1, help="make the loads so many times smaller")
    options = parser.parse_args()
    unknown = [name for name in options.loads if name not in LOADS]
    if unknown:
        sys.stderr.write(f"error: {unknown[0]!r} is no load\nhint: choose from {', '.join(LOADS)}\n")
        return 2
    for name in options.loads or LOADS:
        figures: Figures = uvloop.run(LOADS[name](options.scale))
        if options.scale == 1:
            figures["goal"] = GOALS[name]
        sys.stdout.write(json.dumps({"load": name, "version": __version__, **figures}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
