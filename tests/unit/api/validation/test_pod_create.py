"""What is wrong with a new pod, in kube-apiserver's words."""

from typing import Any

import pytest

from tests.support.kinds import container, context, create_errors, pod

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
CONTAINER = "spec.containers[0]"


def check(spec: dict[str, Any], expected: list[str], **gates: bool) -> None:
    metadata = spec.pop("metadata", None)
    assert create_errors("pods", pod(metadata, **spec), context(**gates)) == expected


def test_an_ordinary_pod_is_in_order() -> None:
    rich = {
        "initContainers": [
            {"name": "s", "image": "i", "restartPolicy": "Always", "livenessProbe": {"exec": {"command": ["x"]}}}
        ],
        "containers": container(
            ports=[{"containerPort": 80, "name": "http"}],
            env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}],
            volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "a/b"}],
            resources={"requests": {"cpu": "100m", "example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}},
            securityContext={"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        ),
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
    }
    check(rich, [])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, [f"{CONTAINER}.name: Required value"]),
        ({"name": "C_"}, [f'{CONTAINER}.name: Invalid value: "C_": {LABEL}']),
        ({"image": ""}, [f"{CONTAINER}.image: Required value"]),
        ({"image": " i"}, [f'{CONTAINER}.image: Invalid value: " i": must not have leading or trailing whitespace']),
        (
            {"imagePullPolicy": "Maybe"},
            [
                f'{CONTAINER}.imagePullPolicy: Unsupported value: "Maybe": supported values: "Always", "IfNotPresent", "Never"'
            ],
        ),
        (
            {"terminationMessagePolicy": "X"},
            [
                f'{CONTAINER}.terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"'
            ],
        ),
        (
            {"ports": [{"containerPort": 0}, {"containerPort": 70000}, {"containerPort": 1, "protocol": "X"}]},
            [
                f"{CONTAINER}.ports[0].containerPort: Required value",
                f"{CONTAINER}.ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                f'{CONTAINER}.ports[2].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
            ],
        ),
        (
            {"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
            [f'{CONTAINER}.ports[1].name: Duplicate value: "a"'],
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
            [f'{CONTAINER}.ports[1].hostPort: Duplicate value: "TCP//5"'],
        ),
        (
            {"restartPolicy": "Sometimes"},
            [
                f'{CONTAINER}.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"'
            ],
        ),
        (
            {"restartPolicyRules": [{"action": "Restart"}]},
            [
                f"{CONTAINER}.restartPolicy: Required value: must specify restartPolicy when restart rules are used",
                f"{CONTAINER}.restartPolicyRules[0].exitCodes: Required value: must be specified",
            ],
        ),
        (
            {"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]},
            [f'{CONTAINER}.resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"'],
        ),
    ],
)
def test_containers(fields: dict[str, Any], expected: list[str]) -> None:
    check({"containers": container(**fields)}, expected)


def test_names_of_containers_differ() -> None:
    check(
        {"containers": container() * 2, "initContainers": container()},
        [
            'spec.containers[1].name: Duplicate value: "c"',
            'spec.initContainers[0].name: Duplicate value: "c"',
        ],
    )


def test_only_sidecars_among_init_containers_have_hooks() -> None:
    hooks = {"lifecycle": {"preStop": {"exec": {"command": ["x"]}}}, "startupProbe": {"exec": {"command": ["x"]}}}
    denied = "Forbidden: may not be set for init containers without restartPolicy=Always"
    check(
        {"initContainers": [{"name": "i", "image": "i", **hooks}]},
        [f"spec.initContainers[0].lifecycle: {denied}", f"spec.initContainers[0].startupProbe: {denied}"],
    )
    check({"initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always", **hooks}]}, [])


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({}, ["Required value: must specify a handler type"]),
        ({"exec": {}}, [".exec.command: Required value"]),
        (
            {"httpGet": {"port": "no name at all"}},
            [
                (
                    '.httpGet.port: Invalid value: "no name at all": must contain only alpha-numeric characters (a-z, 0-9), '
                    "and hyphens (-)"
                )
            ],
        ),
        (
            {"tcpSocket": {"port": 1}, "grpc": {"port": 1}},
            [".grpc: Forbidden: may not specify more than 1 handler type"],
        ),
        (
            {"tcpSocket": {"port": 1}, "periodSeconds": -1},
            [".periodSeconds: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0},
            [".terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0"],
        ),
        ({"tcpSocket": {"port": 1}, "successThreshold": 3}, [".successThreshold: Invalid value: 3: must be 1"]),
    ],
)
def test_probes(probe: dict[str, Any], expected: list[str]) -> None:
    path = f"{CONTAINER}.livenessProbe"
    texts = [f"{path}{text}" if text.startswith(".") else f"{path}: {text}" for text in expected]
    check({"containers": container(livenessProbe=probe)}, texts)


