"""kill -9 of a recorder, and of a simulator that is being filled, in the middle of their work."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.processes import Control, pod, started, until
from tools.refresh_readme import simulator

PROGRAMS = Path(sys.executable).parent
PODS = "/api/v1/namespaces/default/pods"


def api(environment: dict[str, str]) -> httpx.Client:
    """Return a client of a cluster as its administrator."""
    home = Path(environment["SCHEDLAB_HOME"]) / "default"
    url = json.loads((home / "cluster.json").read_text())["apiserver"]
    context = ssl.create_default_context(cafile=str(home / "pki" / "ca.crt"))
    headers = {"Authorization": f"Bearer {(home / 'token').read_text()}"}
    return httpx.Client(base_url=url, headers=headers, verify=context, timeout=30)


def change(environment: dict[str, str], writer: int, stopped: threading.Event) -> None:
    """Create pods, change them and delete every other one, until it is enough."""
    number = 0
    with api(environment) as client:
        while not stopped.is_set():
            name = f"w{writer}-{number}"
            client.post(PODS, json=pod(name, cpu="1m")).raise_for_status()
            merge = {"Content-Type": "application/merge-patch+json"}
            labels = json.dumps({"metadata": {"labels": {"text": "x" * 60}}})
            client.patch(f"{PODS}/{name}", content=labels, headers=merge).raise_for_status()
            if number % 2:
                client.delete(f"{PODS}/{name}", params={"gracePeriodSeconds": "0"}).raise_for_status()
            number += 1


def seen(word: str, obj: dict[str, Any]) -> tuple[str, str, str]:
    """Return what of an event is in a record: of a deletion only the name."""
    metadata = obj["metadata"]
    return word, metadata["name"], "" if word == "Delete" else metadata["resourceVersion"]


def history(environment: dict[str, str], revision: str) -> list[tuple[str, str, str]]:
    """Return every event of pods since a revision, as a watch tells it."""
    words = {"ADDED": "Add", "MODIFIED": "Update", "DELETED": "Delete"}
    query = {"watch": "true", "resourceVersion": revision, "timeoutSeconds": "5"}
    with api(environment) as client, client.stream("GET", "/api/v1/pods", params=query) as answer:
        events = [json.loads(line) for line in answer.iter_lines()]
    return [seen(words[event["type"]], event["object"]) for event in events]


def test_a_killed_recorder_has_every_event_it_was_told(tmp_path: Path) -> None:
    """The file is what a watch has told up to a moment, without a hole; a half line at its end does not matter."""
    file = tmp_path / "record.jsonl"
    with simulator(PROGRAMS, "--nodes", "3") as there, simulator(PROGRAMS) as here:
        stopped = threading.Event()
        writers = [threading.Thread(target=change, args=(there, number, stopped)) for number in range(3)]
        command = ["schedlab", "record", "--path", str(file), "--kubeconfig", there["KUBECONFIG"]]
        with subprocess.Popen(command, env=there, stderr=subprocess.PIPE, text=True) as recorder:
            assert recorder.stderr is not None
            assert "recording" in recorder.stderr.readline()
            with api(there) as client:
                revision = client.get("/api/v1/pods").json()["metadata"]["resourceVersion"]
            for writer in writers:
                writer.start()
            until(lambda: file.read_bytes().count(b"\n") > 300, "many changes")
            before = file.read_bytes()
            recorder.kill()
        stopped.set()
        for writer in writers:
            writer.join()
        whole = file.read_bytes().rpartition(b"\n")[0]
        records = [json.loads(line) for line in whole.split(b"\n")]
        recorded = [seen(each["event"], each["resource"]) for each in records if each["resource"]["kind"] == "Pod"]
        told = history(there, revision)
        with file.open("ab") as record:
            record.write(whole.rpartition(b"\n")[2][:40])
        replayed = subprocess.run(
            ["schedlab", "replay", str(file)], env=here, capture_output=True, text=True, timeout=60, check=False
        )

    assert whole.startswith(before.rpartition(b"\n")[0])
    assert len(recorded) > 250
    assert recorded == told[: len(recorded)]
    assert len(told) > len(recorded), "changes went on"
    assert replayed.returncode == 0, replayed.stderr
    assert "was cut off and is left out" in replayed.stdout + replayed.stderr


@contextmanager
def kept(environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A simulator on a data folder, which is killed in the end."""
    command = ["schedlab", "up", "--port", "0", "--apiserver-port", "0", "--data-dir", str(folder / "data")]
    with started(command, environment) as process:
        yield process


def pods_of(environment: dict[str, str]) -> dict[str, str]:
    """Return the pods of the default namespace and their nodes."""
    with api(environment) as client:
        items = client.get(PODS).raise_for_status().json()["items"]
    return {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in items}


def test_an_import_into_a_killed_simulator_is_done_again(tmp_path: Path) -> None:
    """Every pod is there once. What a controller made between the two imports counts as a pod of its own."""
    with simulator(PROGRAMS, "--nodes", "6") as there:
        control = Control(there)
        control("create", "deployment", "web", "--image=i", "--replicas=20")
        with api(there) as client:
            for number in range(400):
                client.post(PODS, json=pod(f"p-{number}", cpu="1m")).raise_for_status()
        until(lambda: len(pods_of(there)) == 420 and all(pods_of(there).values()), "nodes for all pods")
        here = {**there, "SCHEDLAB_HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "default" / "kubeconfig")}
        command = ["schedlab", "import", "--kubeconfig", there["KUBECONFIG"]]
        with kept(here, tmp_path) as process:
            running = subprocess.Popen(command, env=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until(lambda: bool(pods_of(here)), "the first pod")
            process.kill()
            _, complaint = running.communicate(timeout=60)
        with kept(here, tmp_path):
            between = pods_of(here)
            again = subprocess.run(command, env=here, capture_output=True, text=True, timeout=90, check=False)
            with api(here) as client:
                client.post(PODS, json=pod("last", cpu="1m")).raise_for_status()
            until(lambda: bool(pods_of(here).get("last")), "a node for a new pod")
            until(lambda: len(pods_of(here)) == 421, "an end of the pods that are too many")
            found = {name: node for name, node in pods_of(here).items() if name.startswith("p-")}
        source = {name: node for name, node in pods_of(there).items() if name.startswith("p-")}

    assert running.returncode != 0
    assert "Traceback" not in complaint
    assert 0 < len(between) < 420
    assert again.returncode == 0, again.stdout + again.stderr
    assert found == source
