"""kubectl as its users know it, in both versions, against a server in a process of its own."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.support.api_server import Process

MANIFEST = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}-node
  labels: {{zone: a}}
status:
  capacity: {{cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: blue
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {{app: web}}
spec:
  containers:
  - name: web
    image: registry.example.com/web:1
    resources:
      requests: {{cpu: 100m}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with Process(tmp_path_factory.mktemp("server"), accounts=True) as process:
        yield process


@dataclass
class Kubectl:
    """kubectl in a namespace and a folder of its own."""

    program: Path
    folder: Path
    kubeconfig: str
    namespace: str

    def command(self, *arguments: str) -> list[str]:
        return [str(self.program), "-n", self.namespace, *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        own = {"KUBECONFIG": self.kubeconfig, "KUBECACHEDIR": str(self.folder / "cache"), "HOME": str(self.folder)}
        return {"PATH": os.environ["PATH"], **own, **more}

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=self.environment(**environment),
            timeout=60,
        )

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> str:
        """Run a command that must succeed; returns what it prints."""
        result = self.run(*arguments, stdin=stdin, **environment)
        assert result.returncode == 0, f"{' '.join(arguments)}: {result.stdout}{result.stderr}"
        return result.stdout

    def fails(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must fail; returns what it complains of, which is no traceback."""
        result = self.run(*arguments, stdin=stdin)
        assert result.returncode != 0, f"{' '.join(arguments)}: {result.stdout}"
        assert "Traceback" not in result.stdout + result.stderr
        return result.stderr

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)


@pytest.fixture
def k(kubectl: Path, server: Process, tmp_path: Path, request: pytest.FixtureRequest) -> Kubectl:
    """kubectl, and a namespace with the objects of the manifest's kinds still to be made."""
    name = request.node.name.removeprefix("test_").replace("_", "-").replace("[", "-").replace(".", "-").rstrip("]")
    made = Kubectl(kubectl, tmp_path, server.address.kubeconfig, name[:50].strip("-"))
    made("create", "namespace", made.namespace)
    made.file("all.yaml", MANIFEST.format(name=made.namespace))
    return made


def columns(table: str) -> list[str]:
    return table.splitlines()[0].split()


def wait_for_lines(stream: Path, count: int) -> Sequence[str]:
    """Wait until a file has so many lines."""
    deadline = time.monotonic() + 20
    while len(lines := stream.read_text().splitlines()) < count:
        assert time.monotonic() < deadline, f"only {lines}"
        time.sleep(0.05)
    return lines


def test_get_in_every_form(k: Kubectl) -> None:
    """Tables, wide tables, YAML, JSON, names, and what selectors choose."""
    k("create", "-f", "all.yaml")
    k("run", "other", "--image=registry.example.com/other:1")

    assert columns(k("get", "pods")) == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert columns(k("get", "pods", "-o", "wide"))[5:7] == ["IP", "NODE"]
    assert k("get", "pods", "-o", "name") == "pod/other\npod/web\n"
    assert yaml.safe_load(k("get", "cm", "settings", "-o", "yaml"))["data"] == {"colour": "blue"}
    assert json.loads(k("get", "pod", "web", "-o", "json"))["spec"]["schedulerName"] == "default-scheduler"
    assert k("get", "pods", "-l", "app=web", "-o", "name") == "pod/web\n"
    assert k("get", "pods", "-l", "app!=web", "-o", "name") == "pod/other\n"
    assert k("get", "pods", "--field-selector", "metadata.name=other", "-o", "name") == "pod/other\n"
    assert k("get", "pods,cm", "-o", "name") == "pod/other\npod/web\nconfigmap/settings\n"
    assert columns(k("get", "pods", "-A"))[0] == "NAMESPACE"
    assert 'configmaps "nope" not found' in k.fails("get", "cm", "nope")
    assert "doesn't have a resource type" in k.fails("get", "nonsense")


def test_get_watch(k: Kubectl) -> None:
    """A watch shows the present state, then every change."""
    k("create", "configmap", "a")
    output = k.folder / "watch.txt"
    with output.open("w") as stream:
        watching = subprocess.Popen(
            k.command("get", "cm", "-w", "--no-headers"), stdout=stream, env=k.environment(), cwd=k.folder
        )
        try:
            wait_for_lines(output, 1)
            k("create", "configmap", "b", "--from-literal=x=y")
            k("delete", "configmap", "a")
            lines = wait_for_lines(output, 3)
        finally:
            watching.terminate()
            watching.wait(10)
    assert [line.split()[:2] for line in lines] == [["a", "0"], ["b", "1"], ["a", "0"]]


