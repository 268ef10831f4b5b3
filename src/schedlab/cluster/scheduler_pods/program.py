"""One container that runs kube-scheduler: a scheduler instance per run, with the pod's files, account and log.

Mirrors: cmd/kube-scheduler/app/server.go, staging/src/k8s.io/component-base/cli/run.go (v1.36): what a run says when it
cannot begin.
Differs: what the program serves on its secure port can be probed, not asked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schedlab.api.object import StoredObject
from schedlab.apimachinery.errors import NotFound, StatusError
from schedlab.apimachinery.features import FeatureGates
from schedlab.apimachinery.yaml import YAMLError, load_document
from schedlab.apiserver.authentication import UserInfo
from schedlab.apiserver.authorization import Authorizer
from schedlab.client.node_servers import LogLine
from schedlab.cluster.account_client import AccountClient
from schedlab.cluster.driver import Engine
from schedlab.cluster.scheduler_instance import InstanceSettings, Process, Recording, SchedulerInstance
from schedlab.cluster.scheduler_pods.command import Command, FlagError, arguments, parse
from schedlab.cluster.scheduler_pods.files import ContainerFiles, Lookup, MissingFile, MissingVolume
from schedlab.decisions.log import DecisionLog
from schedlab.decisions.scheduler_log import klog_header
from schedlab.decisions.schedulers import KnownScheduler
from schedlab.decisions.spans import SpanLog
from schedlab.kernel.clock import Clock
from schedlab.kernel.errors import SchedlabError
from schedlab.kernel.randomness import RandomSource
from schedlab.registry import Registry
from schedlab.scheduler.config.types import API_VERSION, KIND

LINES_MAX: Final = 10_000
_ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_STATIC: Final = "/etc/kubernetes/"
_NO_ACCOUNT: Final = (
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
)
_AUTHENTICATION: Final = "extension-apiserver-authentication"
_NO_AUTHENTICATION: Final = (
    f"Unable to get configmap/{_AUTHENTICATION} in kube-system.  Usually fixed by 'kubectl create rolebinding -n "
    f"kube-system ROLEBINDING_NAME --role={_AUTHENTICATION}-reader --serviceaccount=YOUR_NS:YOUR_SA'"
)
_ANONYMOUS: Final = "This may treat all requests as anonymous."
_REQUIRE_AUTHENTICATION: Final = (
    "To require authentication configuration lookup to succeed, set --authentication-tolerate-lookup-failure=false"
)
_PROBED: Final = ("/healthz", "/livez", "/readyz")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What scheduler pods share with the cluster that they are in."""

    registry: Registry
    engine: Engine
    clock: Clock
    random: RandomSource
    features: FeatureGates
    authorizer: Authorizer
    decisions: DecisionLog
    spans: SpanLog


class _Failed(Exception):
    """The program ends before it has begun; the text is what it says last."""


