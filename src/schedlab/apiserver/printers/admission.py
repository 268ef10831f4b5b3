"""The columns of the admissionregistration.k8s.io group's kinds.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from schedlab.apimachinery.table import AGE, NAME, UNSET, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part


def _webhook_cells(configuration: Object, now_ns: int) -> Sequence[Cell]:
    return name_of(configuration), len(configuration.get("webhooks") or ()), age(configuration, now_ns)


WEBHOOKS: Final = Printer(
    (
        NAME,
        Column(
            "Webhooks",
            "integer",
            description="Webhooks indicates the number of webhooks registered in this configuration",
        ),
        AGE,
    ),
    _webhook_cells,
)


def _param_kind(policy: Object) -> str:
    kind = part(policy, "spec").get("paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _validating_policy_cells(policy: Object, now_ns: int) -> Sequence[Cell]:
    count = len(part(policy, "spec").get("validations") or ())
    return name_of(policy), count, _param_kind(policy), age(policy, now_ns)


def _mutating_policy_cells(policy: Object, now_ns: int) -> Sequence[Cell]:
    count = len(part(policy, "spec").get("mutations") or ())
    return name_of(policy), count, _param_kind(policy), age(policy, now_ns)


_PARAM_KIND: Final = Column(
    "ParamKind", description="ParamKind specifies the kind of resources used to parameterize this policy"
)
VALIDATING_ADMISSION_POLICIES: Final = Printer(
    (
        NAME,
        Column(
            "Validations",
            "integer",
            description="Validations indicates the number of validation rules defined in this configuration",
        ),
        _PARAM_KIND,
        AGE,
    ),
    _validating_policy_cells,
)
MUTATING_ADMISSION_POLICIES: Final = Printer(
    (
        NAME,
        Column(
            "Mutations",
            "integer",
            description="Mutation indicates the number of mutations rules defined in this configuration",
        ),
        _PARAM_KIND,
        AGE,
    ),
    _mutating_policy_cells,
)


def _policy_binding_cells(binding: Object, now_ns: int) -> Sequence[Cell]:
    spec = part(binding, "spec")
    return name_of(binding), spec.get("policyName", ""), _param_ref(spec.get("paramRef")), age(binding, now_ns)


def _param_ref(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return UNSET if selector is None else _go_selector(selector)


def _go_selector(selector: Mapping[str, Any]) -> str:
    """Print a label selector as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{expression.get('key', '')},Operator:{expression.get('operator', '')},"
        f"Values:[{' '.join(expression.get('values') or ())}],}},"
        for expression in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


POLICY_BINDINGS: Final = Printer(
    (
        NAME,
        Column(
            "PolicyName",
            description="PolicyName indicates the policy definition which the policy binding binded to",
        ),
        Column("ParamRef", description="ParamRef indicates the param resource which sets the configration param"),
        AGE,
    ),
    _policy_binding_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "mutatingadmissionpolicies": MUTATING_ADMISSION_POLICIES,
    "mutatingadmissionpolicybindings": POLICY_BINDINGS,
    "mutatingwebhookconfigurations": WEBHOOKS,
    "validatingadmissionpolicies": VALIDATING_ADMISSION_POLICIES,
    "validatingadmissionpolicybindings": POLICY_BINDINGS,
    "validatingwebhookconfigurations": WEBHOOKS,
}
