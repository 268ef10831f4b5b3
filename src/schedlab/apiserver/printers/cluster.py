"""The columns of kinds that run a cluster: certificates, flow control, runtime classes, storage migration, API services.

Mirrors: pkg/printers/internalversion/printers.go,
staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/etcd/etcd.go (v1.36)
Differs: a list of flow schemas is not sorted by precedence.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery import time
from schedlab.apimachinery.table import AGE, NAME, NONE, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part, shows


def _signing_request_cells(request: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(request, "spec")
    wanted_s = spec.get("expirationSeconds")
    return (
        name_of(request),
        age(request, now_ns),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if wanted_s is None else time.human_duration(wanted_s * time.SECOND),
        _signing_state(request),
    )


def _signing_state(request: Object) -> str:
    status = part(request, "status")
    types = [condition.get("type") for condition in status.get("conditions") or ()]
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    return state + (",Failed" if "Failed" in types else "") + (",Issued" if status.get("certificate") else "")


CERTIFICATE_SIGNING_REQUESTS: Final = Printer(
    (
        NAME,
        AGE,
        shows("SignerName", "certificates.v1.CertificateSigningRequestSpec", "signerName"),
        shows("Requestor", "certificates.v1.CertificateSigningRequestSpec", "request"),
        shows("RequestedDuration", "certificates.v1.CertificateSigningRequestSpec", "expirationSeconds"),
        shows("Condition", "certificates.v1.CertificateSigningRequestStatus", "conditions"),
    ),
    _signing_request_cells,
)


def _trust_bundle_cells(bundle: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    return name_of(bundle), part(bundle, "spec").get("signerName") or NONE


CLUSTER_TRUST_BUNDLES: Final = Printer(
    (NAME, shows("SignerName", "certificates.v1beta1.ClusterTrustBundleSpec", "signerName")), _trust_bundle_cells
)


def _flow_schema_cells(schema: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(schema, "spec")
    method = spec.get("distinguisherMethod")
    dangling = "?"
    for condition in part(schema, "status").get("conditions") or ():
        if condition.get("type") == "Dangling":
            dangling = condition.get("status", "")
            break
    return (
        name_of(schema),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""),
        age(schema, now_ns),
        dangling,
    )


FLOW_SCHEMAS: Final = Printer(
    (
        NAME,
        shows("PriorityLevel", "flowcontrol.v1.PriorityLevelConfigurationReference", "name"),
        shows("MatchingPrecedence", "flowcontrol.v1.FlowSchemaSpec", "matchingPrecedence"),
        shows("DistinguisherMethod", "flowcontrol.v1.FlowSchemaSpec", "distinguisherMethod"),
        AGE,
        Column("MissingPL", description="references a broken or non-existent PriorityLevelConfiguration"),
    ),
    _flow_schema_cells,
)


def _priority_level_cells(level: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(level, "spec")
    limited = spec.get("limited")
    queuing = part(spec, "limited", "limitResponse").get("queuing")
    numbers = ("queues", "handSize", "queueLengthLimit")
    return (
        name_of(level),
        spec.get("type", ""),
        NONE if limited is None else limited.get("nominalConcurrencyShares", 0),
        *(NONE if queuing is None else queuing.get(number, 0) for number in numbers),
        age(level, now_ns),
    )


PRIORITY_LEVELS: Final = Printer(
    (
        NAME,
        shows("Type", "flowcontrol.v1.PriorityLevelConfigurationSpec", "type"),
        shows(
            "NominalConcurrencyShares",
            "flowcontrol.v1.LimitedPriorityLevelConfiguration",
            "nominalConcurrencyShares",
        ),
        shows("Queues", "flowcontrol.v1.QueuingConfiguration", "queues"),
        shows("HandSize", "flowcontrol.v1.QueuingConfiguration", "handSize"),
        shows("QueueLengthLimit", "flowcontrol.v1.QueuingConfiguration", "queueLengthLimit"),
        AGE,
    ),
    _priority_level_cells,
)


def _runtime_class_cells(runtime_class: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(runtime_class), runtime_class.get("handler", ""), age(runtime_class, now_ns)


RUNTIME_CLASSES: Final = Printer((NAME, Column("Handler"), AGE), _runtime_class_cells)


def _migration_cells(migration: Object, now_ns: int) -> Sequence[Cell]:  # noqa: ARG001 - the signature of all printers
    resource = part(migration, "spec", "resource")
    return name_of(migration), ".".join(resource.get(key, "") for key in ("resource", "version", "group"))


STORAGE_VERSION_MIGRATIONS: Final = Printer(
    (Column("Name", field=NAME.field), Column("Resource", description="Fully qualified resource to migrate")),
    _migration_cells,
)


def _api_service_cells(service: Object, now_ns: int) -> Sequence[Cell]:
    reference = part(service, "spec").get("service")
    host = "Local" if reference is None else f"{reference.get('namespace', '')}/{reference.get('name', '')}"
    return name_of(service), host, _availability(service), age(service, now_ns)


def _availability(service: Object) -> str:
    for condition in part(service, "status").get("conditions") or ():
        if condition.get("type") == "Available":
            status, reason = condition.get("status", ""), condition.get("reason")
            return f"{status} ({reason})" if reason and status != "True" else status
    return "Unknown"


API_SERVICES: Final = Printer(
    (
        NAME,
        Column("Service", description="The reference to the service that hosts this API endpoint."),
        Column("Available", description="Whether this service is available."),
        AGE,
    ),
    _api_service_cells,
)

CERTIFICATES_PRINTERS: Final[Mapping[str, Printer]] = {
    "certificatesigningrequests": CERTIFICATE_SIGNING_REQUESTS,
    "clustertrustbundles": CLUSTER_TRUST_BUNDLES,
}
FLOW_CONTROL_PRINTERS: Final[Mapping[str, Printer]] = {
    "flowschemas": FLOW_SCHEMAS,
    "prioritylevelconfigurations": PRIORITY_LEVELS,
}
NODE_PRINTERS: Final[Mapping[str, Printer]] = {"runtimeclasses": RUNTIME_CLASSES}
MIGRATION_PRINTERS: Final[Mapping[str, Printer]] = {"storageversionmigrations": STORAGE_VERSION_MIGRATIONS}
REGISTRATION_PRINTERS: Final[Mapping[str, Printer]] = {"apiservices": API_SERVICES}
