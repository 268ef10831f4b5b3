"""Speed, measured as kube-scheduler's own benchmark measures it: scheduler_perf files, runs, figures, profiles.

    cases = load(path)                                  test cases of a file, or `shipped()`
    figures = run(case, workload, options)              one run in this process, batch or live

Mirrors: test/integration/scheduler_perf (v1.36), file format and meaning of the operations.
Differs: in batch, time is virtual; what is measured is the time on this machine.
"""

from schedlab.scheduler_perf.config import TestCase, Workload, find_file, load, shipped
from schedlab.scheduler_perf.run import RunOptions, run

__all__ = ["RunOptions", "TestCase", "Workload", "find_file", "load", "run", "shipped"]
