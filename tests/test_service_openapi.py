"""The OpenAPI document: valid, and of the same routes as the gate."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("msgspec", reason="the service is an extra: novikoff[serve]")

from novikoff.service.openapi import document
from novikoff.service.routes import ROUTES
from novikoff.service.table import OPEN, Table


def references(part: Any) -> set[str]:
    if isinstance(part, dict):
        own = {part["$ref"]} if "$ref" in part else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_every_route_is_there_with_its_scope_bodies_and_errors() -> None:
    whole = document()
    listed = {(method.upper(), path) for path, methods in whole["paths"].items() for method in methods}
    assert listed == {(route.method, route.path) for route in ROUTES} | {
        ("GET", path) for path in ("/healthz", "/readyz", "/v1/openapi.json")
    }
    for route in ROUTES:
        operation = whole["paths"][route.path][route.method.lower()]
        assert operation["security"] == [{"bearer": [route.scope]}]
        assert operation["operationId"] == route.name
        assert set(operation.get("requestBody", {}).get("content", {})) == set(route.takes)
        assert set(operation["responses"][str(route.status)].get("content", {})) == set(route.gives)
        assert {"401", "403", *map(str, route.problems)} <= set(operation["responses"])
        named = {(parameter["in"], parameter["name"]) for parameter in operation.get("parameters", [])}
        assert (("path", "name") in named) == ("{name}" in route.path)
        assert (("header", "Idempotency-Key") in named) == route.retried
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/Problem")
    for reference in references(whole):
        assert reference.rpartition("/")[2] in whole["components"]["schemas"]
    assert json.loads(json.dumps(whole)) == whole


def test_the_gate_finds_what_the_document_lists() -> None:
    table = Table(ROUTES, OPEN)
    for path, methods in document()["paths"].items():
        found, name = table.find(path.replace("{name}", "a.b-c_1"))
        assert {method.upper() for method in methods} <= set(found)
        assert name == ("a.b-c_1" if "{name}" in path else None)
        for method, operation in methods.items():
            scope = found[method.upper()].scope
            assert operation["security"] == ([] if scope is None else [{"bearer": [scope]}])


def test_without_tokens_none_is_needed() -> None:
    operations = [operation for methods in document(closed=False)["paths"].values() for operation in methods.values()]
    assert all({} in operation["security"] for operation in operations if operation["security"])


def test_the_document_is_valid_openapi() -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="openapi-spec-validator is of the extra dev")
    for closed in (True, False):
        validator.validate(document(closed=closed), cls=validator.OpenAPIV31SpecValidator)
    broken = document()
    del broken["paths"]["/v1/models"]["get"]["responses"]["200"]["description"]
    with pytest.raises(Exception, match="description"):
        validator.validate(broken, cls=validator.OpenAPIV31SpecValidator)
