"""The Starlette router: operations and public pages with the middleware of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.middleware import Middleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from novikoff.service import page
from novikoff.service.docs_page import DOCS_POLICY
from novikoff.service.errors import Error
from novikoff.service.middleware import (
    AuthMiddleware,
    BodyMiddleware,
    ConcurrencyMiddleware,
    ContextMiddleware,
    PageHeadersMiddleware,
    RateLimitMiddleware,
    SameOriginMiddleware,
    ScopeMiddleware,
    Security,
)
from novikoff.service.rate import Rates
from novikoff.service.routes import PUBLIC, ROUTES
from novikoff.service.security_headers import page_headers

NOT_FOUND = Error(404, "no-such-path", "There is nothing at this path: see /v1/openapi.json.")


class Reject:
    """An ASGI application that answers every request with one error."""

    def __init__(self, error: Error) -> None:
        self.error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["context"].reject(self.error)


def build_router(security: Security, endpoints: Mapping[str, ASGIApp], lifespan: Any = None) -> Router:
    """Return the application. `endpoints` are ASGI applications by the name of their operation or the path of their
    public page. Without a valid token unknown paths and methods answer 401, like those that exist."""
    limits = security.limits

    def same_origin(name: str, *, public: bool = False) -> Middleware:
        return Middleware(SameOriginMiddleware, security, route=name, public=public)

    limiter = [Middleware(RateLimitMiddleware, Rates(limits.rate))] if limits.rate else []
    authenticated = [Middleware(AuthMiddleware, security), *limiter]
    unknown = [same_origin("unknown"), *authenticated, Middleware(ScopeMiddleware, None)]

    routes, allowed = [], dict[str, set[str]]()
    for operation in ROUTES:
        middleware = [
            same_origin(operation.name),
            *authenticated,
            Middleware(ScopeMiddleware, operation.scope),
            Middleware(BodyMiddleware, limits, operation.takes),
            Middleware(ConcurrencyMiddleware, security),
        ]
        routes.append(
            Route(operation.path, endpoints[operation.name], methods=[operation.method], middleware=middleware)
        )
    for path, name in PUBLIC.items():
        middleware = [same_origin(name, public=True), *limiter, Middleware(BodyMiddleware, limits, ())]
        if not path.startswith("/v1/"):
            policy = DOCS_POLICY if path == "/docs" else page.POLICY
            middleware.append(Middleware(PageHeadersMiddleware, page_headers(policy, tls=security.tls)))
        routes.append(Route(path, endpoints[path], methods=["GET"], middleware=middleware))
    for route in routes:
        allowed.setdefault(route.path, set()).update(route.methods or ())
    for path, methods in allowed.items():
        names = ", ".join(sorted(methods))
        error = Error(405, "other-method", f"This path takes {names} only.", ((b"allow", names.encode()),))
        routes.append(Route(path, Reject(error), middleware=unknown))
    for route in routes:  # Starlette's "$" matches before a newline at the end, too
        route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    not_found: ASGIApp = Reject(NOT_FOUND)
    for kind, arguments, options in reversed(unknown):
        not_found = kind(not_found, *arguments, **options)
    return Router(
        routes,
        redirect_slashes=False,
        default=not_found,
        lifespan=lifespan,
        middleware=[Middleware(ContextMiddleware, security)],
    )
