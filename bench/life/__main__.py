"""`python -m bench.life [--scale N] [LOAD …]`: run loads, N times smaller, and print one line of JSON for each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

import uvloop

from bench.life.loads import GOALS, LOADS, Figures, Load
from schedlab import __version__


def main(program: str, description: str | None, loads: Mapping[str, Load], goals: Mapping[str, str]) -> int:
    """Run the named loads, or all."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("loads", nargs="*", metavar="LOAD", help=f"{', '.join(loads)}; all without one")
    parser.add_argument("--scale", type=int, default=1, help="make the loads so many times smaller")
    options = parser.parse_args()
    unknown = [name for name in options.loads if name not in loads]
    if unknown:
        sys.stderr.write(f"error: {unknown[0]!r} is no load\nhint: choose from {', '.join(loads)}\n")
        return 2
    for name in options.loads or loads:
        figures: Figures = uvloop.run(loads[name](options.scale))
        if options.scale == 1:
            figures["goal"] = goals[name]
        sys.stdout.write(json.dumps({"load": name, "version": __version__, **figures}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main("bench.life", __doc__, LOADS, GOALS))
