"""What can be done to a pod besides writing it: binding.

Mirrors: pkg/registry/core/pod/storage/storage.go, pkg/apis/core/validation (ValidatePodBinding) (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec
import orjson
from msgspec.structs import replace

from schedlab.api.kinds.conditions import set_condition
from schedlab.api.object import Object, StoredObject
from schedlab.api.views.core import Pod, PodStatus
from schedlab.apimachinery import field
from schedlab.apimachinery.errors import (
    new_bad_request,
    new_conflict,
    new_unknown,
)
from schedlab.apimachinery.field import ErrorList, Path
from schedlab.apimachinery.gojson import quote
from schedlab.apimachinery.gvk import GroupResource
from schedlab.registry import metadata as metadata_rules
from schedlab.registry.admission.chain import Attributes
from schedlab.registry.core import Core
from schedlab.registry.request import WriteOptions
from schedlab.registry.writes import invalid_object

_BINDING: Final = GroupResource("", "pods/binding")
#: What a binding may add to the metadata of its pod.
_COPIED: Final = ("annotations", "labels")
_SPEC: Final = b',"spec":{"'
_NODE_NAME: Final = b'"nodeName":'
_END_OF_SPEC: Final = b'},"status":{'
_BODIES_MAX: Final = 64
_decode_status: Final = msgspec.json.Decoder(PodStatus).decode


class _Bound(msgspec.Struct, frozen=True, gc=False):
    """What binding makes of the body of a pod at one time: the bytes around the node's name, and the view of the status.

    There is no view of one with nulls in it.
    """

    at: str
    before: bytes
    behind: bytes
    status: PodStatus | None


class Pods:
    """Binds pods to nodes."""

    def __init__(self, core: Core) -> None:
        self._core = core
        #: By the body of the pod: many are of one template.
        self._known: dict[bytes, _Bound] = {}

    def bind(self, name: str, namespace: str, binding: Object, options: WriteOptions) -> StoredObject:
        """Put a pod onto a node and return it; raises Conflict when it is bound, gated or being deleted."""
        metadata = binding["metadata"]
        metadata_rules.match_namespace(metadata, namespace)
        self._admit(name, namespace, binding, options)
        if metadata.get("name", "") != name:
            raise new_bad_request("name in URL does not match name in Binding object")
        if errors := _validate_binding(binding):
            raise new_unknown(field.aggregate(errors))
        pods = self._core.resources["pods"]
        current = self._core.require(pods, namespace, name)
        self._check_preconditions(current, metadata)
        stored = self._spliced(current, binding) or self._bound(current, binding)
        if not options.dry_run:
            self._core.store.update(stored, current.revision)
        return stored

    def _bound(self, current: StoredObject, binding: Object) -> StoredObject:
        """Make the bound pod of the stored one; raises Conflict when it cannot be bound."""
        pod = current.thaw()
        if refusal := _refuse(pod):
            raise new_conflict(_BINDING, current.name, refusal)
        self._assign(pod, binding)
        return StoredObject.encode(current.resource, pod, self._core.store.next_revision)

    def _spliced(self, current: StoredObject, binding: Object) -> StoredObject | None:
        """Do as `_bound` does, without decoding more than it changes; None for a pod that is not plain enough.

        The spec is the bytes it was, and the node behind them.
        """
        _, metadata, _, body = current.segments
        if b'"deletionTimestamp"' in metadata:
            return None
        now, bound = self._core.now(), self._known.get(body)
        if bound is None or bound.at != now:
            bound = self._settled(body, now)
            if bound is None:
                return None
        own = current.view.metadata
        added, name, revision = binding["metadata"], binding["target"]["name"], self._core.store.next_revision
        if added.get("annotations") or added.get("labels"):
            decoded = orjson.loads(b"{%b}" % metadata[1:])
            _copy_metadata(decoded, added)
            metadata = b"," + orjson.dumps(decoded)[1:-1]
            own = replace(own, **{key: decoded[key] for key in _COPIED if decoded.get(key)})
        view = None
        if bound.status is not None:
            before: Pod = current.view
            own, spec = replace(own, resource_version=str(revision)), replace(before.spec, node_name=name)
            view = replace(before, metadata=own, spec=spec, status=bound.status)
        return current.replaced(revision, metadata, bound.before + orjson.dumps(name) + bound.behind, view)

    def _settled(self, body: bytes, now: str) -> _Bound | None:
        """Say what binding makes of a body; None when that is not plain.

        Pods of one template have the same one, so it is kept for its second.
        """
        end = body.rfind(_END_OF_SPEC)
        if end < 0 or not body.startswith(_SPEC) or b'"nodeName"' in body or b'"schedulingGates"' in body:
            return None
        try:
            status = orjson.loads(body[end + len(_END_OF_SPEC) - 1 : -1])
        except orjson.JSONDecodeError:
            return None  # it was the end of something else
        self._settle_status(status)
        encoded = orjson.dumps(status)
        if len(self._known) >= _BODIES_MAX:
            self._known.clear()
        before, behind = b"%b,%b" % (body[:end], _NODE_NAME), b"%b%b}" % (_END_OF_SPEC[:-1], encoded)
        bound = self._known[body] = _Bound(now, before, behind, _status_view(encoded))
        return bound

    def _admit(self, name: str, namespace: str, binding: Object, options: WriteOptions) -> None:
        attributes = Attributes(
            operation="CREATE",
            resource=self._core.resources["pods"],
            namespace=namespace,
            name=name,
            obj=binding,
            old=None,
            subresource="binding",
            dry_run=options.dry_run,
            user=options.user,
            warnings=options.warnings,
        )
        self._core.admission.mutate(attributes, self._core)
        self._core.admission.validate(attributes, self._core)

    def _check_preconditions(self, current: StoredObject, metadata: Object) -> None:
        """A binding may say which pod in which state it means."""
        pods = self._core.resources["pods"]
        uid, revision = metadata.get("uid", ""), metadata.get("resourceVersion", "")
        cause = ""
        if uid and uid != current.uid:
            cause = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current.uid}"
        elif revision and revision != str(current.revision):
            cause = (
                f"Precondition failed: ResourceVersion in precondition: {revision}, "
                f"ResourceVersion in object meta: {current.revision}"
            )
        if cause:
            raise new_conflict(pods.group_resource, current.name, invalid_object(pods, current.key, cause))

    def _assign(self, pod: Object, binding: Object) -> None:
        """Note in the pod where it runs."""
        pod["spec"]["nodeName"] = binding["target"]["name"]
        _copy_metadata(pod["metadata"], binding["metadata"])
        self._settle_status(pod["status"])

    def _settle_status(self, status: Object) -> None:
        """Note in a status that the pod has a node."""
        set_condition(status, {"type": "PodScheduled", "status": "True"}, self._core.now())
        if self._core.features.enabled("ClearingNominatedNodeNameAfterBinding"):
            status.pop("nominatedNodeName", None)


def _status_view(status: bytes) -> PodStatus | None:
    """Return the view of a status; None where there are nulls."""
    try:
        return _decode_status(status)
    except msgspec.ValidationError:
        return None


def _copy_metadata(metadata: Object, extra: Object) -> None:
    """Add labels and annotations of a binding to those of its pod; they win."""
    for key in _COPIED:
        if extra.get(key):
            metadata[key] = {**metadata.get(key, {}), **extra[key]}


def _validate_binding(binding: Object) -> ErrorList:
    target = binding.get("target") or {}
    errors: ErrorList = []
    if target.get("kind", "") not in ("", "Node"):
        errors.append(field.not_supported(Path("target", "kind"), target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(field.required(Path("target", "name")))
    return errors


def _refuse(pod: Object) -> str:
    name = pod["metadata"]["name"]
    if pod["metadata"].get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := pod["spec"].get("nodeName"):
        return f"pod {name} is already assigned to node {quote(node)}"
    if pod["spec"].get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""
