"""The OpenAPI 3.1 document, generated from the operations and the structs of their bodies."""

from __future__ import annotations

import types
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, get_args, get_origin

import msgspec

from novikoff import __version__
from novikoff.server.http import schemas
from novikoff.server.http.errors import PROBLEM_JSON
from novikoff.server.http.routes import (
    ADMIN_SCOPE,
    EVENT_STREAM,
    JSON,
    LEARN_SCOPE,
    METRICS_TEXT,
    NDJSON,
    OCTET_STREAM,
    OPERATIONS,
    PREDICT_SCOPE,
    Operation,
)

Document = dict[str, Any]

COMMON_STATUSES = (400, 401, 403, 429, 431, 503)
BODY_STATUSES = (408, 413, 415)
SCOPE_DESCRIPTIONS = {
    PREDICT_SCOPE: "predict, and to read everything except model files and examples",
    LEARN_SCOPE: "learn",
    ADMIN_SCOPE: "do everything",
}
ONE_OF_FIELDS = {"PredictRequest": ("features", "examples"), "LearnRequest": ("features", "id")}
"""Bodies that must have exactly one of these fields, which their types can't express."""
PLAIN_SCHEMAS: dict[str, Document] = {
    OCTET_STREAM: {"type": "string", "format": "binary"},
    METRICS_TEXT: {"type": "string"},
}
STREAM_DESCRIPTIONS = {
    NDJSON: "One JSON object per line.",
    EVENT_STREAM: "Server-sent events; the data of each event is a JSON object.",
}
"""Media types whose bodies are sequences of JSON objects."""
IDEMPOTENCY_KEY_PARAMETER: Document = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request that is repeated with the same key and body is applied once; a repeated stream continues "
    "where it stopped.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
PUBLIC_OPERATIONS = (
    ("/healthz", "health", "Liveness check.", ()),
    ("/readyz", "ready", "Readiness check: the models are loaded and the journal can be written.", (503,)),
    ("/v1/openapi.json", "openapi", "This document.", ()),
)


def build_document(*, closed: bool = True, routes: Iterable[Operation] = OPERATIONS) -> Document:
    """Return the OpenAPI document. `closed` says whether requests need tokens.

    >>> sorted(build_document()["paths"]["/v1/models"])
    ['get', 'post']
    """
    routes = list(routes)
    paths: Document = {}
    for route in routes:
        operation = _describe_operation(route)
        if not closed:
            operation["security"] = []
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    for path, name, sentence, problems in PUBLIC_OPERATIONS:
        responses = {"200": {"description": "Yes." if path != "/v1/openapi.json" else "The document."}}
        responses |= {str(status): _describe_problem(status) for status in (400, 403, 429, 431, *problems)}
        paths[path] = {"get": {"operationId": name, "summary": sentence, "security": [], "responses": responses}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "novikoff serve",
            "version": __version__,
            "summary": "Online prediction and learning. Every acknowledged example is durable.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _build_components(routes),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token created by `novikoff serve token`. Scopes: "
                    + "; ".join(f"{scope} allows to {may}" for scope, may in SCOPE_DESCRIPTIONS.items())
                    + ".",
                }
            },
        },
    }


def _describe_operation(route: Operation) -> Document:
    statuses = {*COMMON_STATUSES, *(BODY_STATUSES if route.takes else ()), *route.problems}
    response: Document = {"description": HTTPStatus(route.status).phrase + "."}
    if route.response_types:
        response["content"] = {
            media: {"schema": _build_schema(kind, media)} for media, kind in route.response_types.items()
        }
    operation: Document = {
        "operationId": route.name,
        "summary": route.sentence,
        "description": f"Needs a token with the scope {route.scope}.",
        "security": [{"bearer": [route.scope]}],
        "responses": {
            str(route.status): response,
            **{str(status): _describe_problem(status) for status in sorted(statuses)},
        },
    }
    parameters = [] if route.query is None else _query_parameters(route.query)
    if "{name}" in route.path:
        schema = {"type": "string", "pattern": schemas.MODEL_NAME_PATTERN}
        named = {"name": "name", "in": "path", "required": True, "description": "Name of the model.", "schema": schema}
        parameters.insert(0, named)
    if route.accepts_key:
        parameters.append(IDEMPOTENCY_KEY_PARAMETER)
    if parameters:
        operation["parameters"] = parameters
    if route.takes:
        content = {media: {"schema": _build_schema(kind, media)} for media, kind in route.takes.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _query_parameters(query: Any) -> list[Document]:
    """Return the parameters of a query struct. None is required: fields without a default are for uploads only."""
    properties = msgspec.json.schema_components([query])[1][query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "description": schema.pop("description"), "schema": schema}
        for name, schema in properties.items()
    ]


def _describe_problem(status: int) -> Document:
    response: Document = {
        "description": HTTPStatus(status).phrase + ".",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status == 401:
        response["headers"] = {"WWW-Authenticate": {"schema": {"const": "Bearer"}}}
    if status in {429, 503}:
        response["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds."}}
    return response


def _list_union_types(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union type, or the type itself."""
    return get_args(kind) if get_origin(kind) is types.UnionType else (kind,)


def _build_schema(kind: Any, media: str) -> Document:
    if kind is None:
        return PLAIN_SCHEMAS[media]
    references = [{"$ref": f"#/components/schemas/{one.__name__}"} for one in _list_union_types(kind)]
    schema = references[0] if len(references) == 1 else {"anyOf": references}
    if media in STREAM_DESCRIPTIONS:
        return {
            "type": "string",
            "description": STREAM_DESCRIPTIONS[media],
            "contentMediaType": JSON,
            "contentSchema": schema,
        }
    return schema


def _build_components(routes: Iterable[Operation]) -> Document:
    used = dict.fromkeys(
        one
        for route in routes
        for kind in (*route.takes.values(), *route.response_types.values())
        if kind is not None
        for one in _list_union_types(kind)
    )
    template = "#/components/schemas/{name}"
    _, components = msgspec.json.schema_components([*used, schemas.Problem], ref_template=template)
    for name, fields in ONE_OF_FIELDS.items():
        if name in components:
            components[name]["oneOf"] = [{"required": [field]} for field in fields]
    return components
