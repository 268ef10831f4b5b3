"""Pods that run kube-scheduler are schedulers: with their configuration, their rights, their log, their failures."""

from __future__ import annotations

import pytest
import yaml

from schedlab.apimachinery.errors import BadRequest
from tests.support.scheduler_pods import COMMAND, CONFIG, SchedulerLab

AUTHENTICATION = "extension-apiserver-authentication"


def test_its_pods_are_scheduled_and_it_says_so() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.create_pod("usual")
    lab.run()

    assert lab.status()["ready"]
    assert lab.nodes_of_pods()["mine"]
    lines = [line for line in lab.log() if "Successfully bound" in line]
    assert len(lines) == 1
    assert 'pod="default/mine"' in lines[0]


def test_its_events_and_its_decisions_carry_its_name() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()

    (event,) = [one for one in lab.registry.list("events", "default").items if one.raw["reason"] == "Scheduled"]
    assert event.raw["reportingComponent"] == "my-scheduler"
    story = lab.cluster.log.find("default", "mine")
    assert story is not None
    assert story.attempts[0].cycle().profile == "my-scheduler"


def test_without_rights_it_says_what_a_real_one_would_and_waits() -> None:
    lab = SchedulerLab()
    lab.deploy(readinessProbe={"httpGet": {"path": "/readyz", "port": 10259, "scheme": "HTTPS"}})
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()
    user = "system:serviceaccount:kube-system:my-scheduler"
    refusal = f'User \\"{user}\\" cannot list resource \\"pods\\" in API group \\"\\" at the cluster scope'
    refused = [line for line in lab.log() if refusal in line]
    ready_before = lab.status()["ready"]
    lab.grant()
    lab.run(40)

    assert refused
    assert not ready_before
    assert lab.status()["ready"]
    assert lab.nodes_of_pods()["mine"]


def test_without_the_role_of_the_documentation_it_cannot_look_up_authentication_and_goes_on() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.run()
    poor = lab.log()
    binding = {
        "metadata": {"name": "my-scheduler-reads-authentication"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": f"{AUTHENTICATION}-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "my-scheduler", "namespace": "kube-system"}],
    }
    lab.create("rolebindings.rbac.authorization.k8s.io", binding, "kube-system")
    lab.deploy("rich")
    lab.run()

    user = 'User "system:serviceaccount:kube-system:my-scheduler"'
    refusal = f'configmaps "{AUTHENTICATION}" is forbidden: {user} cannot get resource "configmaps"'
    assert f"] Error looking up in-cluster authentication configuration: {refusal}" in poor[1]
    assert lab.status()["ready"]
    assert not any("authentication" in line for line in lab.log("rich"))


@pytest.mark.parametrize(
    ("config", "command", "said"),
    [
        ({**CONFIG, "parallelism": -1}, None, "parallelism: Invalid value: -1"),
        ({**CONFIG, "profile": []}, None, 'unknown field \\"profile\\"'),
        ({**CONFIG, "profiles": [{}, {}]}, None, "profiles[1].schedulerName: Required value"),
        ({**CONFIG, "profiles": 2 * [{"schedulerName": "default-scheduler"}]}, None, "profiles[1].schedulerName: Dup"),
        ("a: [", None, "my-scheduler-config.yaml"),
        (CONFIG, [*COMMAND, "--no-such-flag"], "Error: unknown flag: --no-such-flag"),
        (CONFIG, [COMMAND[0], "--config=/nowhere"], "open /nowhere: no such file or directory"),
        (CONFIG, [*COMMAND, "--leader-elect=perhaps"], 'invalid argument "perhaps" for "--leader-elect" flag'),
    ],
)
def test_what_is_wrong_makes_it_crash_with_the_reason_in_its_log(
    config: object, command: list[str] | None, said: str
) -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.registry.delete("configmaps", "my-scheduler-config", "kube-system")
    lab.configure(config)
    lab.deploy(command=command)
    lab.run(25)
    status = lab.status()

    assert any(said in line for line in lab.log()), lab.log()
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert status["restartCount"] >= 1


def test_a_mended_configuration_brings_it_up() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.registry.delete("configmaps", "my-scheduler-config", "kube-system")
    lab.configure("a: [")
    lab.deploy()
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run(25)
    mended = {"data": {"my-scheduler-config.yaml": yaml.safe_dump(CONFIG)}}
    lab.registry.patch("configmaps", "my-scheduler-config", "merge", mended, "kube-system")
    lab.run(60)

    assert lab.status()["ready"]
    assert lab.nodes_of_pods()["mine"]
    assert any("my-scheduler-config.yaml" in line for line in lab.log(previous=True))


