"""What is wrong with the security contexts of a pod, and with pods for Windows."""

from typing import Any

import pytest

from tests.support.kinds import container, context, create_errors, pod

ID = "must be between 0 and 2147483647, inclusive"
PROFILES = 'supported values: "Localhost", "RuntimeDefault", "Unconfined"'
WINDOWS = "Forbidden: cannot be set for a windows pod"


def check(spec: dict[str, Any], expected: list[str], **gates: bool) -> None:
    assert create_errors("pods", pod(**spec), context(**gates)) == [f"spec.{text}" for text in expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"runAsUser": -1, "runAsGroup": 2**31},
            [f".runAsUser: Invalid value: -1: {ID}", f".runAsGroup: Invalid value: 2147483648: {ID}"],
        ),
        ({"procMount": "X"}, ['.procMount: Unsupported value: "X": supported values: "Default", "Unmasked"']),
        (
            {"procMount": "Unmasked"},
            ['.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
        ),
        ({"seccompProfile": {}}, [".seccompProfile.type: Required value: type is required when seccompProfile is set"]),
        ({"seccompProfile": {"type": "X"}}, [f'.seccompProfile.type: Unsupported value: "X": {PROFILES}']),
        (
            {"seccompProfile": {"type": "Localhost"}},
            [".seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"],
        ),
        (
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}},
            ['.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path'],
        ),
        (
            {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}},
            [
                (
                    '.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be '
                    "set when seccomp type is Localhost"
                )
            ],
        ),
        (
            {"appArmorProfile": {"type": "Localhost", "localhostProfile": " a"}},
            ['.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace'],
        ),
        (
            {"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}},
            ['.appArmorProfile.localhostProfile: Invalid value: "a": can only be set when AppArmor type is Localhost'],
        ),
    ],
)
def test_containers(fields: dict[str, Any], expected: list[str]) -> None:
    check(
        {"containers": container(securityContext=fields)}, [f"containers[0].securityContext{text}" for text in expected]
    )


def test_no_escalation_where_all_is_allowed() -> None:
    fields = {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}
    shown = (
        '{"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,"SELinuxOptions":null,'
        '"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
        '"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}'
    )
    text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
    check(
        {"containers": container(securityContext=fields)},
        [f"containers[0].securityContext: Invalid value: {shown}: {text}"],
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"securityContext": {"fsGroup": -1, "supplementalGroups": [1, -2]}},
            [
                f"securityContext.fsGroup: Invalid value: -1: {ID}",
                f"securityContext.supplementalGroups[1]: Invalid value: -2: {ID}",
            ],
        ),
        (
            {"securityContext": {"fsGroupChangePolicy": "X"}},
            [
                'securityContext.fsGroupChangePolicy: Unsupported value: "X": supported values: "Always", "OnRootMismatch"'
            ],
        ),
        (
            {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
            ['securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"'],
        ),
        (
            {"shareProcessNamespace": True, "hostPID": True},
            [
                (
                    "securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both "
                    "be enabled"
                )
            ],
        ),
        (
            {"hostUsers": False, "hostPID": True, "hostIPC": True},
            ["HostPID: Forbidden: when `hostUsers` is false", "HostIPC: Forbidden: when `hostUsers` is false"],
        ),
    ],
)
def test_pods(spec: dict[str, Any], expected: list[str]) -> None:
    check(spec, expected)


def test_seccomp_labels_change_in_more_ways_with_their_feature() -> None:
    check({"securityContext": {"seLinuxChangePolicy": "MountOption"}}, [], SELinuxMount=True)


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("", {}, ["Required value"]),
        (
            "A",
            {},
            [
                (
                    'Invalid value: "A": must have at most 253 characters and match regex '
                    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
                )
            ],
        ),
        ("kernel.sem", {}, []),
        (
            "kernel.sem",
            {"hostIPC": True},
            ["Invalid value: \"kernel.sem\": may not be specified when 'hostIPC' is true"],
        ),
        (
            "kernel/msgmax",
            {"hostIPC": True},
            ["Invalid value: \"kernel/msgmax\": may not be specified when 'hostIPC' is true"],
        ),
        ("net.a", {"hostNetwork": True}, ["Invalid value: \"net.a\": may not be specified when 'hostNetwork' is true"]),
        ("kernel.other", {"hostIPC": True, "hostNetwork": True}, []),
    ],
)
def test_kernel_parameters(name: str, fields: dict[str, Any], expected: list[str]) -> None:
    spec = {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}, **fields}
    check(spec, [f"securityContext.sysctls[0].name: {text}" for text in expected])


def test_linux_pods_have_no_windows_options() -> None:
    options: dict[str, Any] = {"windowsOptions": {}}
    text = "Forbidden: windows options cannot be set for a linux pod"
    check(
        {"os": {"name": "linux"}, "securityContext": options, "containers": container(securityContext=options)},
        [f"securityContext.windowsOptions: {text}", f"containers[0].securityContext.windowsOptions: {text}"],
    )


def test_windows_pods_have_no_linux_fields() -> None:
    spec = {
        "os": {"name": "windows"},
        "hostPID": True,
        "securityContext": {"fsGroup": 1, "runAsUser": 1},
        "containers": container(securityContext={"privileged": True}),
    }
    paths = (
        "hostPID",
        "securityContext.fsGroup",
        "securityContext.runAsUser",
        "containers[0].securityContext.privileged",
    )
    check(spec, [f"{path}: {WINDOWS}" for path in paths])
    check({"os": {"name": "beos"}}, ['os: Unsupported value: "beos": supported values: "linux", "windows"'])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "runAsUserName cannot be an empty string"),
        ("a\tb", "runAsUserName cannot contain control characters"),
        ("a\\b\\c", "runAsUserName cannot contain more than one backslash"),
        ("a*\\b", "runAsUserName's Domain doesn't match the NetBios nor the DNS format"),
        ("a\\", "runAsUserName's User cannot be empty"),
        ("u" * 105, "runAsUserName's User length must not be longer than 104 characters"),
        (".. ", "runAsUserName's User cannot contain only periods or spaces"),
        ("a|b", "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"),
    ],
)
def test_windows_user_names(name: str, text: str) -> None:
    found = create_errors("pods", pod(securityContext={"windowsOptions": {"runAsUserName": name}}))
    assert [error.rpartition('": ')[2] if text[-1] != "]" else text for error in found] == [text]
    assert found[0].startswith("spec.securityContext.windowsOptions.runAsUserName: Invalid value: ")


def test_host_processes_are_all_or_none_and_in_the_network_of_the_host() -> None:
    mixed = [
        {"name": "a", "image": "i", "securityContext": {"windowsOptions": {"hostProcess": True}}},
        {"name": "b", "image": "i"},
    ]
    assert create_errors("pods", pod(containers=mixed)) == [
        (
            'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess '
            "containers"
        ),
        "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
    ]
    of_pod = {"windowsOptions": {"hostProcess": False}}
    contradicting = create_errors("pods", pod(containers=mixed[:1], securityContext=of_pod, hostNetwork=True))
    assert contradicting == [
        (
            "spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: true: pod hostProcess value must be "
            "identical if both are specified, was false"
        )
    ]
