"""The operations of the API: paths, scopes, bodies and statuses. Routes and the OpenAPI document are built from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff.server import dashboard
from novikoff.server.http import schemas

PREDICT_SCOPE, LEARN_SCOPE, ADMIN_SCOPE = "predict", "learn", "admin"
SCOPES = (PREDICT_SCOPE, LEARN_SCOPE, ADMIN_SCOPE)
JSON, NDJSON, OCTET_STREAM, METRICS_TEXT, EVENT_STREAM = (
    "application/json",
    "application/x-ndjson",
    "application/octet-stream",
    "text/plain; version=0.0.4; charset=utf-8",
    "text/event-stream",
)


PUBLIC_PATHS = {
    "/": "page",
    **{f"/{name}": "page" for name in dashboard.DASHBOARD_FILES},
    "/docs": "docs",
    "/healthz": "healthz",
    "/readyz": "readyz",
    "/v1/openapi.json": "openapi",
}
"""Paths that need no token, with the name of their route in metrics."""


class Operation(NamedTuple):
    method: str
    path: str
    name: str
    """Name of the handler."""
    scope: str
    sentence: str
    takes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Type of the body, or of each of its lines, by media type; None for a file."""
    response_types: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Type of the response, or of each of its lines or events, by media type; None for a file or plain text."""
    status: int = 200
    problems: tuple[int, ...] = ()
    """Error statuses besides 400, 401, 403, 413, 429 and 503, which every route can return."""
    query: type[Any] | None = None
    accepts_key: bool = False
    """Whether the header Idempotency-Key is used."""


# The most frequent operations stand first: Starlette matches routes in this order.
OPERATIONS = (
    Operation(
        "POST", "/v1/models/{name}/predict", "predict", PREDICT_SCOPE,
        "Predicts the label and score of one or more examples, with probabilities and explanations if requested. Kept"
        " predictions can be labelled later by their id.",
        {JSON: schemas.PredictRequest, NDJSON: schemas.Example},
        {JSON: schemas.PredictResponse | schemas.PredictionList, NDJSON: schemas.PredictResponse | schemas.Problem},
        problems=(404, 409, 415, 422), query=schemas.PredictQuery,
    ),
    Operation(
        "POST", "/v1/models/{name}/learn", "learn", LEARN_SCOPE,
        "Learns examples with their labels, or the label of an earlier prediction. Returns when they are durable.",
        {JSON: schemas.LearnRequest, NDJSON: schemas.LearnRequest},
        {JSON: schemas.LearnResponse, NDJSON: schemas.LearnProgress | schemas.LearnResponse | schemas.Problem},
        problems=(404, 409, 410, 415, 422, 507), query=schemas.LearnQuery, accepts_key=True,
    ),
    Operation(
        "GET", "/v1/models", "models", PREDICT_SCOPE, "Lists all models.", {}, {JSON: schemas.ModelList},
    ),
    Operation(
        "POST", "/v1/models", "create", ADMIN_SCOPE, "Creates a model, or uploads a saved model file.",
        {JSON: schemas.CreateRequest, OCTET_STREAM: None}, {JSON: schemas.ModelInfo}, 201,
        problems=(404, 409, 415, 422, 507), query=schemas.UploadQuery,
    ),
    Operation(
        "GET", "/v1/models/{name}", "model", PREDICT_SCOPE, "Describes one model.", {}, {JSON: schemas.ModelInfo},
        problems=(404,),
    ),
    Operation(
        "DELETE", "/v1/models/{name}", "delete", ADMIN_SCOPE, "Removes a model and its journal.", {}, {}, 204,
        problems=(404, 409, 507),
    ),
    Operation(
        "POST", "/v1/models/{name}/promote", "promote", ADMIN_SCOPE,
        "Promotes a challenger to the champion of its stream. Models keep their names.", {}, {JSON: schemas.ModelInfo},
        problems=(404, 409, 507),
    ),
    Operation(
        "GET", "/v1/models/{name}/ledger", "ledger", PREDICT_SCOPE,
        "Returns the counts of examples, mistakes, updates and late labels, and compares the models of the stream.",
        {}, {JSON: schemas.LedgerResponse}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/models/{name}/certificate", "certificate", PREDICT_SCOPE,
        "Returns a certificate of the stream so far: mistake bounds, and a bound for the mean error on new data.",
        {}, {JSON: schemas.CertificateDocument},
        problems=(404, 409, 422),
    ),
    Operation(
        "GET", "/v1/models/{name}/inspect", "inspect", PREDICT_SCOPE, "Returns the most important features.",
        {}, {JSON: schemas.Inspection},
        problems=(404, 409), query=schemas.InspectQuery,
    ),
    Operation(
        "GET", "/v1/models/{name}/history", "history", PREDICT_SCOPE, "Returns the mistake curve over examples.",
        {}, {JSON: schemas.History}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/models/{name}/download", "download", ADMIN_SCOPE, "Downloads the model file.",
        {}, {OCTET_STREAM: None},
        problems=(404, 409),
    ),
    Operation(
        "GET", "/v1/models/{name}/examples", "examples", ADMIN_SCOPE,
        "Returns the learned examples that are still in the journal, in order.",
        {}, {NDJSON: schemas.LearnRequest}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/events", "events", PREDICT_SCOPE, "Streams snapshots of all models and the server.", {},
        {EVENT_STREAM: schemas.Snapshot},
    ),
    Operation("GET", "/metrics", "metrics", PREDICT_SCOPE, "Returns Prometheus metrics.", {}, {METRICS_TEXT: None}),
)  # fmt: skip
