"""The pytest plugin, there for every project that has schedlab installed: fixtures `cluster`, `expect`, `run_scenario`.

    @pytest.mark.cluster(nodes=3)
    def test_web_is_placed(cluster, expect):
        expect(make_pod("web").req(cpu="1")).on(label="topology.kubernetes.io/zone=zone-a")

Loaded at the start of every run of pytest, so it imports what the fixtures need only when one is asked for.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from schedlab.laboratory import Cluster
    from schedlab.scenario.results import Run
    from schedlab.testing import Expect

    class RunScenario(Protocol):
        """What the fixture `run_scenario` is."""

        def __call__(self, file: str | Path, *, seed: int | None = None) -> Run: ...


_MARKER = (
    "cluster(*objects, files=(), **options): what the fixture `cluster` begins with; objects and options are those of "
    "schedlab.Cluster, files those of Cluster.from_files; paths are relative to the test's folder"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes golden files."""
    group = parser.getgroup("schedlab", "decisions of a simulated Kubernetes cluster")
    group.addoption(
        "--update-decisions",
        action="store_true",
        help="write what was decided into the golden files that expect(cluster).decisions(FILE) names",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a mistake in what a test gives its cluster as one message at a line of the test; --full-trace shows all."""
    from schedlab.kernel.errors import SchedlabError

    error = None if call.excinfo is None else call.excinfo.value
    names = getattr(item, "fixturenames", ())
    is_mistake = isinstance(error, SchedlabError) and ("cluster" in names or "expect" in names)
    if error is not None and is_mistake and not item.config.getoption("fulltrace"):
        error.__cause__, error.__suppress_context__ = None, True
        call.excinfo = pytest.ExceptionInfo.from_exception(error.with_traceback(_without_ours(error.__traceback__)))
    return (yield)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without frames of schedlab."""
    if traceback is None:
        return None
    rest = _without_ours(traceback.tb_next)
    if traceback.tb_frame.f_globals.get("__name__", "").startswith("schedlab."):
        return rest
    return TracebackType(rest, traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno)


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A simulated cluster on a virtual clock, as the marker `cluster` says it; empty without one."""
    from schedlab.laboratory import Cluster

    marker = request.node.get_closest_marker("cluster")
    objects, options = ((), {}) if marker is None else (marker.args, dict(marker.kwargs))
    files = options.pop("files", ())
    folder = request.path.parent
    if isinstance(options.get("config"), str | Path):
        options["config"] = folder / options["config"]
    if not files:
        return Cluster(*objects, **options)
    made = Cluster.from_files(
        *(folder / file for file in ([files] if isinstance(files, str | Path) else files)), **options
    )
    made.apply(*objects)
    return made


@pytest.fixture
def run_scenario(request: pytest.FixtureRequest) -> RunScenario:
    """Give what runs a scenario file, named relative to the test, with its own or another seed."""
    from schedlab.scenario.experiment import Experiment
    from schedlab.scenario.file import read_scenario

    folder = request.path.parent
    return lambda file, *, seed=None: Experiment(read_scenario(folder / file), seed=seed).run()


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Expect:
    """Expect something of a pod in the fixture `cluster`, or in a cluster that is given."""
    from schedlab.testing import Expect

    def of_the_test() -> Any:
        return request.getfixturevalue("cluster")

    return Expect(of_the_test, request.path.parent, update=request.config.getoption("update_decisions"))
