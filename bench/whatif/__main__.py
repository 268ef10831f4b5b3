"""`python -m bench.whatif [--load LOAD] [NODES [PODS]]`: what forks and searches cost, a line of JSON per load; times are of
the process.

    equal   pods of one size, five that wait
    mixed   pods that differ in all they ask for, one disruption budget per app, devices, ports, and a pod that waits for
            every kind of reason
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys

from bench.whatif.figures import print_figures
from bench.whatif.loads import LOADS, check
from schedlab.kernel.errors import SchedlabError


def main(arguments: list[str]) -> int:
    """Measure in a process per load, so that none pays for the memory of another, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.whatif", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("nodes", metavar="NODES", nargs="?", type=int, default=5_000)
    parser.add_argument("pods", metavar="PODS", nargs="?", type=int, default=50_000)
    parser.add_argument("--load", choices=LOADS, action="append", help="only this one; may be given more than once")
    options = parser.parse_args(arguments)
    try:
        check(options.nodes, options.pods)
    except SchedlabError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    spawn = multiprocessing.get_context("spawn")
    for name in options.load or LOADS:
        child = spawn.Process(target=print_figures, args=(name, options.nodes, options.pods))
        child.start()
        child.join()
        if child.exitcode:
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
