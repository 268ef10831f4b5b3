"""What is wrong with the volumes of a pod and with how containers use them."""

from typing import Any

import pytest

from tests.support.kinds import container, context, create_errors, pod

ONE_TYPE = "Forbidden: may not specify more than 1 volume type"
MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def check(spec: dict[str, Any], expected: list[str], **gates: bool) -> None:
    assert create_errors("pods", pod(**spec), context(**gates)) == [f"spec.{text}" for text in expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"emptyDir": {}, "hostPath": {"path": "/x"}}, [f".hostPath: {ONE_TYPE}"]),
        (
            {"emptyDir": {}, "cephfs": {"monitors": ["m"]}, "downwardAPI": {}},
            [f".cephFS: {ONE_TYPE}", f".downwarAPI: {ONE_TYPE}"],
        ),
        (
            {"emptyDir": {"sizeLimit": "-1"}},
            [".emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"],
        ),
        ({"hostPath": {}}, [".hostPath.path: Required value"]),
        ({"hostPath": {"path": "/a/../b"}}, [".hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"]),
        (
            {"gitRepo": {"directory": "/a"}},
            [".gitRepo.repository: Required value", '.gitRepo.directory: Invalid value: "/a": must be a relative path'],
        ),
        (
            {"gcePersistentDisk": {"partition": 256}},
            [
                ".persistentDisk.pdName: Required value",
                ".persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
            ],
        ),
        (
            {"secret": {"items": [{"key": "k", "path": "..a"}]}},
            [
                ".secret.secretName: Required value",
                ".secret.items[0].path: Invalid value: \"..a\": must not start with '..'",
            ],
        ),
        (
            {"configMap": {"name": "c", "defaultMode": 512, "items": [{}]}},
            [
                f".configMap.defaultMode: Invalid value: 512: {MODE}",
                ".configMap.items[0].key: Required value",
                ".configMap.items[0].path: Required value",
            ],
        ),
        (
            {"nfs": {"server": "s"}},
            [".nfs.path: Required value", '.nfs.path: Invalid value: "": must be an absolute path'],
        ),
        ({"glusterfs": {}}, [".glusterfs.endpoints: Required value", ".glusterfs.path: Required value"]),
        ({"flocker": {}}, [".flocker: Required value: one of datasetName and datasetUUID is required"]),
        ({"cinder": {"secretRef": {}}}, [".cinder.volumeID: Required value", ".cinder.secretRef.name: Required value"]),
        (
            {"csi": {"driver": "Bad_"}},
            [
                ".csi.driver: Invalid value: \"Bad_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ],
        ),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {}}}, [".csi.nodePublishSecretRef.name: Required value"]),
        ({"ephemeral": {}}, [".ephemeral.volumeClaimTemplate: Required value"]),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            [".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value"],
        ),
        ({"image": {}}, [".image.reference: Required value"]),
        (
            {"downwardAPI": {"items": [{"path": "a"}, {"path": "b", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            [
                ".downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
                ".downwardAPI.resourceFieldRef.containerName: Required value",
            ],
        ),
        (
            {"iscsi": {"targetPortal": "p", "iqn": "iqn.2001-04.com.example:x", "initiatorName": "bad"}},
            ['.iscsi.initiatorname: Invalid value: "bad": must be valid format starting with iqn, eui, or naa'],
        ),
    ],
)
def test_sources(source: dict[str, Any], expected: list[str]) -> None:
    check({"volumes": [{"name": "v", **source}]}, [f"volumes[0]{text}" for text in expected])


PROJECTIONS: list[tuple[list[dict[str, Any]], list[str]]] = [
    (
        [{"secret": {}, "configMap": {"name": "c"}}],
        [
            ".sources[0].secret.name: Required value",
            ".sources[0]: Forbidden: may not specify more than 1 volume type per source",
        ],
    ),
    (
        [
            {"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}},
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
        ],
        [': Invalid value: "c": conflicting duplicate paths'],
    ),
    (
        [{"serviceAccountToken": {"expirationSeconds": 10}}],
        [
            ".sources[0].serviceAccountToken.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes",
            ".path: Required value",
        ],
    ),
    (
        [{"clusterTrustBundle": {"path": "p"}}],
        [".sources[0].clusterTrustBundle: Required value: either name or signerName must be specified"],
    ),
    (
        [{"clusterTrustBundle": {"path": "p", "name": "a.b/c:d"}}],
        [
            '.sources[0].clusterTrustBundle.name: Invalid value: "a.b/c:d": not a valid clustertrustbundlename: ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:'
        ],
    ),
    (
        [{"clusterTrustBundle": {"path": "p", "signerName": "a"}}],
        [
            ".sources[0].clusterTrustBundle.signerName: Invalid value: \"a\": must be a fully qualified domain and path of the form 'example.com/signer-name'"
        ],
    ),
    (
        [{"podCertificate": {"signerName": "kubernetes.io/x", "keyType": "ED25519", "maxExpirationSeconds": 86401}}],
        [
            ".sources[0].podCertificate.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400",
            ".sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        ],
    ),
]


@pytest.mark.parametrize(("sources", "expected"), PROJECTIONS)
def test_projections(sources: list[dict[str, Any]], expected: list[str]) -> None:
    spec = {"volumes": [{"name": "v", "projected": {"sources": sources}}], "serviceAccountName": "a"}
    gates = {
        "ClusterTrustBundleProjection": True,
        "ClusterTrustBundle": True,
        "PodCertificateRequest": True,
        "AuthorizeNodeWithSelectors": True,
    }
    check(spec, [f"volumes[0].projected{text}" for text in expected], **gates)


def test_volumes_have_names_of_their_own() -> None:
    check(
        {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]},
        ['volumes[1].name: Duplicate value: "v"'],
    )
    check({"volumes": [{"emptyDir": {}}]}, ["volumes[0].name: Required value"])


def test_no_volume_may_use_the_claim_of_an_ephemeral_one() -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [
        {"name": "e", "ephemeral": {"volumeClaimTemplate": template}},
        {"name": "v", "persistentVolumeClaim": {"claimName": "p-e"}},
    ]
    path = "volumes[1].persistentVolumeClaim.claimName"
    check(
        {"volumes": volumes},
        [f'{path}: Invalid value: "p-e": must not reference a PVC that gets created for an ephemeral volume'],
    )


def test_templates_of_claims_have_labels_and_annotations_only() -> None:
    template = {
        "metadata": {"name": "x"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    check(
        {"volumes": [{"name": "e", "ephemeral": {"volumeClaimTemplate": template}}]},
        ["volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set"],
    )


VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([{"name": "x", "mountPath": "/x"}], ['[0].name: Not found: "x"']),
        ([{"name": "v"}], ["[0].mountPath: Required value"]),
        (
            [{"name": "v", "mountPath": "/x"}, {"name": "c", "mountPath": "/x"}],
            ['[1].mountPath: Invalid value: "/x": must be unique'],
        ),
        (
            [{"name": "v", "mountPath": "/x", "subPath": "../a"}],
            [".subPath: Invalid value: \"../a\": must not contain '..'"],
        ),
        (
            [{"name": "v", "mountPath": "/x", "subPath": "a", "subPathExpr": "b"}],
            ['[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
        ),
        (
            [{"name": "v", "mountPath": "/x", "mountPropagation": "X"}],
            ['.mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"'],
        ),
        (
            [{"name": "v", "mountPath": "/x", "mountPropagation": "Bidirectional"}],
            [
                ".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"
            ],
        ),
        (
            [{"name": "v", "mountPath": "/x", "recursiveReadOnly": "Enabled"}],
            [".recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
        ),
    ],
)
def test_mounts(mounts: list[dict[str, Any]], expected: list[str]) -> None:
    path = "containers[0].volumeMounts"
    check({"volumes": VOLUMES, "containers": container(volumeMounts=mounts)}, [path + text for text in expected])


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([{"name": "c", "devicePath": "/d"}], []),
        (
            [{"name": "v", "devicePath": "/d"}],
            [
                '[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode'
            ],
        ),
        (
            [{"name": "x", "devicePath": "/../d"}],
            ['[0].name: Not found: "x"', "[0].devicePath: Invalid value: \"/../d\": can not contain backsteps ('..')"],
        ),
        (
            [{"name": "c", "devicePath": "/d"}] * 2,
            ['[1].name: Invalid value: "c": must be unique', '[1].devicePath: Invalid value: "/d": must be unique'],
        ),
    ],
)
def test_devices(devices: list[dict[str, Any]], expected: list[str]) -> None:
    path = "containers[0].volumeDevices"
    check({"volumes": VOLUMES, "containers": container(volumeDevices=devices)}, [path + text for text in expected])


def test_what_is_a_device_is_not_mounted_too() -> None:
    both = container(volumeMounts=[{"name": "c", "mountPath": "/d"}], volumeDevices=[{"name": "c", "devicePath": "/d"}])
    check(
        {"volumes": VOLUMES, "containers": both},
        [
            'containers[0].volumeMounts[0].name: Invalid value: "c": must not already exist in volumeDevices',
            'containers[0].volumeMounts[0].mountPath: Invalid value: "/d": must not already exist as a path in volumeDevices',
            'containers[0].volumeDevices[0].name: Invalid value: "c": must not already exist in volumeMounts',
            'containers[0].volumeDevices[0].devicePath: Invalid value: "/d": must not already exist as a path in volumeMounts',
        ],
    )
