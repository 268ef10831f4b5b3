"""Workers as actors of a Ray cluster; needs the extra `ray`.

What runs need travels with the work: the machines need schedlab of the same version, and none of the files.
"""

from __future__ import annotations

import atexit
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from schedlab import __version__
from schedlab.cluster.memory import calm_garbage_collector
from schedlab.kernel.errors import SchedlabError
from schedlab.scenario.sweeps.inputs import Bundle, unpack
from schedlab.scenario.sweeps.task import Task, run_task
from schedlab.scenario.workers.crew import Result, WorkerLostError, attempt

# Read when Ray is imported: a simulator reports to nobody.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
try:
    import ray
    from ray.exceptions import RayActorError, RayError
except ImportError as error:
    raise SchedlabError(
        "ray is not installed", location="--engine ray", hint="install it: pip install 'schedlab[ray]'"
    ) from error

#: Of a Ray that is started for one sweep; runs come and go as small values.
_OBJECT_STORE_BYTES: Final = 100 * 1024 * 1024


class BundledWork:
    """Runs of a scenario whose files come along; they are laid down when the first run is made."""

    def __init__(self, home: str, scenario: str, bundle: Bundle) -> None:
        """Take the scenario's file name, the folder in which it lies and the files that it needs, from one root."""
        self._home, self._scenario, self._bundle = home, scenario, bundle

    @cached_property
    def _file(self) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="schedlab-")
        atexit.register(folder.cleanup)
        unpack(self._bundle, Path(folder.name))
        home = Path(folder.name) / self._home
        home.mkdir(parents=True, exist_ok=True)
        return home / self._scenario

    def __call__(self, task: Task) -> Mapping[str, Any]:
        """Make a run."""
        return run_task(self._file, task)


class _Actor:
    """Lives in a process of Ray."""

    def __init__(self, work: BundledWork) -> None:
        self._work = work

    def begin(self) -> str:
        calm_garbage_collector()
        return __version__

    def run(self, task: Task) -> Result:
        return attempt(self._work, task)


class RayWorker:
    """One actor; `answer` is what it is waited for."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self.answer = actor.begin.remote()
        self._has_begun = False

    def send(self, task: Task) -> None:
        """See Worker."""
        self.answer = self._actor.run.remote(task)

    def receive(self) -> Result | None:
        """See Worker; raises SchedlabError when its machine has another version of schedlab."""
        try:
            found = ray.get(self.answer)
        except RayActorError as error:
            raise WorkerLostError(f"its worker died: {_first_line(error)}") from error
        except RayError as error:
            raise WorkerLostError(_first_line(error)) from error
        if self._has_begun:
            result: Result = found
            return result
        self._has_begun = True
        if found != __version__:
            raise SchedlabError(
                f"a machine has schedlab {found}, this one {__version__}",
                location="--ray-address",
                hint="install the same version on all of them",
            )
        return None

    def stop(self) -> None:
        """See Worker."""
        ray.kill(self._actor)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


class RayEngine:
    """Makes actors on a Ray cluster, one processor each."""

    def __init__(self, work: BundledWork) -> None:
        self._work = ray.put(work)
        self._make = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)

    def start(self) -> RayWorker:
        """See Engine."""
        return RayWorker(self._make.remote(self._work))

    def wait(self, workers: Sequence[RayWorker], timeout_s: float | None) -> list[RayWorker]:
        """See Engine."""
        by_answer = {worker.answer: worker for worker in workers}
        ready, _ = ray.wait([*by_answer], num_returns=1, timeout=timeout_s)
        return [by_answer[answer] for answer in ready]


@contextmanager
def connected(address: str, workers: int) -> Iterator[int]:
    """Connect to a Ray cluster, or start one on this machine for `workers`; gives how many workers it has room for."""
    own = not address
    try:
        ray.init(
            address or "local",
            num_cpus=workers if own else None,
            include_dashboard=False if own else None,
            object_store_memory=_OBJECT_STORE_BYTES if own else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SchedlabError(
            f"cannot be reached: {_first_line(error)}",
            location=f"--ray-address {address}".strip(),
            hint="name the address of a running cluster, like 10.0.0.1:6379, ray://10.0.0.1:10001 or auto",
        ) from error
    try:
        resources: Mapping[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        yield max(1, int(resources.get("CPU", 1)))
    finally:
        ray.shutdown()
