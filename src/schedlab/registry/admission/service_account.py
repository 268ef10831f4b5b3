"""ServiceAccount: every pod runs as an account of its namespace, with a volume that holds the account's token.

    no account named      ──► `default`; the account must exist
    token wanted          ──► a volume kube-api-access-… , mounted into each container that has nothing at its place
    no pull secrets named ──► those of the account

Whether a token is wanted says the pod, else its account, else it is.

Mirrors: plugin/pkg/admission/serviceaccount/admission.go, VisitPodSecretNames of pkg/api/pod/util.go (v1.36)
Differs: upstream waits up to two seconds for the account `default`, which a controller is about to make; here the core
is asked to have it made at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from schedlab.api.object import Object, StoredObject
from schedlab.apimachinery.errors import new_not_found, new_unknown
from schedlab.apimachinery.gvk import GroupResource
from schedlab.registry.admission.chain import Admission, Attributes
from schedlab.registry.admission.errors import forbidden
from schedlab.registry.core import Core
from schedlab.registry.metadata import generated_name

DEFAULT_ACCOUNT: Final = "default"
MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX: Final = "kube-api-access-"

_ACCOUNTS: Final = "serviceaccounts"
_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_TOKEN_SECONDS: Final = 3607
_DEFAULT_MODE: Final = 0o644
#: Members of a volume that name a secret, with the member of them that does.
_SECRETS_OF_VOLUMES: Final = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}
_CONTAINERS: Final = {
    "initContainers": "init container",
    "containers": "container",
    "ephemeralContainers": "ephemeral container",
}


def _admit(attributes: Attributes, core: Core) -> None:
    pod = attributes.obj
    if attributes.subresource or pod is None or attributes.operation != "CREATE":
        return
    if _is_mirror(pod):
        _check_mirror(attributes, pod)
        return
    spec = pod["spec"]
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT_ACCOUNT
    account = _account(attributes, spec["serviceAccountName"], core).raw
    if _wants_token(spec, account):
        _mount_token(spec, core)
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]
    _validate(attributes, core)


def _validate(attributes: Attributes, core: Core) -> None:
    pod = attributes.obj
    if pod is None:
        return
    adds_containers = attributes.operation == "UPDATE" and attributes.subresource == "ephemeralcontainers"
    if not adds_containers and (attributes.operation != "CREATE" or attributes.subresource):
        return
    if _is_mirror(pod) and not adds_containers:
        _check_mirror(attributes, pod)
        return
    name = pod["spec"].get("serviceAccountName")
    if not name:
        place = f"{attributes.namespace}/{pod['metadata'].get('name', '')}"
        raise forbidden(attributes, f"no service account specified for pod {place}")
    account = _account(attributes, name, core)
    if account.view.metadata.annotations.get(_ENFORCE) not in _TRUE:
        return
    if adds_containers:
        if refusal := _foreign_secret_of_containers(pod["spec"], account, ("ephemeralContainers",)):
            raise new_unknown(refusal)
    elif refusal := _foreign_secret(pod["spec"], account):
        raise forbidden(attributes, refusal)


def _account(attributes: Attributes, name: str, core: Core) -> StoredObject:
    namespace = attributes.namespace
    account = core.find(_ACCOUNTS, namespace, name)
    if account is None and name == DEFAULT_ACCOUNT:
        core.provide_account(namespace)
        account = core.find(_ACCOUNTS, namespace, name)
    if account is None:
        error = new_not_found(GroupResource("", "serviceaccount"), name)
        raise forbidden(attributes, f"error looking up service account {namespace}/{name}: {error.message}")
    return account


# --- The token --------------------------------------------------------------------------------------------------------


def _wants_token(spec: Object, account: Object) -> bool:
    for source in (spec, account):
        wanted = source.get("automountServiceAccountToken")
        if wanted is not None:
            return bool(wanted)
    return True


def _mount_token(spec: Object, core: Core) -> None:
    volumes: list[Object] = spec.get("volumes") or []
    present = next((each["name"] for each in volumes if each.get("name", "").startswith(VOLUME_PREFIX)), None)
    name = present if present is not None else generated_name(VOLUME_PREFIX, core.random.suffix())
    mounted = False
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind) or ():
            mounts: list[Object] = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == MOUNT_PATH for mount in mounts):
                continue
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]
            mounted = True
    if mounted and present is None:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_source()}]


def _token_source() -> Object:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ],
        "defaultMode": _DEFAULT_MODE,
    }


# --- Pods of files ----------------------------------------------------------------------------------------------------


def _is_mirror(pod: Object) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _check_mirror(attributes: Attributes, pod: Object) -> None:
    """Refuse a pod that stands for a file of a node but needs something that only the API has."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    if next(_secret_names(spec), None) is not None:
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    for source in _projections(spec):
        if source.get("serviceAccountToken") is not None:
            raise forbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _secret_names(spec: Object) -> Iterator[str]:
    for each in spec.get("imagePullSecrets") or ():
        yield each.get("name", "")
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            yield from (name for _, name in _secrets_of_container(container))
    for volume in spec.get("volumes") or ():
        for member, key in _SECRETS_OF_VOLUMES.items():
            named = (volume.get(member) or {}).get(key)
            if named:
                yield named if isinstance(named, str) else named.get("name", "")
    for source in _projections(spec):
        if source.get("secret") is not None:
            yield source["secret"].get("name", "")


def _projections(spec: Object) -> Iterator[Mapping[str, Any]]:
    for volume in spec.get("volumes") or ():
        yield from (volume.get("projected") or {}).get("sources") or ()


def _secrets_of_container(container: Object) -> Iterator[tuple[str, str]]:
    """Name the secrets that a container's environment is made of, each with what refers to it."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name", "")


# --- Accounts that allow only their own secrets -----------------------------------------------------------------------


def _foreign_secret(spec: Object, account: StoredObject) -> str:
    """Say which secret of a pod its account does not name, "" when there is none."""
    own = [each.get("name", "") for each in account.raw.get("secrets") or ()]
    unlisted = f"is not allowed because service account {account.name} does not reference that"
    for volume in spec.get("volumes") or ():
        secret = volume.get("secret")
        if secret is not None and secret.get("secretName", "") not in own:
            return f'volume with secret.secretName="{secret.get("secretName", "")}" {unlisted} secret'
    if refusal := _foreign_secret_of_containers(spec, account, ("initContainers", "containers")):
        return refusal
    pull = [each.get("name", "") for each in account.raw.get("imagePullSecrets") or ()]
    for index, reference in enumerate(spec.get("imagePullSecrets") or ()):
        name = reference.get("name", "")
        if name not in pull:
            return f'imagePullSecrets[{index}].name="{name}" {unlisted} imagePullSecret'
    return ""


def _foreign_secret_of_containers(spec: Object, account: StoredObject, kinds: tuple[str, ...]) -> str:
    own = [each.get("name", "") for each in account.raw.get("secrets") or ()]
    for kind in kinds:
        for container in spec.get(kind) or ():
            for referrer, name in _secrets_of_container(container):
                if name not in own:
                    return (
                        f"{_CONTAINERS[kind]} {container.get('name', '')} with {referrer} referencing "
                        f'secret.secretName="{name}" is not allowed because service account {account.name} '
                        "does not reference that secret"
                    )
    return ""


SERVICE_ACCOUNT: Final = Admission(
    "ServiceAccount",
    mutate=_admit,
    validate=_validate,
    resources=("pods",),
    subresources=("", "ephemeralcontainers"),
    repeats=True,
)
