"""Which containers run kube-scheduler, and what their arguments say."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.cluster.scheduler_pods.command import FlagError, arguments, parse


@pytest.mark.parametrize(
    ("container", "found"),
    [
        ({"image": "registry.k8s.io/kube-scheduler:v1.36.0"}, []),
        ({"image": "registry.k8s.io/kube-scheduler@sha256:abc", "args": ["-v=4"]}, ["-v=4"]),
        ({"image": "localhost:5000/my-kube-scheduler"}, []),
        ({"image": "nginx", "command": ["kube-scheduler", "--config=a"]}, ["--config=a"]),
        ({"image": "nginx", "command": ["/usr/local/bin/kube-scheduler"], "args": ["--v", "2"]}, ["--v", "2"]),
        ({"image": "x", "command": ["/bin/sh", "-c", "exec kube-scheduler --config=/a b"]}, ["--config=/a", "b"]),
        (
            {"image": "kube-scheduler", "args": ["--config=$(FILE)"], "env": [{"name": "FILE", "value": "/a"}]},
            ["--config=/a"],
        ),
        ({"image": "nginx"}, None),
        ({"image": "kube-scheduler", "command": ["sleep", "1000"]}, None),
        ({"image": "kube-scheduler-simulator"}, None),
        ({"image": "x", "command": ["sh", "-c", "'"]}, None),
    ],
)
def test_a_container_runs_it_by_command_or_image(container: dict[str, Any], found: list[str] | None) -> None:
    assert arguments(container) == found


def test_flags_are_read_in_all_their_forms() -> None:
    command = parse(
        [
            "--config",
            "/a",
            "--leader-elect",
            "--leader-elect-lease-duration=5s",
            "-v4",
            "--secure-port=1",
            "--profiling",
        ]
    )

    assert (command.config, command.verbosity, command.secure_port) == ("/a", 4, 1)
    assert command.election == {"leaderElect": True, "leaseDuration": "5s"}


def test_the_command_of_kubeadms_static_pod_is_taken() -> None:
    words = ["--authentication-kubeconfig=/etc/kubernetes/scheduler.conf", "--bind-address=127.0.0.1"]
    words += ["--authorization-kubeconfig=/etc/kubernetes/scheduler.conf", "--authentication-tolerate-lookup-failure"]

    assert parse([*words, "--kubeconfig=/etc/kubernetes/scheduler.conf"]).kubeconfig == "/etc/kubernetes/scheduler.conf"


@pytest.mark.parametrize("words", [["-v", "3"], ["-v=3"], ["--v=3"], ["--v", "3"]])
def test_verbosity_has_a_short_form(words: list[str]) -> None:
    assert parse(words).verbosity == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--conf=/a"], "unknown flag: --conf"),
        (["--config"], "flag needs an argument: --config"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["start"], "does not take any arguments, got [start]"),
        (["-v=high"], 'invalid argument "high" for "--v" flag'),
    ],
)
def test_mistakes_are_told_as_kube_scheduler_tells_them(words: list[str], said: str) -> None:
    with pytest.raises(FlagError) as caught:
        parse(words)

    assert said in str(caught.value)