def test_a_config_map_that_is_not_there_keeps_it_from_starting() -> None:
    lab = SchedulerLab()
    lab.registry.delete("configmaps", "my-scheduler-config", "kube-system")
    lab.deploy()
    lab.run(2)
    waiting = lab.status()["state"]["waiting"]["reason"]
    events = [one.raw["message"] for one in lab.registry.list("events", "kube-system").items]
    lab.configure(CONFIG)
    lab.run(20)

    assert waiting == "ContainerCreating"
    assert 'MountVolume.SetUp failed for volume "config-volume" : configmap "my-scheduler-config" not found' in events
    assert "running" in lab.status()["state"]


def test_a_probe_of_the_wrong_port_has_it_restarted() -> None:
    """The insecure port 10251 of old courses is no longer there."""
    lab = SchedulerLab()
    lab.grant()
    probe = {"httpGet": {"path": "/healthz", "port": 10251}, "initialDelaySeconds": 15}
    lab.deploy(livenessProbe=probe, readinessProbe={"httpGet": {"path": "/healthz", "port": 10251}})
    lab.run(120)
    events = [one.raw["message"] for one in lab.registry.list("events", "kube-system").items]

    assert lab.status()["restartCount"] >= 1
    assert not lab.status()["ready"]
    assert any("10251/healthz" in message and "connection refused" in message for message in events)


def test_probes_of_the_documentation_are_answered() -> None:
    lab = SchedulerLab()
    lab.grant()
    get = {"path": "/healthz", "port": 10259, "scheme": "HTTPS"}
    lab.deploy(livenessProbe={"httpGet": get, "initialDelaySeconds": 15}, readinessProbe={"httpGet": get})
    lab.run(200)

    assert lab.status()["ready"]
    assert lab.status()["restartCount"] == 0


def test_deleting_its_pod_stops_it() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.run()
    lab.registry.delete("pods", "my-scheduler", "kube-system")
    lab.run(40)
    parts = len(lab.cluster.engine.parts)
    lab.create_pod("late", schedulerName="my-scheduler")
    lab.run(40)

    assert lab.nodes_of_pods()["late"] == ""
    assert "my-scheduler" not in lab.names("pods")
    assert len(lab.cluster.engine.parts) == parts


def test_of_two_copies_one_leads_and_the_other_takes_over() -> None:
    lab = SchedulerLab()
    lab.grant()
    command = [*COMMAND, "--leader-elect=true", "--leader-elect-resource-name=my-scheduler"]
    lab.deploy("copy-1", command)
    lab.deploy("copy-2", command)
    # The roles of kube-scheduler name its own lease only, so the documentation adds this one.
    role = {
        "metadata": {"name": "my-lease"},
        "rules": [
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}
        ],
    }
    lab.create("clusterroles.rbac.authorization.k8s.io", role)
    binding = {
        "metadata": {"name": "my-lease"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "my-lease"},
        "subjects": [{"kind": "ServiceAccount", "name": "my-scheduler", "namespace": "kube-system"}],
    }
    lab.create("clusterrolebindings.rbac.authorization.k8s.io", binding)
    lab.run(30)
    leads = [name for name in ("copy-1", "copy-2") if any("acquired lease" in line for line in lab.log(name))]
    lab.registry.delete("pods", leads[0], "kube-system")
    lab.run(40)
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()

    assert len(leads) == 1
    assert lab.nodes_of_pods()["mine"]


def test_the_log_of_the_run_before_is_told_apart() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.run()
    pod = lab.registry.get("pods", "my-scheduler", "kube-system")

    with pytest.raises(BadRequest, match="previous terminated container"):
        lab.cluster.logs.lines(pod, "kube-second-scheduler", previous=True)
    assert lab.cluster.logs.is_open(pod, "kube-second-scheduler")


def test_scores_are_told_at_verbosity_ten() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy(command=[*COMMAND, "-v=10"])
    lab.create_pod("mine", schedulerName="my-scheduler")
    lab.run()

    assert any('"Plugin scored node for pod" pod="default/mine"' in line for line in lab.log())


def test_a_pod_of_an_unknown_scheduler_is_told_of_those_that_there_are() -> None:
    lab = SchedulerLab()
    lab.grant()
    lab.deploy()
    lab.create_pod("lost", schedulerName="nobody")
    lab.run()

    assert "default-scheduler, my-scheduler" in lab.cluster.explainer.untried("default", "lost")
