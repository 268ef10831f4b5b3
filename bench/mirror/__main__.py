"""`python -m bench.mirror [--scale N] [LOAD …]`: run loads, N times smaller, and print one line of JSON for each."""

from __future__ import annotations

from bench.life.__main__ import main
from bench.mirror.loads import GOALS, LOADS

if __name__ == "__main__":
    raise SystemExit(main("bench.mirror", __doc__, LOADS, GOALS))