def test_a_stop_signal_needs_a_system() -> None:
    hooks = container(lifecycle={"stopSignal": "SIGTERM"})
    path = f"{CONTAINER}.lifecycle.stopSignal"
    check(
        {"containers": hooks},
        [f"{path}: Forbidden: may not be set for containers with empty `spec.os.name`"],
        ContainerStopSignals=True,
    )
    check({"containers": hooks, "os": {"name": "windows"}}, [], ContainerStopSignals=True)
    hooks[0]["lifecycle"]["stopSignal"] = "SIGHUP"
    windows = f'{path}: Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"'
    check({"containers": hooks, "os": {"name": "windows"}}, [windows], ContainerStopSignals=True)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({}, [".name: Required value"]),
        (
            {"name": "A=B"},
            [
                (
                    '.name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII '
                    "characters other than '='"
                )
            ],
        ),
        (
            {"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ['.valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
        ),
        (
            {"name": "A", "valueFrom": {}},
            [
                (
                    '.valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, '
                    "`secretKeyRef` or `fileKeyRef`"
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
            [
                (
                    '.valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", '
                    '"metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", '
                    '"status.hostIPs", "status.podIP", "status.podIPs"'
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}},
            [
                (
                    '.valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not '
                    "supported: spec.x"
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name['x']"}}},
            [
                (
                    ".valueFrom.fieldRef.fieldPath: Invalid value: \"metadata.name['x']\": error converting fieldPath: field "
                    "label does not support subscript: metadata.name['x']"
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "2"}}},
            [
                (
                    '.valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are '
                    "supported with the cpu resource"
                )
            ],
        ),
        (
            {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "requests.hugepages-2Mi", "divisor": "3"}}},
            [
                (
                    '.valueFrom.resourceFieldRef.divisor: Invalid value: "requests.hugepages-2Mi": only divisor\'s values 1, '
                    "1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource"
                )
            ],
        ),
        ({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}, [".valueFrom.secretKeyRef.key: Required value"]),
        (
            {"name": "A", "valueFrom": {"fileKeyRef": {"key": "k", "volumeName": "v", "path": "a/../b"}}},
            [
                ".valueFrom.fileKeyRef.path: Invalid value: \"a/../b\": must not contain '..'",
                '.valueFrom.fileKeyRef.volumeName: Not found: "v"',
            ],
        ),
    ],
)
def test_variables(variable: dict[str, Any], expected: list[str]) -> None:
    check({"containers": container(env=[variable])}, [f"{CONTAINER}.env[0]{text}" for text in expected], EnvFiles=True)


def test_sources_of_variables() -> None:
    check(
        {"containers": container(envFrom=[{}, {"configMapRef": {}}, {"prefix": "=", "secretRef": {"name": "s"}}])},
        [
            f'{CONTAINER}.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
            f"{CONTAINER}.envFrom[1].configMapRef.name: Required value",
            (
                f'{CONTAINER}.envFrom[2].prefix: Invalid value: "=": a valid environment variable name must consist only of '
                "printable ASCII characters other than '='"
            ),
        ],
    )


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": {"cpu": "-1"}}, ['.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        (
            {"requests": {"disk": "1"}},
            [
                '.requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified',
                '.requests[disk]: Invalid value: "disk": must be a standard resource for containers',
            ],
        ),
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            ['.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (
            {"requests": {"a.b/c": "1"}},
            [".limits: Required value: Limit must be set for non overcommitable resources"],
        ),
        (
            {"limits": {"a.b/c": "1500m"}},
            [
                '.limits[a.b/c]: Invalid value: "1500m": must be an integer',
                '.requests[a.b/c]: Invalid value: "1500m": must be an integer',
            ],
        ),
        (
            {"limits": {"hugepages-2Mi": "4Mi"}},
            [": Forbidden: HugePages require cpu or memory"],
        ),
        (
            {"claims": [{"name": "x"}]},
            ['.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty'],
        ),
    ],
)
def test_resources(resources: dict[str, Any], expected: list[str]) -> None:
    check({"containers": container(resources=resources)}, [f"{CONTAINER}.resources{text}" for text in expected])


