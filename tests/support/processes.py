"""kubectl and schedulers as processes of their own, for tests over TCP."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import yaml

from tools.refresh_readme import ROOT

#: How long anything may take on a machine that has much else to do.
WAIT_S = 60
SCHEDULER = (sys.executable, "-m", "schedlab", "scheduler")


@contextmanager
def started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Start a simulator, wait until it answers, and kill it in the end if it is still there."""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the simulator did not start"
            yield process
        finally:
            process.kill()


class Control:
    """kubectl as the administrator."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment

    def __call__(self, *arguments: str, given: object = None) -> str:
        text = None if given is None else yaml.safe_dump_all(given if isinstance(given, list) else [given])
        done = subprocess.run(
            ["kubectl", *arguments], env=self.environment, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, *arguments: str) -> Any:
        return json.loads(self("get", *arguments, "-o", "json"))

    def apply(self, *objects: object) -> None:
        self("apply", "-f", "-", given=list(objects))

    def pods(self) -> dict[str, dict[str, Any]]:
        return {pod["metadata"]["name"]: pod for pod in self.get("pods")["items"]}

    def bound(self) -> set[str]:
        return {name for name, pod in self.pods().items() if pod["spec"].get("nodeName")}

    def account(self, file: Path) -> Path:
        """Make the account of a scheduler with the two roles it needs, and a kubeconfig for it."""
        self("create", "serviceaccount", "my-scheduler", "-n", "kube-system")
        for role in ("kube-scheduler", "volume-scheduler"):
            binding = ("--clusterrole", f"system:{role}", "--serviceaccount", "kube-system:my-scheduler")
            self("create", "clusterrolebinding", f"my-{role}", *binding)
        config = yaml.safe_load(Path(self.environment["KUBECONFIG"]).read_text())
        token = self("create", "token", "my-scheduler", "-n", "kube-system").strip()
        config["users"][0]["user"] = {"token": token}
        file.write_text(yaml.safe_dump(config))
        return file


class Copy:
    """One scheduler process."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str], *options: str) -> None:
        self.name = name
        self._file = folder / f"{name}.log"
        command = [*SCHEDULER, "--name", name, *options]
        with self._file.open("w") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env=dict(environment), stderr=log)

    def __enter__(self) -> Self:
        until(lambda: self.process.poll() is not None or "Starting Kubernetes Scheduler" in self.log(), self.name)
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def log(self) -> str:
        return self._file.read_text()


def until(holds: Callable[[], bool], what: str, seconds: float = WAIT_S) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.1)


def pod(name: str, cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{**container, **spec.pop("container", {})}], **spec},
    }
