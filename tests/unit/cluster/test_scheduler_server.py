"""What a scheduler serves of itself: to whom, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from schedlab.apiserver.app import APIServer
from schedlab.apiserver.authentication import Authenticator, UserInfo
from schedlab.apiserver.policy.bootstrap import bootstrap_access
from schedlab.cluster.cluster import Cluster, ClusterSettings
from schedlab.cluster.driver import BatchDriver
from schedlab.cluster.scheduler_access import OwnAccess
from schedlab.cluster.scheduler_server import SchedulerServer, checks_of
from schedlab.kernel.clock import SECOND_NS, VirtualClock
from schedlab.kernel.randomness import SeededRandom

ADMINISTRATOR = UserInfo("admin", "admin-uid", ("system:masters",))
MONITOR = UserInfo("prometheus")


class Served:
    """A cluster with one pod, and its scheduler's server."""

    def __init__(self, **options: Any) -> None:
        clock = VirtualClock()
        self.cluster = Cluster(clock, SeededRandom(1), ClusterSettings(nodes=2, counts=True))
        self.cluster.start()
        bootstrap_access(self.cluster.registry)
        server = APIServer(self.cluster.registry, clock, Authenticator({"secret": ADMINISTRATOR, "reader": MONITOR}))
        assert self.cluster.scheduler_metrics is not None
        checks = options.pop("checks", None) or checks_of(lambda: "")
        access = OwnAccess(server)
        self.app = SchedulerServer(
            lambda: self.cluster.scheduler, self.cluster.scheduler_metrics, access, checks, **options
        )
        self._create_pod()
        BatchDriver(self.cluster.engine, clock).run_for(5 * SECOND_NS)

    def _create_pod(self) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}
        pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": [container]}}
        self.cluster.registry.create("pods", self.cluster.registry.decode("pods", pod), "default")

    def get(self, path: str, token: str = "secret", query: str = "", method: str = "GET") -> tuple[int, str]:
        """Return status and body."""
        sent: list[Mapping[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            raise AssertionError("there is no body")

        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
        asyncio.run(self.app(scope, receive, send))
        return sent[0]["status"], sent[1]["body"].decode()


@pytest.fixture(scope="module")
def served() -> Served:
    return Served()


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_health_is_open_to_everybody(served: Served, path: str) -> None:
    assert served.get(path, token="") == (200, "ok")


def test_checks_are_told_one_by_one(served: Served) -> None:
    assert served.get("/readyz", query="verbose") == (
        200,
        "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
    )
    assert served.get("/readyz/sched-handler-sync") == (200, "ok")
    assert served.get("/healthz/ping", token="")[0] == 403


def test_metrics_are_in_prometheus_text_form(served: Served) -> None:
    status, text = served.get("/metrics")

    assert status == 200
    assert "# TYPE scheduler_schedule_attempts_total counter\n" in text
    assert 'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1\n' in text
    assert 'scheduler_pending_pods{queue="active"} 0\n' in text
    assert 'scheduler_framework_extension_point_duration_seconds_bucket{extension_point="Bind",' in text


def test_resources_of_pods_are_served(served: Served) -> None:
    _, text = served.get("/metrics/resources")
    pod = served.cluster.informers.lister("pods").get("p", "default")
    assert pod is not None

    node = pod.spec.node_name
    start = f'namespace="default",pod="p",node="{node}",scheduler="default-scheduler",priority="0"'
    assert f'kube_pod_resource_request{{{start},resource="cpu",unit="cores"}} 0.5\n' in text
    assert f'kube_pod_resource_limit{{{start},resource="cpu",unit="cores"}} 1\n' in text


def test_who_does_not_lead_tells_of_no_resources() -> None:
    assert Served(leads=lambda: False).get("/metrics/resources") == (200, "")


def test_configz_shows_the_configuration_with_gos_names(served: Served) -> None:
    config = orjson.loads(served.get("/configz")[1])["componentconfig"]

    assert config["Parallelism"] == 16
    assert config["LeaderElection"]["LeaseDuration"] == "15s"
    assert config["ClientConnection"]["QPS"] == 50
    assert config["Extenders"] is None
    [profile] = config["Profiles"]
    assert profile["SchedulerName"] == "default-scheduler"
    assert {"Name": "PrioritySort", "Weight": 0} in profile["Plugins"]["MultiPoint"]["Enabled"]
    args = {each["Name"]: each["Args"] for each in profile["PluginConfig"]}
    assert args["NodeResourcesFit"]["ScoringStrategy"]["Type"] == "LeastAllocated"
    assert args["VolumeBinding"]["BindTimeoutSeconds"] == 600


@pytest.mark.parametrize(
    ("token", "status", "message"),
    [
        ("", 403, 'User "system:anonymous" cannot get path "/metrics"'),
        ("wrong", 401, "Unauthorized"),
        ("reader", 403, 'User "prometheus" cannot get path "/metrics"'),
    ],
)
def test_metrics_are_for_those_who_may_get_them(served: Served, token: str, status: int, message: str) -> None:
    found, body = served.get("/metrics", token=token)

    assert found == status
    assert message in orjson.loads(body)["message"]


def test_a_role_for_the_path_is_enough() -> None:
    served = Served()
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    subject = {"kind": "User", "name": "prometheus", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "ClusterRole", "name": "monitor", "apiGroup": "rbac.authorization.k8s.io"}
    for resource, body in (
        ("clusterroles.rbac.authorization.k8s.io", {"rules": rules}),
        ("clusterrolebindings.rbac.authorization.k8s.io", {"subjects": [subject], "roleRef": role}),
    ):
        registry = served.cluster.registry
        registry.create(resource, registry.decode(resource, {"metadata": {"name": "monitor"}, **body}))

    assert served.get("/metrics", token="reader")[0] == 200
    assert served.get("/configz", token="reader")[0] == 403


def test_other_paths_are_not_there(served: Served) -> None:
    assert served.get("/debug/pprof") == (404, "404 page not found\n")


def test_head_has_no_body(served: Served) -> None:
    assert served.get("/metrics", method="HEAD") == (200, "")


@pytest.mark.parametrize(
    ("synced", "election", "failing"),
    [
        (lambda: "handlers are not fully synchronized", None, {"readyz"}),
        (lambda: "", lambda: "failed election to renew leadership", {"healthz", "readyz"}),
    ],
)
def test_what_is_lacking_fails_the_right_endpoints(
    synced: Callable[[], str], election: Callable[[], str] | None, failing: set[str]
) -> None:
    served = Served(checks=checks_of(synced, election))

    assert {name for name in ("healthz", "livez", "readyz") if served.get(f"/{name}")[0] == 500} == failing
