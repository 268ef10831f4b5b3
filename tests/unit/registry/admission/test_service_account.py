"""Every pod runs as an account of its namespace and holds its token."""

from __future__ import annotations

from typing import Any

import pytest

from schedlab.api.object import Object
from schedlab.apimachinery.errors import Forbidden, StatusError
from schedlab.registry import Registry
from tests.support.registries import new_registry

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
def registry() -> Registry:
    return new_registry()


def make_account(registry: Registry, name: str, **fields: Any) -> None:
    """Store an account."""
    account = registry.decode("serviceaccounts", {"metadata": {"name": name}, **fields})
    registry.create("serviceaccounts", account, "default")


def make_pod(registry: Registry, spec: Object | None = None, **metadata: Any) -> Object:
    """Store a pod and return it."""
    wanted = {"containers": [{"name": "c", "image": "i"}], **(spec or {})}
    pod = registry.decode("pods", {"metadata": {"name": "p", **metadata}, "spec": wanted})
    return registry.create("pods", pod, "default").thaw()


def token_volumes(pod: Object) -> list[Object]:
    """Return the volumes with a token."""
    return [each for each in pod["spec"].get("volumes", ()) if "projected" in each]


def test_the_default_account_and_its_token(registry: Registry) -> None:
    """The volume holds a token, the certificate of the API and the namespace."""
    pod = make_pod(registry)
    spec = pod["spec"]
    (volume,) = token_volumes(pod)

    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert volume["name"].startswith("kube-api-access-")
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    assert spec["containers"][0]["volumeMounts"] == [{"name": volume["name"], "readOnly": True, "mountPath": PATH}]


def test_an_account_that_is_missing(registry: Registry) -> None:
    """Only `default` is made on demand."""
    with pytest.raises(Forbidden) as refused:
        make_pod(registry, {"serviceAccountName": "robot"})

    assert refused.value.message == (
        'pods "p" is forbidden: error looking up service account default/robot: serviceaccount "robot" not found'
    )


def test_nobody_makes_accounts_without_controllers(registry: Registry) -> None:
    """Then `default` is missing as any other."""
    registry.provide_accounts(lambda _namespace: None)
    with pytest.raises(Forbidden) as refused:
        make_pod(registry)

    assert refused.value.message == (
        'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found'
    )


@pytest.mark.parametrize(
    ("pod", "account", "expected"),
    [(None, None, 1), (None, False, 0), (True, False, 1), (False, True, 0), (None, True, 1)],
)
def test_who_decides_on_the_token(registry: Registry, pod: bool | None, account: bool | None, expected: int) -> None:  # noqa: FBT001
    """The pod, else its account, else it is mounted."""
    key = "automountServiceAccountToken"
    make_account(registry, "a", **({} if account is None else {key: account}))
    spec = {"serviceAccountName": "a", **({} if pod is None else {key: pod})}

    assert len(token_volumes(make_pod(registry, spec))) == expected


def test_a_place_that_is_taken_stays(registry: Registry) -> None:
    """A container that mounts something there gets no token; the others do, those that run first included."""
    own = [{"name": "own", "mountPath": PATH}]
    spec = {
        "volumes": [{"name": "own", "emptyDir": {}}],
        "initContainers": [{"name": "i", "image": "i"}],
        "containers": [{"name": "a", "image": "i", "volumeMounts": own}],
    }
    pod = make_pod(registry, spec)

    assert pod["spec"]["containers"][0]["volumeMounts"] == own
    assert pod["spec"]["initContainers"][0]["volumeMounts"][0]["mountPath"] == PATH


def test_a_volume_of_that_name_is_used_again(registry: Registry) -> None:
    """A pod copied from another brings its volume."""
    volume = {"name": "kube-api-access-12345", "emptyDir": {}}
    pod = make_pod(registry, {"volumes": [volume]})

    assert pod["spec"]["volumes"] == [volume]
    assert pod["spec"]["containers"][0]["volumeMounts"][0]["name"] == volume["name"]


@pytest.mark.parametrize(("own", "expected"), [([], ["pull"]), ([{"name": "mine"}], ["mine"])])
def test_pull_secrets_come_from_the_account(registry: Registry, own: list[Object], expected: list[str]) -> None:
    """Unless the pod names its own."""
    make_account(registry, "a", imagePullSecrets=[{"name": "pull"}])
    pod = make_pod(registry, {"serviceAccountName": "a", "imagePullSecrets": own})

    assert [each["name"] for each in pod["spec"]["imagePullSecrets"]] == expected


ENVIRONMENT = [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other", "key": "k"}}}]
CONTAINER = {"name": "c", "image": "i"}
UNLISTED = "is not allowed because service account a does not reference that"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            f'volume with secret.secretName="other" {UNLISTED} secret',
        ),
        (
            {"containers": [{**CONTAINER, "env": ENVIRONMENT}]},
            f'container c with envVar E referencing secret.secretName="other" {UNLISTED} secret',
        ),
        (
            {"initContainers": [{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "other"}}]}]},
            f'init container i with envFrom referencing secret.secretName="other" {UNLISTED} secret',
        ),
        ({"imagePullSecrets": [{"name": "other"}]}, f'imagePullSecrets[0].name="other" {UNLISTED} imagePullSecret'),
        ({"volumes": [{"name": "v", "secret": {"secretName": "mine"}}]}, ""),
    ],
)
def test_accounts_that_allow_their_own_secrets_only(registry: Registry, spec: Object, message: str) -> None:
    """The annotation of the account says so."""
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    account = {"metadata": {"name": "a", "annotations": annotations}}
    registry.create("serviceaccounts", registry.decode("serviceaccounts", account), "default")
    registry.patch("serviceaccounts", "a", "merge", {"secrets": [{"name": "mine"}]}, "default")
    wanted = {**spec, "serviceAccountName": "a"}
    if not message:
        make_pod(registry, wanted)
        return
    with pytest.raises(StatusError) as refused:
        make_pod(registry, wanted)

    assert refused.value.message == f'pods "p" is forbidden: {message}'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, ""),
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"containers": [{**CONTAINER, "env": ENVIRONMENT}]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "other"}}]}}]},
            "a mirror pod may not reference secrets",
        ),
    ],
)
def test_pods_of_files_have_neither(registry: Registry, spec: Object, message: str) -> None:
    """A kubelet made them without the API."""
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    wanted = {"nodeName": "n", **spec}
    if not message:
        assert "serviceAccountName" not in make_pod(registry, wanted, **mirror)["spec"]
        return
    with pytest.raises(Forbidden) as refused:
        make_pod(registry, wanted, **mirror)

    assert refused.value.message == f'pods "p" is forbidden: {message}'
