"""The client of `novikoff serve`. It needs only the standard library."""

from __future__ import annotations

import json
import os
import ssl
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from novikoff.client.transport import JSON, NDJSON, OCTET_STREAM, Transport
from novikoff.errors import InputError, ServiceError

Features = Mapping[str, Any] | Sequence[str] | str
"""Names with numbers, or names only; for models trained from files also a raw row or a text."""
Label = str | bool | int | float
Labels = Label | Sequence[Label]

BLOCK_LINES = 5_000
"""Number of lines of a stream sent in one request."""
BLOCK_BYTES = 4 << 20


class PredictionResult(NamedTuple):
    """A prediction. `id` identifies it for a late label; None if the prediction was not kept."""

    id: str | None
    label: Any
    score: float
    probabilities: dict[Any, float] | None = None
    """The probability of each label, if requested."""
    explanation: dict[str, Any] | None = None
    """The contributions of the features, if requested: what `Explanation.to_dict` returns."""


class LearnResult(NamedTuple):
    """The result of learning. `status` is "learned" or "already learned"; `refused` counts refused lines by reason."""

    status: str
    examples: int
    mistakes: int
    updates: int
    refused: dict[str, int]


class Client:
    """A client of one server. Threads may share a client: each has its own connection, which stays open.

    Temporary failures are retried up to `retries` times, with increasing delays. The client sends an idempotency key
    with each call, so that an example is learned once even if the request is repeated. `timeout` is in seconds, for
    each attempt; `context` is the TLS context for certificates that the system does not trust. Methods raise
    `ServiceError`.

    Example::

        from novikoff import Client

        client = Client("http://127.0.0.1:8000")
        client.create("fruit", "perceptron")
        client.learn("fruit", {"red": 1.0}, "apple")
        client.learn("fruit", {"long": 1.0}, "banana")
        guess = client.predict("fruit", ["long"])
        client.label("fruit", guess.id, "banana")  # when the label is known, maybe days later
        print(guess.label, client.ledger("fruit")["examples"])
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._transport = Transport(url, token, timeout, retries, context)

    # --- Models ---

    def create(
        self, name: str, learner: str = "auto", settings: Mapping[str, Any] | None = None, challenges: str | None = None
    ) -> dict[str, Any]:
        """Create a model. If it `challenges` another model, it learns the same examples as that one."""
        about = {"name": name, "learner": learner, "settings": dict(settings or {}), "challenges": challenges}
        return self._transport.request_json("POST", "/v1/models", _to_json(about), JSON, once=True)

    def upload(self, name: str, file: str | os.PathLike[str] | bytes, challenges: str | None = None) -> dict[str, Any]:
        """Upload a model file written by `novikoff.save`, by its path or its content."""
        if not isinstance(file, bytes):
            with open(file, "rb") as opened:
                file = opened.read()
        query = {"name": name} | ({} if challenges is None else {"challenges": challenges})
        return self._transport.request_json("POST", f"/v1/models?{urlencode(query)}", file, OCTET_STREAM, once=True)

    def models(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._transport.request_json("GET", "/v1/models")["models"]
        return listed

    def model(self, name: str) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name))

    def delete(self, name: str) -> None:
        self._transport.ask("DELETE", _model_path(name), once=True)

    def promote(self, name: str) -> dict[str, Any]:
        """Promote a challenger to the champion of its stream."""
        return self._transport.request_json("POST", _model_path(name, "promote"), once=True)

    # --- Predicting and learning ---

    def predict(
        self, name: str, features: Features, *, keep: bool = True, probabilities: bool = False, explain: bool = False
    ) -> PredictionResult:
        """Predict the label of one example. With `keep`, the prediction can be labelled later.

        `probabilities` asks for the probability of each label, and `explain` for the contribution of each feature to
        the score. `ServiceError` has the code "no-probabilities" or "not-explainable" if the model has none.
        """
        body = {"features": features, "keep": keep} | _select_true(probabilities=probabilities, explain=explain)
        response = self._transport.request_json("POST", _model_path(name, "predict"), _to_json(body), JSON)
        return _read_prediction(response)

    def predict_many(
        self,
        name: str,
        examples: Iterable[Features],
        *,
        keep: bool = True,
        probabilities: bool = False,
        explain: bool = False,
    ) -> list[PredictionResult]:
        return list(self.predict_stream(name, examples, keep=keep, probabilities=probabilities, explain=explain))

    def predict_stream(
        self,
        name: str,
        examples: Iterable[Features],
        *,
        keep: bool = True,
        probabilities: bool = False,
        explain: bool = False,
    ) -> Iterator[PredictionResult]:
        """Yield predictions in the order of the examples, which are sent in blocks."""
        query = ({} if keep else {"keep": "false"}) | dict.fromkeys(
            _select_true(probabilities=probabilities, explain=explain), "true"
        )
        path = _model_path(name, "predict") + (f"?{urlencode(query)}" if query else "")
        for lines in _iter_blocks(_to_json({"features": features}) for features in examples):
            response = self._transport.ask("POST", path, b"".join(lines), NDJSON, accept=NDJSON)
            predicted = [json.loads(line) for line in response.splitlines()]
            for one in predicted:
                if "error" in one:
                    raise ServiceError(200, one.get("code", "internal-error"), one.get("detail", one["error"]))
            if len(predicted) != len(lines):
                raise ServiceError(
                    200,
                    "incomplete-response",
                    f"The server returned {len(predicted)} predictions for {len(lines)} examples.",
                )
            yield from map(_read_prediction, predicted)

    def learn(self, name: str, features: Features, label: Labels) -> LearnResult:
        """Learn one example. Return when it is durable on the server's disk."""
        return self._learn(name, _to_json({"features": features, "label": label}), JSON)

    def label(self, name: str, id: str | None, label: Labels) -> LearnResult:
        """Send the label of an earlier prediction."""
        return self._learn(name, _to_json({"id": id, "label": label}), JSON)

    def learn_stream(
        self, name: str, examples: Iterable[tuple[Features, Labels]], *, bad_lines: str = "error"
    ) -> LearnResult:
        """Learn many examples, sent in blocks, each of which is learned once.

        With `bad_lines="skip"` invalid examples are skipped. On an error, `ServiceError.learned` is the number of
        examples learned before it.
        """
        query = "" if bad_lines == "error" else f"?{urlencode({'bad_lines': bad_lines})}"
        status, examples_sum, mistakes, updates = "learned", 0, 0, 0
        refused: dict[str, int] = {}
        for lines in _iter_blocks(_to_json({"features": features, "label": label}) for features, label in examples):
            try:
                block = self._learn(name, b"".join(lines), NDJSON, query)
            except ServiceError as problem:
                problem.learned += examples_sum
                raise
            status = block.status
            examples_sum, mistakes, updates = (
                examples_sum + block.examples, mistakes + block.mistakes, updates + block.updates,
            )  # fmt: skip
            for reason, number in block.refused.items():
                refused[reason] = refused.get(reason, 0) + number
        return LearnResult(status, examples_sum, mistakes, updates, refused)

    def _learn(self, name: str, body: bytes, media: str, query: str = "") -> LearnResult:
        key = str(uuid.uuid4())
        response = self._transport.request_json("POST", _model_path(name, "learn") + query, body, media, key=key)
        counts = response["examples"], response["mistakes"], response["updates"]
        return LearnResult(response["status"], *counts, response.get("refused", {}))

    # --- Reading models ---

    def ledger(self, name: str) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "ledger"))

    def certificate(self, name: str) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "certificate"))

    def inspect(self, name: str, top: int = 20) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "inspect") + f"?top={top:d}")

    def download(self, name: str) -> bytes:
        """Return the content of the model file, for `novikoff.load`."""
        return self._transport.ask("GET", _model_path(name, "download"), accept=OCTET_STREAM)

    def examples(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the learned examples that are still in the journal, in order."""
        for line in self._transport.lines(_model_path(name, "examples")):
            yield json.loads(line)

    def close(self) -> None:
        """Close the connections of all threads. The client can still be used."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _model_path(name: str, what: str = "") -> str:
    return f"/v1/models/{quote(name, safe='')}" + (f"/{what}" if what else "")


def _select_true(**options: bool) -> dict[str, bool]:
    """Return the options that are on: servers of earlier versions refuse fields that they don't know."""
    return {name: True for name, value in options.items() if value}


def _read_prediction(response: dict[str, Any]) -> PredictionResult:
    probabilities = response.get("probabilities")
    if probabilities is not None:
        probabilities = {one["label"]: one["probability"] for one in probabilities}
    return PredictionResult(
        response["id"], response["label"], response["score"], probabilities, response.get("explanation")
    )


def _to_json(value: dict[str, Any]) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_to_builtin).encode()
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"Features and labels must be finite numbers, strings, and lists and dicts of them: {problem}."
        ) from None


def _to_builtin(value: Any) -> Any:
    """Convert NumPy numbers and arrays, mappings, sets and other sequences to built-in types."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, bytes):
        raise TypeError("bytes are not a string")
    return dict(value) if isinstance(value, Mapping) else list(value)


def _iter_blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    size = 0
    for line in lines:
        block.append(line + b"\n")
        size += len(line)
        if len(block) >= BLOCK_LINES or size >= BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block
