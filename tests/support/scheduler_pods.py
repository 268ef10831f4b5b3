"""A cluster with pods that are schedulers, as the Kubernetes documentation sets up a second one."""

from __future__ import annotations

from typing import Any

import yaml

from schedlab.apiserver.policy.bootstrap import bootstrap_access
from tests.support.clusters import Lab

CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "my-scheduler"}],
    "leaderElection": {"leaderElect": False},
}
COMMAND = ["/usr/local/bin/kube-scheduler", "--config=/etc/kubernetes/my-scheduler/my-scheduler-config.yaml"]


class SchedulerLab(Lab):
    """A cluster in which scheduler pods work, with what the Kubernetes documentation sets up for a second scheduler."""

    def __init__(self) -> None:
        super().__init__(nodes=3)
        bootstrap_access(self.registry)
        self.cluster.run_scheduler_pods()
        self.create("serviceaccounts", {"metadata": {"name": "my-scheduler"}}, "kube-system")
        self.configure(CONFIG)
        self.run()

    def grant(self) -> None:
        """Bind the two roles that a scheduler needs."""
        resource = "clusterrolebindings.rbac.authorization.k8s.io"
        for role in ("kube-scheduler", "volume-scheduler"):
            binding = {
                "metadata": {"name": f"my-scheduler-as-{role}"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"system:{role}"},
                "subjects": [{"kind": "ServiceAccount", "name": "my-scheduler", "namespace": "kube-system"}],
            }
            self.create(resource, binding)

    def configure(self, config: object, name: str = "my-scheduler-config") -> None:
        """Make the ConfigMap with the configuration."""
        text = config if isinstance(config, str) else yaml.safe_dump(config)
        self.create(
            "configmaps", {"metadata": {"name": name}, "data": {"my-scheduler-config.yaml": text}}, "kube-system"
        )

    def deploy(self, name: str = "my-scheduler", command: list[str] | None = None, **container: Any) -> None:
        """Create the scheduler's pod."""
        spec: dict[str, Any] = {
            "serviceAccountName": "my-scheduler",
            "containers": [
                {
                    "name": "kube-second-scheduler",
                    "image": "gcr.io/my-gcp-project/my-kube-scheduler:1.0",
                    "command": COMMAND if command is None else command,
                    "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/kubernetes/my-scheduler"}],
                    **container,
                }
            ],
            "volumes": [{"name": "config-volume", "configMap": {"name": "my-scheduler-config"}}],
        }
        self.create("pods", {"metadata": {"name": name}, "spec": spec}, "kube-system")

    def status(self, name: str = "my-scheduler") -> Any:
        """Return the status of the scheduler's container."""
        return self.registry.get("pods", name, "kube-system").raw["status"]["containerStatuses"][0]

    def log(self, name: str = "my-scheduler", *, previous: bool = False) -> list[str]:
        """Return the lines of the scheduler's log."""
        pod = self.registry.get("pods", name, "kube-system")
        return [line.text for line in self.cluster.logs.lines(pod, "kube-second-scheduler", previous=previous)]
