"""The rules of pods as a whole.

Mirrors: pkg/registry/core/pod/strategy.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from schedlab.api.kinds.pod.defaults import default_pod
from schedlab.api.kinds.pod.preparation import (
    prepare_create,
    prepare_ephemeral_update,
    prepare_resize,
    prepare_status_update,
    prepare_update,
)
from schedlab.api.kinds.strategy import RESETS_STATUS, Context, Strategy, UpdateStrategy, ValidateUpdate
from schedlab.api.object import Object, StoredObject
from schedlab.api.rules.likeness import ADDRESS, DURATION, LABEL, SECOND, UID, Likeness, Place
from schedlab.api.validation.pods.changes import validate_ephemeral_update, validate_pod_update
from schedlab.api.validation.pods.resize import validate_resize
from schedlab.api.validation.pods.rules import PodRules
from schedlab.api.validation.pods.spec import validate_new_pod
from schedlab.api.validation.pods.status import validate_status_update
from schedlab.api.validation.pods.warnings import pod_name_warnings, pod_warnings
from schedlab.apimachinery.field import ErrorList
from schedlab.apimachinery.field_selectors import FieldLabels

_FINISHED: Final = ("Failed", "Succeeded")
_RESETS: Final = (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences"))


#: What names a pod is a host name, too, so that it is not warned of. Addresses and owners are alone in their lists: where
#: two stand, their order counts. Pods of one Job each, as in a queue of them, have owners and labels of their own.
_LIKENESS: Final = Likeness(
    name=re.compile(LABEL),
    places=(
        Place(b'"kube-api-access-', rb"[0-9a-z]{5}"),
        Place(b'"nodeName":"', LABEL),
        Place(b'"hostIP":"', ADDRESS),
        Place(b'"podIP":"', ADDRESS),
        Place(b'[{"ip":"', ADDRESS, b'"}]'),
        *(Place(b'"%b":"' % key, SECOND) for key in (b"startTime", b"lastTransitionTime", b"startedAt", b"finishedAt")),
    ),
    metadata_places=(
        Place(b'"creationTimestamp":"', SECOND),
        Place(b'"pod-complete.stage.kwok.x-k8s.io/delay":"', DURATION),
        Place(b'job-name":"', LABEL),
        Place(b'"kind":"Job","name":"', LABEL),
        Place(b'uid":"', UID),  # the owner's, and in controller-uid
        Place(b'"generateName":"', rb"[0-9a-z][-0-9a-z]{0,56}-"),
    ),
    managed_places=(
        Place(b'"f:podIPs":{".":{},"k:{\\"ip\\":\\"', ADDRESS, b'\\"}"'),
        Place(b'"f:ownerReferences":{".":{},"k:{\\"uid\\":\\"', UID, b'\\"}"'),
        Place(b'"time":"', SECOND),
    ),
    unlike=(b'"ephemeral":', b'"resourceClaims":'),
    tells_times=True,
)


def grace_period(pod: Object, wanted: int | None) -> int:
    """Return how long a deleted pod lives on; one without node, or that has ended, is gone at once."""
    if not pod["spec"].get("nodeName") or pod["status"].get("phase") in _FINISHED:
        return 0
    seconds = pod["spec"].get("terminationGracePeriodSeconds", 0) if wanted is None else wanted
    return 1 if seconds < 0 else int(seconds)


def _field_values(pod: StoredObject) -> dict[str, str]:
    view = pod.view
    return {
        "spec.nodeName": view.spec.node_name,
        "spec.restartPolicy": view.spec.restart_policy,
        "spec.schedulerName": view.spec.scheduler_name,
        "spec.serviceAccountName": view.spec.service_account_name,
        "spec.hostNetwork": "true" if view.spec.host_network else "false",
        "status.phase": view.status.phase,
        "status.podIP": view.status.pod_ip,
        "status.nominatedNodeName": view.status.nominated_node_name,
    }


def _rules(context: Context) -> PodRules:
    return PodRules(context.features, is_pod=True)


def _validate(pod: Object, context: Context) -> ErrorList:
    rules = _rules(context)
    errors = validate_new_pod(pod, rules)
    if not errors and context.warns:
        metadata = pod["metadata"]
        context.warnings.extend(pod_name_warnings(metadata["name"]))
        context.warnings.extend(pod_warnings(metadata, pod["spec"], rules))
    return errors


def _checked_by(check: Callable[[Object, Object, PodRules], ErrorList]) -> ValidateUpdate:
    def validate(new: Object, old: Object, context: Context) -> ErrorList:
        return check(new, old, _rules(context))

    return validate


POD: Final = Strategy(
    resource="pods",
    validate=_validate,
    update=UpdateStrategy(_checked_by(validate_pod_update), prepare_update, RESETS_STATUS),
    default=default_pod,
    prepare=prepare_create,
    subresources={
        "status": UpdateStrategy(_checked_by(validate_status_update), prepare_status_update, _RESETS),
        "ephemeralcontainers": UpdateStrategy(_checked_by(validate_ephemeral_update), prepare_ephemeral_update),
        "resize": UpdateStrategy(_checked_by(validate_resize), prepare_resize),
    },
    grace_period=grace_period,
    returns_deleted=True,
    field_labels=FieldLabels(
        frozenset(
            (
                "metadata.name",
                "metadata.namespace",
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.podIPs",
                "status.nominatedNodeName",
            )
        )
    ),
    field_values=_field_values,
    likeness=_LIKENESS,
)
