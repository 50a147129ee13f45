"""The OpenAPI document is valid and lists the routes of the router; the page that shows it."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from starlette.routing import Match

from novikoff.server.http.auth import TokenStore
from novikoff.server.http.docs_page import DOCS_POLICY, render_docs
from novikoff.server.http.openapi import build_document
from novikoff.server.http.routes import OPERATIONS
from novikoff.server.ops.limits import Limits
from tests.helpers.server.middleware import MiddlewareStack


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_every_route_has_its_scope_bodies_and_errors() -> None:
    whole = build_document()
    listed = {(method.upper(), path) for path, methods in whole["paths"].items() for method in methods}
    assert listed == {(route.method, route.path) for route in OPERATIONS} | {
        ("GET", path) for path in ("/healthz", "/readyz", "/v1/openapi.json")
    }
    for route in OPERATIONS:
        operation = whole["paths"][route.path][route.method.lower()]
        assert operation["security"] == [{"bearer": [route.scope]}]
        assert operation["operationId"] == route.name
        assert set(operation.get("requestBody", {}).get("content", {})) == set(route.takes)
        assert set(operation["responses"][str(route.status)].get("content", {})) == set(route.response_types)
        assert {"401", "403", *map(str, route.problems)} <= set(operation["responses"])
        named = {(parameter["in"], parameter["name"]) for parameter in operation.get("parameters", [])}
        assert (("path", "name") in named) == ("{name}" in route.path)
        assert (("header", "Idempotency-Key") in named) == route.accepts_key
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
    for reference in references(whole):
        assert reference.rpartition("/")[2] in whole["components"]["schemas"]
    assert json.loads(json.dumps(whole)) == whole


def test_the_router_knows_every_documented_route(tmp_path: Path) -> None:
    stack = MiddlewareStack(None, tokens=TokenStore(tmp_path), limits=Limits(), loopback=True)
    operations = {(operation.method, operation.path): operation for operation in OPERATIONS}
    for path, methods in build_document()["paths"].items():
        for method, operation in methods.items():
            scope = {"type": "http", "method": method.upper(), "path": path.replace("{name}", "a.b-c_1")}
            found = next(r for r in stack.router.routes if r.matches(scope)[0] is Match.FULL)
            assert (found.path, method.upper() in found.methods) == (path, True)
            named = found.matches(scope)[1]["path_params"]
            assert named == ({"name": "a.b-c_1"} if "{name}" in path else {})
            listed = operations.get((method.upper(), path))
            assert operation["security"] == ([] if listed is None else [{"bearer": [listed.scope]}])


def test_the_page_shows_every_operation_and_loads_no_other_file() -> None:
    page = render_docs(build_document()).decode()
    for route in OPERATIONS:
        assert f"<code>{route.path}</code> {escape(route.sentence)}" in page
    for name in build_document()["components"]["schemas"]:
        assert f'id="{name}"' in page
    assert "<script" not in page
    assert "http" not in page.replace("HTTP", "")
    digest = base64.b64encode(hashlib.sha256(page.split("<style>")[1].split("</style>")[0].encode()).digest())
    assert f"style-src 'sha256-{digest.decode()}'" in DOCS_POLICY


def test_without_tokens_the_document_requires_none() -> None:
    operations = [
        operation for methods in build_document(closed=False)["paths"].values() for operation in methods.values()
    ]
    assert all({} in operation["security"] for operation in operations if operation["security"])


def test_the_document_is_valid_openapi() -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is of the extra dev")
    for closed in (True, False):
        validator.validate(build_document(closed=closed), cls=validator.OpenAPIV31SpecValidator)
    broken = build_document()
    del broken["paths"]["/v1/models"]["get"]["responses"]["200"]["description"]
    with pytest.raises(Exception, match="description"):
        validator.validate(broken, cls=validator.OpenAPIV31SpecValidator)
