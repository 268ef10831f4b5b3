"""The columns of role bindings; roles have the default ones.

Mirrors: pkg/printers/internalversion/printers.go (v1.36)
Differs: nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from schedlab.apimachinery.table import AGE, NAME, Cell, Column, Object, Printer, age, name_of
from schedlab.apiserver.printers.common import part


def _binding_cells(binding: Object, now_ns: int) -> Sequence[Cell]:
    role = part(binding, "roleRef")
    subjects = binding.get("subjects") or ()
    return (
        name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(binding, now_ns),
        ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == "User"),
        ", ".join(subject.get("name", "") for subject in subjects if subject.get("kind") == "Group"),
        ", ".join(
            f"{subject.get('namespace', '')}/{subject.get('name', '')}"
            for subject in subjects
            if subject.get("kind") == "ServiceAccount"
        ),
    )


def _binding_columns(kind: str, role: str) -> tuple[Column, ...]:
    # The texts are those of v1beta1; the ones of v1 go on about immutability.
    unresolved = " If the RoleRef cannot be resolved, the Authorizer must return an error."
    return (
        NAME,
        Column("Role", description=role + unresolved),
        AGE,
        Column("Users", description=f"Users in the {kind}", priority=1),
        Column("Groups", description=f"Groups in the {kind}", priority=1),
        Column("ServiceAccounts", description=f"ServiceAccounts in the {kind}", priority=1),
    )


ROLE_BINDINGS: Final = Printer(
    _binding_columns(
        "roleBinding",
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global namespace.",
    ),
    _binding_cells,
)
CLUSTER_ROLE_BINDINGS: Final = Printer(
    _binding_columns("clusterRoleBinding", "RoleRef can only reference a ClusterRole in the global namespace."),
    _binding_cells,
)

PRINTERS: Final[Mapping[str, Printer]] = {
    "clusterrolebindings": CLUSTER_ROLE_BINDINGS,
    "rolebindings": ROLE_BINDINGS,
}