def test_create_apply_delete(k: Kubectl) -> None:
    """Client-side apply creates, configures and leaves alone; what is deleted is gone."""
    name = k.namespace
    assert k("apply", "-f", "all.yaml") == f"node/{name}-node created\nconfigmap/settings created\npod/web created\n"
    assert k("apply", "-f", "all.yaml").count("unchanged") == 3
    k.file("all.yaml", MANIFEST.format(name=name).replace("blue", "red"))

    assert "configmap/settings configured" in k("apply", "-f", "all.yaml")
    assert k("get", "cm", "settings", "-o", "jsonpath={.data.colour}") == "red"
    assert 'configmaps "settings" already exists' in k.fails("create", "configmap", "settings")
    deleted = k("delete", "-f", "all.yaml", "--now")
    assert 'configmap "settings" deleted' in deleted
    assert k("get", "cm,pods", "-o", "name") == ""


def test_server_side_apply(k: Kubectl) -> None:
    """Managers own what they apply; a conflict names the owner, and force takes over."""
    config = k.file("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: x, b: x}\n")
    other = k.file("two.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: w}\n")

    assert k("apply", "--server-side", "-f", config) == "configmap/one serverside-applied\n"
    conflict = k.fails("apply", "--server-side", "--field-manager=other", "-f", other)
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.a' in conflict
    k("apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", other)
    assert json.loads(k("get", "cm", "one", "-o", "jsonpath={.data}")) == {"a": "w", "b": "x"}


def test_protobuf_bodies(k: Kubectl) -> None:
    """Some commands send protobuf, which is understood."""
    k("create", "serviceaccount", "robot")
    k("create", "priorityclass", f"{k.namespace}-p", "--value=7", "--description=text")

    assert k("get", "sa", "robot", "-o", "name") == "serviceaccount/robot\n"
    assert k("get", "pc", f"{k.namespace}-p", "-o", "jsonpath={.value} {.description}") == "7 text"


def test_token_of_a_service_account(k: Kubectl) -> None:
    """It says whose it is."""
    k("create", "serviceaccount", "caller")
    token = k("create", "token", "caller", "--duration=20m").strip()

    review = k.file(
        "review.yaml",
        f"apiVersion: authentication.k8s.io/v1\nkind: TokenReview\nspec: {{token: {token}}}\n",
    )
    path = "jsonpath={.status.user.username}"
    assert k("create", "-f", review, "-o", path) == f"system:serviceaccount:{k.namespace}:caller"


def test_labels_annotations_taints(k: Kubectl) -> None:
    """What is set is there, what is overwritten needs to be meant, what is removed is gone."""
    k("apply", "-f", "all.yaml")
    node = f"{k.namespace}-node"

    assert k("label", "node", node, "disk=ssd") == f"node/{node} labeled\n"
    assert "already has a value" in k.fails("label", "node", node, "disk=hdd")
    k("label", "node", node, "disk=hdd", "--overwrite")
    k("annotate", "node", node, "note=a b")
    k("taint", "node", node, "key=value:NoSchedule")
    k("cordon", node)
    found = json.loads(k("get", "node", node, "-o", "json"))
    assert found["metadata"]["labels"]["disk"] == "hdd"
    assert found["metadata"]["annotations"]["note"] == "a b"
    assert [taint["key"] for taint in found["spec"]["taints"] if taint["key"] == "key"] == ["key"]
    assert found["spec"]["unschedulable"] is True
    k("taint", "node", node, "key-")
    k("uncordon", node)
    k("label", "node", node, "disk-")
    found = json.loads(k("get", "node", node, "-o", "json"))
    assert "disk" not in found["metadata"]["labels"]
    assert "unschedulable" not in found["spec"]


