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
from novikoff.server.http.routes import ADMIN, EVENTS, FILE, JSON, LEARN, NDJSON, PREDICT, ROUTES, TEXT, Operation

Document = dict[str, Any]

EVERYWHERE = (400, 401, 403, 429, 431, 503)
WITH_BODIES = (408, 413, 415)
MAY = {
    PREDICT: "predict, and read all but models' files and examples",
    LEARN: "learn",
    ADMIN: "everything",
}
ONE_OF = {"Prediction": ("features", "examples"), "Lesson": ("features", "id")}
"""Bodies with exactly one of these fields, which their types can't say."""
PLAIN: dict[str, Document] = {FILE: {"type": "string", "format": "binary"}, TEXT: {"type": "string"}}
PARTS = {NDJSON: "One JSON object a line.", EVENTS: "Server-sent events; the data of each is a JSON object."}
"""Media types whose bodies have many JSON objects."""
KEY: Document = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request that is sent again with the same key and body is applied once; a stream goes on where it "
    "stopped.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
OPEN = (
    ("/healthz", "health", "Whether the service is alive.", ()),
    ("/readyz", "ready", "Whether the service has its models and may be asked.", (503,)),
    ("/v1/openapi.json", "openapi", "This document.", ()),
)


def document(*, closed: bool = True, routes: Iterable[Operation] = ROUTES) -> Document:
    """`closed`: whether tokens are asked for.

    >>> sorted(document()["paths"]["/v1/models"])
    ['get', 'post']
    """
    routes = list(routes)
    paths: Document = {}
    for route in routes:
        operation = _operation(route)
        if not closed:
            operation["security"] = []
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    for path, name, sentence, problems in OPEN:
        answers = {"200": {"description": "Yes." if path != "/v1/openapi.json" else "The document."}}
        answers |= {str(status): _problem(status) for status in (400, 403, 429, 431, *problems)}
        paths[path] = {"get": {"operationId": name, "summary": sentence, "security": [], "responses": answers}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "novikoff serve",
            "version": __version__,
            "summary": "Predicts now, learns when the label comes, loses nothing that it has acknowledged.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(routes),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made by `novikoff serve token`. Scopes: "
                    + "; ".join(f"{scope} may {may}" for scope, may in MAY.items())
                    + ".",
                }
            },
        },
    }


def _operation(route: Operation) -> Document:
    statuses = {*EVERYWHERE, *(WITH_BODIES if route.takes else ()), *route.problems}
    answer: Document = {"description": HTTPStatus(route.status).phrase + "."}
    if route.gives:
        answer["content"] = {media: {"schema": _reference(kind, media)} for media, kind in route.gives.items()}
    operation: Document = {
        "operationId": route.name,
        "summary": route.sentence,
        "description": f"Needs a token with the scope {route.scope}.",
        "security": [{"bearer": [route.scope]}],
        "responses": {
            str(route.status): answer,
            **{str(status): _problem(status) for status in sorted(statuses)},
        },
    }
    parameters = [] if route.query is None else _query_parameters(route.query)
    if "{name}" in route.path:
        schema = {"type": "string", "pattern": schemas.NAME}
        named = {"name": "name", "in": "path", "required": True, "description": "Of the model.", "schema": schema}
        parameters.insert(0, named)
    if route.retried:
        parameters.append(KEY)
    if parameters:
        operation["parameters"] = parameters
    if route.takes:
        content = {media: {"schema": _reference(kind, media)} for media, kind in route.takes.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _query_parameters(query: Any) -> list[Document]:
    """Return the fields of a query's struct. None is required: those without a default are for model files only."""
    properties = msgspec.json.schema_components([query])[1][query.__name__]["properties"]
    return [
        {"name": name, "in": "query", "description": schema.pop("description"), "schema": schema}
        for name, schema in properties.items()
    ]


def _problem(status: int) -> Document:
    answer: Document = {
        "description": HTTPStatus(status).phrase + ".",
        "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status == 401:
        answer["headers"] = {"WWW-Authenticate": {"schema": {"const": "Bearer"}}}
    if status in {429, 503}:
        answer["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 0}, "description": "Seconds."}}
    return answer


def _kinds(kind: Any) -> tuple[Any, ...]:
    """The types of which an answer has one."""
    return get_args(kind) if get_origin(kind) is types.UnionType else (kind,)


def _reference(kind: Any, media: str) -> Document:
    if kind is None:
        return PLAIN[media]
    references = [{"$ref": f"#/components/schemas/{one.__name__}"} for one in _kinds(kind)]
    schema = references[0] if len(references) == 1 else {"anyOf": references}
    if media in PARTS:
        return {"type": "string", "description": PARTS[media], "contentMediaType": JSON, "contentSchema": schema}
    return schema


def _schemas(routes: Iterable[Operation]) -> Document:
    used = dict.fromkeys(
        one
        for route in routes
        for kind in (*route.takes.values(), *route.gives.values())
        if kind is not None
        for one in _kinds(kind)
    )
    template = "#/components/schemas/{name}"
    _, components = msgspec.json.schema_components([*used, schemas.Problem], ref_template=template)
    for name, fields in ONE_OF.items():
        if name in components:
            components[name]["oneOf"] = [{"required": [field]} for field in fields]
    return components
