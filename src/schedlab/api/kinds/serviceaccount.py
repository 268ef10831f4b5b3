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


def _prepare(account: Object, _context: Context) -> None:
    # Tokens are made for an account, never given with it.
    account.pop("secrets", None)


def _validate(account: Object, _context: Context) -> ErrorList:
    return meta.validate(account["metadata"], names.name_is_dns_subdomain, namespaced=True)


def _validate_update(new: Object, old: Object, context: Context) -> ErrorList:
    return meta.validate_update(new["metadata"], old["metadata"]) + _validate(new, context)


SERVICE_ACCOUNT: Final = Strategy(
    resource="serviceaccounts",
    validate=_validate,
    update=UpdateStrategy(_validate_update),
    prepare=_prepare,
    returns_deleted=True,
)