def test_patch(k: Kubectl) -> None:
    """Strategic, merge and JSON patches."""
    k("apply", "-f", "all.yaml")

    k("patch", "pod", "web", "-p", '{"metadata":{"labels":{"s":"1"}}}')
    k("patch", "pod", "web", "--type=merge", "-p", '{"metadata":{"labels":{"m":"1"}}}')
    k("patch", "pod", "web", "--type=json", "-p", '[{"op":"add","path":"/metadata/labels/j","value":"1"}]')
    assert json.loads(k("get", "pod", "web", "-o", "jsonpath={.metadata.labels}")) == {
        "app": "web",
        "s": "1",
        "m": "1",
        "j": "1",
    }
    assert "no change" in k("patch", "pod", "web", "-p", '{"metadata":{"labels":{"s":"1"}}}')


def test_edit(k: Kubectl) -> None:
    """What the editor saves is what is stored."""
    k("apply", "-f", "all.yaml")
    editor = k.file("editor", "#!/bin/sh\nsed -i 's/colour: blue/colour: green/' \"$1\"\n")
    Path(editor).chmod(0o755)

    assert k("edit", "cm", "settings", EDITOR=editor) == "configmap/settings edited\n"
    assert k("get", "cm", "settings", "-o", "jsonpath={.data.colour}") == "green"


def test_describe(k: Kubectl) -> None:
    """Pods and nodes tell their story."""
    k("apply", "-f", "all.yaml")

    pod, node = k("describe", "pod", "web"), k("describe", "node", f"{k.namespace}-node")
    assert "registry.example.com/web:1" in pod
    assert "QoS Class:" in pod
    assert "Allocated resources:" in node


def test_questions_about_the_server(k: Kubectl) -> None:
    """Who am I, may I, what is there, what does a field mean."""
    assert "admin-uid" in k("auth", "whoami")
    assert k("auth", "can-i", "create", "pods") == "yes\n"
    assert k.run("auth", "can-i", "create", "pods", "--as=bob").stdout == "no\n"
    assert 'User "bob" cannot list resource "pods"' in k.fails("get", "pods", "--as=bob")
    assert "Server Version: v1.36.2" in k("version")
    assert "pods" in k("api-resources", "--no-headers", "-o", "name").split()
    assert "FIELD: nodeName <string>" in k("explain", "pod.spec.nodeName")
    assert k("get", "--raw", "/readyz") == "ok"
    assert k("diff", "-f", k.file("same.yaml", k("create", "cm", "c", "-o", "yaml"))) == ""


BAD_INPUT = [
    ("malformed", "a: b: c\n", "mapping values are not allowed in this context"),
    ("no-kind", "metadata: {name: a}\n", "not set"),
    ("unknown-kind", "apiVersion: v1\nkind: Nonsense\nmetadata: {name: a}\n", 'no matches for kind "Nonsense"'),
    (
        "unknown-field",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbogus: 1\n",
        'strict decoding error: unknown field "bogus"',
    ),
    (
        "wrong-type",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 5}\n",
        "cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    (
        "bad-name",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: Not_A_Label}\n",
        'metadata.name: Invalid value: "Not_A_Label": a lowercase RFC 1123 label must consist of',
    ),
    (
        "stale",
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, resourceVersion: "1"}\n',
        "the object has been modified; please apply your changes to the latest version and try again",
    ),
]


@pytest.mark.parametrize(("case", "text", "message"), BAD_INPUT, ids=[case for case, _, _ in BAD_INPUT])
def test_bad_input(k: Kubectl, case: str, text: str, message: str) -> None:
    """A mistake is named with its place, and nothing is half done."""
    k("create", "configmap", "settings", "--from-literal=a=b")
    file = k.file("bad.yaml", text)
    verb = "replace" if case == "stale" else "create"

    assert message in k.fails(verb, "-f", file)
    assert k("get", "cm", "-o", "name") == "configmap/settings\n"
    assert k("get", "cm", "settings", "-o", "jsonpath={.data.a}") == "b"


def test_malformed_json(k: Kubectl) -> None:
    """The server refuses a body that is no JSON, and says where it stops to be some."""
    message = k.fails(
        "create", "--raw", f"/api/v1/namespaces/{k.namespace}/configmaps", "-f", k.file("x.json", '{"a":')
    )

    assert "unexpected end of JSON input" in message


def test_too_big(k: Kubectl) -> None:
    """A body over 3 MiB is refused as such."""
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{a: {'x' * (3 << 20)}}}\n"

    assert "Request entity too large: limit is 3145728" in k.fails("create", "-f", k.file("big.yaml", manifest))