class SchedulerProgram:
    """The program of one container (kubelet.life.program.Program)."""

    def __init__(
        self, around: Surroundings, pod: StoredObject, container: Mapping[str, Any], changed: Callable[[], None]
    ) -> None:
        self.exit_code: int | None = None
        self.exited_ns = 0
        self._around, self._pod, self._container, self._changed = around, pod, container, changed
        self._where = f"pod {pod.namespace}/{pod.name}"
        self._files = ContainerFiles(pod.raw["spec"], container, _lookup(around.registry, pod.namespace))
        self._command = Command()
        #: The scheduler of the present run.
        self.instance: SchedulerInstance | None = None
        self._runs = 0
        self.lines: deque[LogLine] = deque(maxlen=LINES_MAX)
        self.previous: deque[LogLine] | None = None

    @property
    def missing(self) -> str:
        """What cannot be mounted, in the kubelet's words."""
        try:
            self._files.check()
        except MissingVolume as error:
            return str(error)
        return ""

    def known(self) -> KnownScheduler:
        """Tell what it works for and how it is."""
        if self.instance is None:
            end = "it has not begun" if self.exit_code is None else f"exit code {self.exit_code}"
            return KnownScheduler((), self._where, "ended", end)
        return self.instance.known(self._where)

    # --- A run ---

    def start(self, now_ns: int) -> None:
        """Begin a run; what is wrong ends it at once, with its message in the log."""
        if self._runs:
            self.previous = self.lines
            self.lines = deque(maxlen=LINES_MAX)
        self._runs += 1
        self.exit_code = None
        try:
            self._begin()
        except FlagError as error:
            self._write(f"Error: {error}")
            self._exit(1, now_ns)
        except (_Failed, MissingFile, SchedlabError) as error:
            said = error.message if isinstance(error, SchedlabError) else str(error)
            self._write(f'{klog_header("E", now_ns, 1, "run.go:72")}"command failed" err={_quoted(said)}')
            self._exit(1, now_ns)

    def _begin(self) -> None:
        around, words = self._around, arguments(self._container)
        assert words is not None, "it is the program of this container"
        command = self._command = parse(words)
        raw = self._configuration(command)
        user = self._identity(command, raw)
        settings = InstanceSettings(
            scheduler_config=raw,
            feature_gates=FeatureGates.parse(command.feature_gates) if command.feature_gates else around.features,
            verbosity=command.verbosity,
        )
        random = around.random.split(f"{self._pod.uid}/{self._container['name']}/{self._runs}")
        process = Process(around.clock, random, self._pod.name, 1, self._write, self._ended)
        client = AccountClient(around.registry, around.authorizer, user, "kube-scheduler", around.clock)
        recording = Recording(around.decisions, self._where, (around.spans,))
        instance = SchedulerInstance(settings, client, around.engine, process, recording)
        self.instance = instance
        self._look_up_authentication(client)
        instance.start()

    def _look_up_authentication(self, client: AccountClient) -> None:
        """Say what kube-scheduler says that may not read how the API server tells clients apart; it goes on without."""
        try:
            client.get("configmaps", _AUTHENTICATION, "kube-system")
        except NotFound:
            return  # there is none here; the right to read it is what matters
        except StatusError as error:
            said = (
                ("requestheader_controller.go:204", _NO_AUTHENTICATION),
                ("authentication.go:397", f"Error looking up in-cluster authentication configuration: {error.message}"),
                ("authentication.go:398", f"Continuing without authentication configuration. {_ANONYMOUS}"),
                ("authentication.go:399", _REQUIRE_AUTHENTICATION),
            )
            for place, text in said:
                self._write(f"{klog_header('W', self._around.clock.now_ns(), 1, place)}{text}")

    def _configuration(self, command: Command) -> Mapping[str, Any] | None:
        raw: Mapping[str, Any] | None = None
        if command.config:
            try:
                document = load_document(self._files.read(command.config).decode())
            except (YAMLError, UnicodeDecodeError) as error:
                raise _Failed(f"{command.config}: {error}") from error
            if not isinstance(document.value, dict):
                raise _Failed("Object 'Kind' is missing")
            raw = document.value
        if not command.election:
            return raw
        head = {"apiVersion": API_VERSION, "kind": KIND}
        before = (raw or {}).get("leaderElection")
        election = {**(before if isinstance(before, dict) else {}), **command.election}
        return {**(raw or head), "leaderElection": election}

    def _identity(self, command: Command, raw: Mapping[str, Any] | None) -> UserInfo:
        """Return as whom the program speaks to the API server."""
        connection = (raw or {}).get("clientConnection")
        named = command.kubeconfig or (connection.get("kubeconfig") if isinstance(connection, dict) else "")
        if named:
            # Every node of a control plane has this file; it is for the user of kube-scheduler.
            if not str(named).startswith(_STATIC):
                self._files.read(str(named))
            return UserInfo("system:kube-scheduler", groups=("system:authenticated",))
        if not any(mount["mountPath"] == _ACCOUNT_FOLDER for mount in self._container.get("volumeMounts") or ()):
            raise _Failed(_NO_ACCOUNT)
        account = self._pod.raw["spec"].get("serviceAccountName") or "default"
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{self._pod.namespace}", "system:authenticated")
        return UserInfo(f"system:serviceaccount:{self._pod.namespace}:{account}", groups=groups)

    def stop(self) -> None:
        """End the run: it gives its lease back, as a program does that is asked to end."""
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.retire()

    def _ended(self, code: int) -> None:
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.kill()
            self._exit(code, self._around.clock.now_ns())

    def _exit(self, code: int, now_ns: int) -> None:
        self.exit_code, self.exited_ns = code, now_ns
        self._changed()

    # --- What others see ---

    def probe(self, handler: Mapping[str, Any]) -> str:
        """Return what is wrong with the answer to a probe, "" when it is well."""
        http = handler.get("httpGet")
        if not isinstance(http, Mapping):
            return ""
        scheme, port, path = http.get("scheme") or "HTTP", http.get("port"), http.get("path") or "/"
        if isinstance(port, str):
            named = {one.get("name"): one.get("containerPort") for one in self._container.get("ports") or ()}
            port = named.get(port, port)
        address = f"{http.get('host') or '127.0.0.1'}:{port}"
        url = f"{scheme.lower()}://{address}{path}"
        if port != self._command.secure_port:
            return f'Get "{url}": dial tcp {address}: connect: connection refused'
        if scheme != "HTTPS":
            return "HTTP probe failed with statuscode: 400"
        if path.partition("?")[0] not in _PROBED:
            return "HTTP probe failed with statuscode: 403"
        is_synced = self.instance is not None and self.instance.is_synced
        return "" if is_synced or path != "/readyz" else "HTTP probe failed with statuscode: 500"

    def _write(self, line: str) -> None:
        self.lines.append(LogLine(self._around.clock.now_ns(), line))


def _lookup(registry: Registry, namespace: str) -> Lookup:
    def find(resource: str, name: str) -> Mapping[str, Any] | None:
        found = registry.list(resource, namespace).items
        return next((obj.raw for obj in found if obj.name == name), None)

    return find


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
