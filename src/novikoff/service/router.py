"""The Starlette router: operations and public pages, each with its middleware."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.middleware import Middleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from novikoff.service import page
from novikoff.service.docs_page import DOCS_POLICY
from novikoff.service.errors import API_HEADERS, Error, page_headers
from novikoff.service.middleware import (
    RequestMiddleware,
    Security,
    authenticate,
    authorize,
    check_body,
    check_headers,
    check_site,
    limit_concurrency,
    limit_rate,
)
from novikoff.service.routes import PUBLIC, ROUTES

AUTHORIZED = (check_headers, check_site, authenticate, limit_rate, authorize)
NOT_FOUND = Error(404, "no-such-path", "There is nothing at this path: see /v1/openapi.json.")


class Reject:
    """An ASGI application that answers every request with one error."""

    def __init__(self, error: Error) -> None:
        self.error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["request"].reject(self.error)


def build_router(security: Security, endpoints: Mapping[str, ASGIApp], lifespan: Any = None) -> Router:
    """Return the application. `endpoints` are ASGI applications by the name of their operation or the path of their
    public page. Without a valid token unknown paths and methods answer 401, like those that exist."""
    routes = []
    for operation in ROUTES:
        checks = (*AUTHORIZED, check_body, limit_concurrency)
        guard = Middleware(RequestMiddleware, security, operation.name, checks, operation.scope, operation.takes)
        routes.append(Route(operation.path, endpoints[operation.name], methods=[operation.method], middleware=[guard]))
    for path, name in PUBLIC.items():
        policy = DOCS_POLICY if path == "/docs" else page.POLICY
        headers = API_HEADERS if path.startswith("/v1/") else page_headers(policy)
        guard = Middleware(RequestMiddleware, security, name, (check_headers, limit_rate, check_body), headers=headers)
        routes.append(Route(path, endpoints[path], methods=["GET"], middleware=[guard]))
    allowed: dict[str, set[str]] = {}
    for route in routes:
        allowed.setdefault(route.path, set()).update(route.methods or ())
    for path, methods in allowed.items():
        names = ", ".join(sorted(methods))
        error = Error(405, "other-method", f"This path takes {names} only.", ((b"allow", names.encode()),))
        routes.append(Route(path, RequestMiddleware(Reject(error), security, "unknown", AUTHORIZED)))
    for route in routes:  # Starlette's "$" matches before a newline at the end, too
        route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    not_found = RequestMiddleware(Reject(NOT_FOUND), security, "unknown", AUTHORIZED)
    return Router(routes, redirect_slashes=False, default=not_found, lifespan=lifespan)
