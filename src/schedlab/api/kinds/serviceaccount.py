"""Service accounts.

Mirrors: pkg/registry/core/serviceaccount/strategy.go, pkg/apis/core/validation/validation.go (v1.36)
Differs: nothing.
"""

from __future__ import annotations

from typing import Final

from schedlab.api.kinds.strategy import Context, Strategy, UpdateStrategy
from schedlab.api.object import Object
from schedlab.api.validation import meta
from schedlab.apimachinery import names
from schedlab.apimachinery.field import ErrorList

#: Once said which secrets pods of the account may mount.
_ENFORCED: Final = "kubernetes.io/enforce-mountable-secrets"


def _prepare(account: Object, _context: Context) -> None:
    if account.get("secrets"):  # a reference is a name
        account["secrets"] = [{"name": secret["name"]} if "name" in secret else {} for secret in account["secrets"]]


def _prepare_update(new: Object, _old: Object, context: Context) -> None:
    _prepare(new, context)


def _validate(account: Object, context: Context) -> ErrorList:
    errors = meta.validate(account["metadata"], names.name_is_dns_subdomain, namespaced=True)
    if not errors and _is_enforced(account):
        _warn(context)
    return errors


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    errors = meta.validate_update(new["metadata"], old["metadata"])
    errors += meta.validate(new["metadata"], names.name_is_dns_subdomain, namespaced=True)
    if not errors and _is_enforced(new) and not _is_enforced(old):
        _warn(context)
    return errors


def _is_enforced(account: Object) -> bool:
    return _ENFORCED in (account["metadata"].get("annotations") or {})


def _warn(context: Context) -> None:
    advice = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    context.warnings.append(f"metadata.annotations[{_ENFORCED}]: {advice}")


SERVICE_ACCOUNT: Final = Strategy(
    resource="serviceaccounts",
    validate=_validate,
    update=UpdateStrategy(_validate_update, _prepare_update),
    prepare=_prepare,
    returns_deleted=True,
)
