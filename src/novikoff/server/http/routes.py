"""The operations of the API: paths, scopes, bodies and statuses. Routing and the OpenAPI document are made of them."""

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
"""Paths that need no token, and the route that they are counted as."""


class Operation(NamedTuple):
    method: str
    path: str
    name: str
    """Of the handler."""
    scope: str
    sentence: str
    takes: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Media type → type of the body, or of each of its lines; None for a file."""
    response_types: dict[str, Any] = {}  # noqa: RUF012 - never changed
    """Media type → type of the response, or of each of its lines and events; None for a file or plain text."""
    status: int = 200
    problems: tuple[int, ...] = ()
    """Statuses of errors besides 400, 401, 403, 413, 429 and 503, which every route may answer."""
    query: type[Any] | None = None
    accepts_key: bool = False
    """Whether an Idempotency-Key has a meaning."""


# The most frequent come first: Starlette tries them in this order.
OPERATIONS = (
    Operation(
        "POST", "/v1/models/{name}/predict", "predict", PREDICT_SCOPE,
        "The label and score of one example or many; what is kept can be labelled later by its id.",
        {JSON: schemas.PredictRequest, NDJSON: schemas.Example},
        {JSON: schemas.PredictResponse | schemas.PredictionList, NDJSON: schemas.PredictResponse | schemas.Problem},
        problems=(404, 415, 422), query=schemas.PredictQuery,
    ),
    Operation(
        "POST", "/v1/models/{name}/learn", "learn", LEARN_SCOPE,
        "Learns examples with their labels, or the late label of a prediction. Answered when it is safe on the disk.",
        {JSON: schemas.LearnRequest, NDJSON: schemas.LearnRequest},
        {JSON: schemas.LearnResponse, NDJSON: schemas.LearnProgress | schemas.LearnResponse | schemas.Problem},
        problems=(404, 409, 410, 415, 422, 507), query=schemas.LearnQuery, accepts_key=True,
    ),
    Operation(
        "GET", "/v1/models", "models", PREDICT_SCOPE, "All models.", {}, {JSON: schemas.ModelList},
    ),
    Operation(
        "POST", "/v1/models", "create", ADMIN_SCOPE, "Makes a model, or takes a model file that was saved before.",
        {JSON: schemas.CreateRequest, OCTET_STREAM: None}, {JSON: schemas.ModelInfo}, 201,
        problems=(404, 409, 415, 422, 507), query=schemas.UploadQuery,
    ),
    Operation(
        "GET", "/v1/models/{name}", "model", PREDICT_SCOPE, "One model.", {}, {JSON: schemas.ModelInfo},
        problems=(404,),
    ),
    Operation(
        "DELETE", "/v1/models/{name}", "delete", ADMIN_SCOPE, "Removes a model and its journal.", {}, {}, 204,
        problems=(404, 409, 507),
    ),
    Operation(
        "POST", "/v1/models/{name}/promote", "promote", ADMIN_SCOPE,
        "Makes a challenger the champion of its stream; names stay, roles change.", {}, {JSON: schemas.ModelInfo},
        problems=(404, 409, 507),
    ),
    Operation(
        "GET", "/v1/models/{name}/ledger", "ledger", PREDICT_SCOPE,
        "Examples, mistakes and updates, late labels, and those who learn the same stream side by side.",
        {}, {JSON: schemas.LedgerResponse}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/models/{name}/certificate", "certificate", PREDICT_SCOPE,
        "What the theorems allow on the stream so far; bounds the mean error of the hypotheses used.",
        {}, {JSON: schemas.CertificateDocument},
        problems=(404, 409, 422),
    ),
    Operation(
        "GET", "/v1/models/{name}/inspect", "inspect", PREDICT_SCOPE, "The features that matter most.",
        {}, {JSON: schemas.Inspection},
        problems=(404, 409), query=schemas.InspectQuery,
    ),
    Operation(
        "GET", "/v1/models/{name}/history", "history", PREDICT_SCOPE, "The curve of mistakes over examples.",
        {}, {JSON: schemas.History}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/models/{name}/download", "download", ADMIN_SCOPE, "The model file.", {}, {OCTET_STREAM: None},
        problems=(404, 409),
    ),
    Operation(
        "GET", "/v1/models/{name}/examples", "examples", ADMIN_SCOPE,
        "What was learned, in order, as far as the journal reaches back.",
        {}, {NDJSON: schemas.LearnRequest}, problems=(404,),
    ),
    Operation(
        "GET", "/v1/events", "events", PREDICT_SCOPE, "What happens, as it happens.", {},
        {EVENT_STREAM: schemas.Snapshot},
    ),
    Operation("GET", "/metrics", "metrics", PREDICT_SCOPE, "Numbers for Prometheus.", {}, {METRICS_TEXT: None}),
)  # fmt: skip
