"""All routes of the simulator's REST API; each topic has a module of its own."""

from __future__ import annotations

from typing import Final

from schedlab.web import (
    cluster_map,
    decisions,
    mirroring,
    pages,
    past,
    scenarios,
    sessions,
    shadows,
    status,
    traces,
    whatif,
)
from schedlab.web.routing import Route

ROUTES: Final[tuple[Route, ...]] = (
    *pages.ROUTES,
    *sessions.ROUTES,
    *status.ROUTES,
    *cluster_map.ROUTES,
    *past.ROUTES,
    *decisions.ROUTES,
    *whatif.ROUTES,
    *mirroring.ROUTES,
    *traces.ROUTES,
    *shadows.ROUTES,
    *scenarios.ROUTES,
)

#: What can be called, as the reference writes it: `GET /api/v1/status`.
REST_PATHS: Final = tuple(f"{route.method} {route.template}" for route in ROUTES)
