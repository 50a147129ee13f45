"""The HTTP layer: routes, middleware, bodies, errors."""