def test_resources_of_the_pod() -> None:
    check(
        {
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
            "containers": container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}),
        },
        [
            (
                'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container '
                "requests of 2"
            ),
            'spec.resources.containers[0][cpu].limits: Invalid value: "3": must be less than or equal to pod limits of 2',
        ],
    )
    check(
        {"resources": {"requests": {"ephemeral-storage": "1"}}},
        [
            (
                'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", '
                '"hugepages-", "memory"'
            )
        ],
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, ["containers: Required value"]),
        (
            {"restartPolicy": "X"},
            ['restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'],
        ),
        ({"dnsPolicy": "None"}, ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        (
            {"dnsConfig": {"searches": ["a_b.", ".", "x y"], "options": [{}]}},
            [
                (
                    'dnsConfig.searches[2]: Invalid value: "x y": a lowercase RFC 1123 subdomain must consist of lower case '
                    "alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. "
                    "'example.com', regex used for validation is "
                    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
                ),
                "dnsConfig.options[0]: Required value: must not be empty",
            ],
        ),
        ({"hostname": "a.b"}, ['hostname: Invalid value: "a.b": must not contain dots']),
        (
            {"hostnameOverride": "h", "hostNetwork": True},
            ["hostnameOverride: Forbidden: may not be specified when hostNetwork is true"],
        ),
        (
            {"activeDeadlineSeconds": 0},
            ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        ({"nodeSelector": {"a b": "c"}}, [f'nodeSelector: Invalid value: "a b": {NAME_PART}']),
        ({"os": {}}, ["os.name: Required value"]),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, ['schedulingGates[1]: Duplicate value: "a"']),
        (
            {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
            ["nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            {"preemptionPolicy": "X"},
            ['preemptionPolicy: Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"'],
        ),
        (
            {"overhead": {"cpu": "-1"}},
            ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        ({"ephemeralContainers": container()}, ["ephemeralContainers: Forbidden: cannot be set on create"]),
        (
            {"hostNetwork": True, "containers": container(ports=[{"containerPort": 80, "hostPort": 81}])},
            [
                "containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true"
            ],
        ),
        (
            {"resourceClaims": [{"name": "a"}]},
            [
                (
                    'resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: '
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
                )
            ],
        ),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            [
                (
                    "volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when "
                    "serviceAccountName is not set"
                )
            ],
        ),
    ],
)
def test_spec(spec: dict[str, Any], expected: list[str]) -> None:
    ephemeral = "ephemeralContainers" in spec
    found = [f"spec.{text}" for text in expected]
    if ephemeral:
        found.insert(0, 'spec.ephemeralContainers[0].name: Duplicate value: "c"')
    check(spec, found)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"controller.kubernetes.io/pod-deletion-cost": "-10"}, []),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "+1"},
            ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer'],
        ),
        (
            {"kubernetes.io/config.mirror": "x"},
            [
                '[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'
            ],
        ),
        (
            {"container.apparmor.security.beta.kubernetes.io/other": "bad"},
            [
                '[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "other": container not found',
                (
                    '[container.apparmor.security.beta.kubernetes.io/other]: Invalid value: "bad": invalid AppArmor profile '
                    'name: "bad"'
                ),
            ],
        ),
        (
            {"seccomp.security.alpha.kubernetes.io/pod": "bad"},
            ['.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "bad": must be a valid seccomp profile'],
        ),
    ],
)
def test_annotations(annotations: dict[str, str], expected: list[str]) -> None:
    check({"metadata": {"annotations": annotations}}, [f"metadata.annotations{text}" for text in expected])


def test_profiles_in_annotations_and_fields_match() -> None:
    key = "container.seccomp.security.alpha.kubernetes.io/c"
    path = f"{CONTAINER}.securityContext.seccompProfile"
    field = container(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}})
    metadata = {"annotations": {key: "localhost/b"}}
    check(
        {"metadata": metadata, "containers": field},
        [f"{path}.localhostProfile: Forbidden: seccomp profile in annotation and field must match"],
    )
    metadata = {"annotations": {key: "unconfined"}}
    check(
        {"metadata": metadata, "containers": field},
        [f"{path}.type: Forbidden: seccomp type in annotation and field must match"],
    )
