"""`schedlab test DIR`: run scenario files as tests of decisions, for people and for CI."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from schedlab.cli.junit import Case, junit_xml
from schedlab.cli.output_file import check_file, write_file
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.words import counted
from schedlab.scenario.decision_tests import Outcome, find_tests, run_test


def run_tests(
    *paths: Path,
    config: Annotated[
        Path | None, Parameter(help="A KubeSchedulerConfiguration to test, in place of those that the files name.")
    ] = None,
    junit: Annotated[Path | None, Parameter(help="File for the results as JUnit XML, which CI systems read.")] = None,
) -> int:
    """Run tests: exit code 0 when all hold, 1 when an assertion does not, 2 when a file cannot be used.

    Parameters
    ----------
    paths
        Scenario files, and folders with `test_*.yaml` or `*_test.yaml`; this folder if none is given.
    """
    check_file(junit, "--junit")
    cases = [_run(file, config) for file in find_tests(paths or (Path(),))]
    if junit is not None:
        write_file(junit, [junit_xml(cases)], "--junit")
    failed, mistaken = sum(bool(case.failures) for case in cases), sum(bool(case.mistake) for case in cases)
    words = [f"{count} {word}" for count, word in ((failed, "failed"), (mistaken, "cannot be used")) if count]
    print(", ".join([f"{len(cases) - failed - mistaken} of {counted(len(cases), 'test holds', 'tests hold')}", *words]))
    return 2 if mistaken else 1 if failed else 0


def _run(file: Path, config: Path | None) -> Case:
    """Run one test and tell what became of it; one that cannot be used does not keep the others from running."""
    began = time.perf_counter()
    try:
        outcome: Outcome = run_test(file, config)
    except SchedlabError as error:
        print(f"ERROR {file}")
        print(f"error: {error}", file=sys.stderr)
        return Case(str(file), time.perf_counter() - began, mistake=str(error))
    failures = tuple(
        "\n".join([f"{one.place}: {one.text}: {one.found}", *(f"  {answer}" for answer in one.answers)])
        for one in outcome.failures
    )
    print(f"{'FAIL ' if failures else 'ok   '} {file}  {counted(outcome.assertions, 'assertion')}")
    for failure in failures:
        print("\n".join(f"  {line}" for line in failure.splitlines()))
    return Case(str(file), time.perf_counter() - began, failures)
