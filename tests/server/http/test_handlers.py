"""Handlers, errors and documents of the API, by Starlette's test client: no process, no socket."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("starlette", reason="the service is an extra: novikoff[serve]")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it prefers httpx2 to httpx, and either does
    TestClient = pytest.importorskip("starlette.testclient", reason="httpx is of the extra dev").TestClient

from novikoff import SGD, __version__, explain
from novikoff.certificates.verify import verify
from novikoff.errors import NovikoffError
from novikoff.server.http import auth, schemas
from novikoff.server.http.app import ApiHandlers
from novikoff.server.http.auth import TokenStore
from novikoff.server.http.middleware import Security
from novikoff.server.http.routes import OPERATIONS, PUBLIC_PATHS
from novikoff.server.models.certificates import build_matrix
from novikoff.server.ops.limits import Limits
from novikoff.server.ops.metrics import Metrics
from novikoff.server.storage.recovery import open_registry, prepare_folder

NDJSON = {"content-type": "application/x-ndjson"}
LEARNERS = (
    "all-vs-all", "arow", "auto", "averaged-perceptron", "balanced-winnow", "elimination", "hierarchical",
    "kernel-perceptron", "kesler", "margin-perceptron", "multi-label", "multilayer-perceptron", "one-vs-all",
    "online-bagging", "online-boosting", "online-to-batch", "output-code", "p-norm-perceptron", "perceptron",
    "rectangle", "sgd",
    "voted-perceptron", "winnow", "winnow-r",
)  # fmt: skip
LABELS: dict[str, tuple[Any, ...]] = {
    "kesler": ("a", "b", "c"),
    "one-vs-all": (1, 2, 3),
    "multi-label": (["a", "b"], ["a"]),
}
SETTINGS = {"p-norm-perceptron": {"p": 10}, "winnow": {"threshold": 4}, "winnow-r": {"threshold": 4}}


@contextlib.contextmanager
def serving(folder: Path, *, raise_server_exceptions: bool = True) -> Iterator[Any]:
    """Provide a client of an application that runs in this process."""
    prepare_folder(folder)
    registry, metrics = open_registry(folder, Limits()), Metrics()

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        registry.start()
        yield
        await registry.stop()

    security = Security(TokenStore(folder), registry.limits, loopback=True, observe=metrics.http.observe)
    app = ApiHandlers(registry, metrics, security).build(lifespan)
    with TestClient(app, "http://localhost", raise_server_exceptions=raise_server_exceptions) as client:
        yield client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with serving(tmp_path / "data") as client:
        yield client


def make(client: Any, learner: str = "perceptron", **settings: Any) -> Any:
    made = client.post("/v1/models", json={"name": "m", "learner": learner, "settings": settings})
    assert made.status_code == 201, made.text
    return made.json()


def learn_lines(client: Any, labels: tuple[Any, ...] = ("yes", "no")) -> list[tuple[dict[str, float], Any]]:
    examples = []
    for k in range(60):
        label = labels[k % len(labels)]
        examples.append(({"a": 1.0, f"w{k % 7}": 1.0, f"{label}!": 1.0}, label))
    body = "".join(json.dumps({"features": x, "label": y}) + "\n" for x, y in examples)
    learned = client.post("/v1/models/m/learn", content=body, headers=NDJSON)
    assert learned.status_code == 200, learned.text
    return examples


def code_of(response: Any) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == response.status_code
    assert problem["type"] == f"urn:novikoff:error:{problem['code']}"
    return response.status_code, problem["code"]


# --- Routes ---


def test_a_model_is_created_learns_predicts_and_is_deleted(client: Any) -> None:
    assert make(client)["ledger"]["examples"] == 0
    for label in ("yes", "no", "yes"):
        answer = client.post("/v1/models/m/learn", json={"features": {label: 1}, "label": label})
        assert (answer.status_code, answer.json()["status"]) == (200, "learned")
    predicted = client.post("/v1/models/m/predict", json={"features": {"yes": 1}})
    assert predicted.json()["label"] == "yes"
    late = client.post("/v1/models/m/learn", json={"id": predicted.json()["id"], "label": "yes"})
    assert late.json()["status"] == "learned"
    assert client.get("/v1/models/m/ledger").json()["pending"]["labelled"] == 1
    assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["m"]
    assert client.get("/v1/models/m/history").status_code == 200
    assert client.get("/v1/models/m/download").headers["content-disposition"] == 'attachment; filename="m.model"'
    assert len(client.get("/v1/models/m/examples").text.splitlines()) == 4
    assert client.delete("/v1/models/m").status_code == 204
    assert code_of(client.get("/v1/models/m")) == (404, "unknown-model")


def test_a_stream_of_lines_reports_its_progress(client: Any) -> None:
    make(client)
    lines = b"".join(b'{"features": {"a": %d}, "label": %d}\n' % (k, k % 2) for k in range(50))
    answer = client.post("/v1/models/m/learn", content=lines, headers=NDJSON | {"accept": "application/x-ndjson"})
    reports = [json.loads(line) for line in answer.text.splitlines()]
    assert reports[-1]["examples"] == 50
    answers = client.post("/v1/models/m/predict?keep=false", content=b'{"features": {"a": 1}}\n' * 3, headers=NDJSON)
    assert [json.loads(line)["id"] for line in answers.text.splitlines()] == [None] * 3


def test_a_challenger_is_promoted(client: Any) -> None:
    make(client)
    challenger = {"name": "c", "learner": "arow", "challenges": "m"}
    assert client.post("/v1/models", json=challenger).json()["role"] == "challenger"
    body = {"features": {"a": 1}, "label": 1}
    assert code_of(client.post("/v1/models/c/learn", json=body)) == (409, "challenger")
    assert client.post("/v1/models/c/promote").json()["role"] == "champion"
    assert client.post("/v1/models/c/learn", json=body).status_code == 200


def test_a_model_file_is_uploaded(client: Any) -> None:
    make(client)
    learn_lines(client)
    file = client.get("/v1/models/m/download").content
    octets = {"content-type": "application/octet-stream"}
    copy = client.post("/v1/models?name=copy", content=file, headers=octets)
    assert (copy.status_code, copy.json()["name"]) == (201, "copy")
    assert code_of(client.post("/v1/models?name=copy", content=file, headers=octets)) == (409, "name-taken")
    assert code_of(client.post("/v1/models?name=a/b", content=file, headers=octets)) == (422, "invalid-name")


@pytest.mark.parametrize("path", [path for path in PUBLIC_PATHS if path != "/docs"])
def test_public_paths_need_no_token(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "data"
    prepare_folder(folder)
    secret = auth.create_token(folder, ["predict"], 1, "a")
    with serving(folder) as client:
        answer, head = client.get(path), client.head(path)
        assert (answer.status_code, head.status_code, head.content) == (200, 200, b"")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert code_of(client.get("/v1/models")) == (401, "missing-token")
        me = {"authorization": f"Bearer {secret}"}
        assert client.get("/v1/models", headers=me).json() == {"models": []}
        assert code_of(client.post("/v1/models", json={"name": "m"}, headers=me)) == (403, "insufficient-scope")


# --- Errors ---


def test_unknown_paths_and_methods_are_refused(client: Any) -> None:
    assert code_of(client.get("/v1/nothing")) == (404, "not-found")
    assert code_of(client.get("/v1/models/")) == (404, "not-found")
    assert code_of(client.get("/healthz%0A")) == (404, "not-found")
    refused = client.put("/v1/models")
    assert code_of(refused) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD, POST"
    assert code_of(client.post("/healthz")) == (405, "method-not-allowed")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, "invalid-json"),
        ('{"label": 1}', 422, "invalid-body"),
        ('{"label": 1, "features": {"a": 1}, "id": "x"}', 422, "invalid-body"),
        ('{"label": 0.5, "features": {"a": 1}}', 422, "invalid-label"),
        ('{"label": 1, "id": "x"}', 404, "unknown-id"),
    ],
)
def test_invalid_bodies_are_refused(client: Any, body: str, status: int, code: str) -> None:
    make(client)
    headers = {"content-type": "application/json"}
    assert code_of(client.post("/v1/models/m/learn", content=body, headers=headers)) == (status, code)


def test_invalid_queries_and_keys_are_refused(client: Any) -> None:
    make(client)
    learn_lines(client)
    assert code_of(client.get("/v1/models/m/inspect?top=many")) == (400, "invalid-query")
    body = {"features": {"a": 1}, "label": "yes"}
    assert code_of(client.post("/v1/models/m/learn", json=body, headers={"idempotency-key": "a b"})) == (
        400,
        "invalid-idempotency-key",
    )
    key = {"idempotency-key": "k"}
    assert client.post("/v1/models/m/learn", json=body, headers=key).json()["status"] == "learned"
    assert client.post("/v1/models/m/learn", json=body, headers=key).json()["status"] == "already learned"
    body["label"] = "no"
    assert code_of(client.post("/v1/models/m/learn", json=body, headers=key)) == (422, "idempotency-key-reused")


def test_an_internal_error_does_not_leak_details(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("secret detail")

    monkeypatch.setattr(ApiHandlers, "_describe", fail)
    with serving(tmp_path / "data") as client:
        answer = client.post("/v1/models", json={"name": "m"})
        assert code_of(answer) == (500, "internal-error")
        assert "secret" not in answer.text


# --- Documents ---


def test_the_openapi_document_lists_the_routes(client: Any) -> None:
    document = client.get("/v1/openapi.json").json()
    assert (document["openapi"], document["info"]["version"]) == ("3.1.0", __version__)
    assert {operation.path for operation in OPERATIONS} <= set(document["paths"])
    assert "application/problem+json" in str(document)
    assert "<h1" in client.get("/docs").text


def test_metrics_count_requests(client: Any) -> None:
    client.get("/v1/models")
    client.get("/v1/nothing")
    text = client.get("/metrics").text
    assert 'novikoff_requests_total{route="models",status="200"} 1' in text
    assert 'novikoff_requests_total{route="unknown",status="404"} 1' in text


@pytest.mark.parametrize("learner", LEARNERS)
def test_certificates_and_inspections_have_the_fields_of_their_structs(client: Any, learner: str) -> None:
    """The structs refuse unknown fields, so a field that is missing in a struct fails here."""
    make(client, learner, **SETTINGS.get(learner, {}))
    examples = learn_lines(client, LABELS.get(learner, ("yes", "no")))
    inspected = client.get("/v1/models/m/inspect?top=3")
    if inspected.status_code != 409:
        assert inspected.status_code == 200, inspected.text
        msgspec.json.decode(inspected.content, type=schemas.Inspection)
    answer = client.get("/v1/models/m/certificate")
    if answer.status_code == 422:
        assert answer.json()["code"] == "not-certifiable"
        return
    assert answer.status_code == 200, answer.text
    msgspec.json.decode(answer.content, type=schemas.CertificateDocument)
    X, y = build_matrix(examples)
    try:
        assert verify(answer.json(), X, y) == []
    except NovikoffError as problem:
        pytest.fail(str(problem))


# --- Probabilities and explanations ---


def test_predictions_have_probabilities_and_explanations_only_if_requested(client: Any) -> None:
    make(client, "sgd", loss="logistic")
    path, x = "/v1/models/m/predict", {"a": 1.0, "yes!": 1.0}
    empty = client.post(path, json={"features": x, "keep": False, "probabilities": True}).json()
    assert empty == {"id": None, "label": None, "score": 0.0, "probabilities": []}
    assert code_of(client.post(path, json={"features": x, "explain": True})) == (409, "not-fitted")
    examples = learn_lines(client)
    reference = SGD(loss="logistic")
    for features, label in examples:
        reference.learn_one(features, label)
    assert set(client.post(path, json={"features": x}).json()) == {"id", "label", "score"}
    answer = client.post(path, json={"features": x, "probabilities": True, "explain": True}).json()
    assert answer["id"] is not None
    assert {one["label"]: one["probability"] for one in answer["probabilities"]} == reference.predict_proba_one(x)
    assert [one["label"] for one in answer["probabilities"]] == client.get("/v1/models/m").json()["labels"]
    found = answer["explanation"]
    assert found == json.loads(json.dumps(explain(reference, x).to_dict()))
    assert found["probability"] == reference.predict_proba_one(x)[found["label"]]
    assert found["score"] == pytest.approx(answer["score"], rel=1e-12)
    assert {part["feature"] for part in found["contributions"]} == {"a", "yes!"}
    many = client.post(path, json={"examples": [{"features": x}] * 2, "explain": True}).json()["predictions"]
    assert [one["explanation"] for one in many] == [found, found]


def test_a_stream_of_lines_is_explained_line_by_line(client: Any) -> None:
    make(client)
    lines = [json.dumps({"features": features}) for features, _ in learn_lines(client)[:5]]
    path = "/v1/models/m/predict?keep=false&explain=true&probabilities=true"
    response = client.post(path, content="\n".join(lines), headers=NDJSON)
    answers = [json.loads(line) for line in response.text.splitlines()]
    assert len(answers) == 5
    for line, answer in zip(lines, answers, strict=True):
        body = json.loads(line) | {"keep": False, "explain": True, "probabilities": True}
        assert client.post("/v1/models/m/predict", json=body).json() == answer
    broken = client.post(path, content="\n".join([*lines, '{"features": 1}']), headers=NDJSON)
    assert [json.loads(line).get("code") for line in broken.text.splitlines()] == [None] * 5 + ["invalid-body"]
    assert "Line 6" in json.loads(broken.text.splitlines()[-1])["detail"]
    assert code_of(client.post(path, content='{"features": 1}', headers=NDJSON)) == (422, "invalid-body")


@pytest.mark.parametrize("learner", LEARNERS)
def test_models_without_probabilities_or_a_linear_score_answer_with_a_problem(client: Any, learner: str) -> None:
    make(client, learner, **SETTINGS.get(learner, {}))
    learn_lines(client, LABELS.get(learner, ("yes", "no")))
    for field, code in (("probabilities", "no-probabilities"), ("explain", "not-explainable")):
        response = client.post("/v1/models/m/predict", json={"features": {"a": 1}, field: True})
        assert response.status_code == 200 or code_of(response) == (409, code)
        lines = client.post(f"/v1/models/m/predict?{field}=true", content='{"features": {"a": 1}}', headers=NDJSON)
        assert lines.status_code == response.status_code
    has_votes = learner in ("voted-perceptron", "kernel-perceptron", "online-bagging", "all-vs-all", "output-code")
    assert (response.status_code == 409) >= has_votes


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"explain": "yes"}, "invalid-body"),
        ({"probabilities": 1}, "invalid-body"),
        ({"explained": True}, "invalid-body"),
        ({"features": {"a": "text"}, "explain": True}, "invalid-body"),
    ],
)
def test_invalid_options_of_predictions_are_refused(client: Any, change: Any, code: str) -> None:
    make(client)
    learn_lines(client)
    assert code_of(client.post("/v1/models/m/predict", json={"features": {"a": 1}} | change)) == (422, code)


def test_too_many_examples_to_explain_are_refused(client: Any) -> None:
    make(client)
    learn_lines(client)
    body = {"examples": [{"features": {"a": 1}}] * 1001, "keep": False}
    assert client.post("/v1/models/m/predict", json=body | {"probabilities": True}).status_code == 200
    assert code_of(client.post("/v1/models/m/predict", json=body | {"explain": True})) == (422, "too-many-examples")
    wrong = client.post("/v1/models/m/predict?explain=maybe", content='{"features": {"a": 1}}', headers=NDJSON)
    assert code_of(wrong) == (400, "invalid-query")
