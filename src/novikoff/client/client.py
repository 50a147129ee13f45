"""The client of `novikoff serve`: the standard library and nothing else."""

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
"""Names with numbers, or names alone; a raw row or a text for models that were trained from files."""
Label = str | bool | int | float
Labels = Label | Sequence[Label]

BLOCK_LINES = 5_000
"""Lines of a stream that are sent at once."""
BLOCK_BYTES = 4 << 20


class PredictionResult(NamedTuple):
    """`id` is for the label that comes later, None where the prediction was not kept."""

    id: str | None
    label: Any
    score: float


class LearnResult(NamedTuple):
    """`status` is "learned" or "already learned"; `refused` says why lines were left out, and how many."""

    status: str
    examples: int
    mistakes: int
    updates: int
    refused: dict[str, int]


class Client:
    """Talks to a service. Threads may share a client: each has a connection of its own, which stays open.

    What fails for the moment is tried again, `retries` times, each time after a longer while. Learning is applied once
    however often it is tried, by a key that the client makes for each call. `timeout` is in seconds, for each try;
    `context` is for certificates that are not the system's. Raises `ServiceError`.

    Example::

        from novikoff import Client

        client = Client("http://127.0.0.1:8000")
        client.create("fruit", "perceptron")
        client.learn("fruit", {"red": 1.0}, "apple")
        client.learn("fruit", {"long": 1.0}, "banana")
        guess = client.predict("fruit", ["long"])
        client.label("fruit", guess.id, "banana")  # when it is known, maybe days later
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
        self,
        name: str,
        learner: str = "auto",
        settings: Mapping[str, Any] | None = None,
        challenges: str | None = None,
    ) -> dict[str, Any]:
        """A new model; one that `challenges` another learns with it, from the same examples."""
        about = {"name": name, "learner": learner, "settings": dict(settings or {}), "challenges": challenges}
        return self._transport.request_json("POST", "/v1/models", _to_json(about), JSON, once=True)

    def upload(self, name: str, file: str | os.PathLike[str] | bytes, challenges: str | None = None) -> dict[str, Any]:
        """A model from a file that `novikoff.save` wrote, or from its bytes."""
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
        """Makes a challenger the champion of its stream."""
        return self._transport.request_json("POST", _model_path(name, "promote"), once=True)

    # --- Predicting and learning ---

    def predict(self, name: str, features: Features, *, keep: bool = True) -> PredictionResult:
        """`keep`: whether it waits for its label."""
        response = self._transport.request_json(
            "POST", _model_path(name, "predict"), _to_json({"features": features, "keep": keep}), JSON
        )
        return PredictionResult(response["id"], response["label"], response["score"])

    def predict_many(self, name: str, examples: Iterable[Features], *, keep: bool = True) -> list[PredictionResult]:
        return list(self.predict_stream(name, examples, keep=keep))

    def predict_stream(
        self, name: str, examples: Iterable[Features], *, keep: bool = True
    ) -> Iterator[PredictionResult]:
        """Predictions in the order of the examples, which are asked for block by block."""
        path = _model_path(name, "predict") + ("" if keep else "?keep=false")
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
                    f"{len(lines)} examples were sent, but {len(predicted)} predictions came.",
                )
            yield from (PredictionResult(one["id"], one["label"], one["score"]) for one in predicted)

    def learn(self, name: str, features: Features, label: Labels) -> LearnResult:
        """Returns when the example is safe on the disk of the service."""
        return self._learn(name, _to_json({"features": features, "label": label}), JSON)

    def label(self, name: str, id: str | None, label: Labels) -> LearnResult:
        """The label of an earlier prediction."""
        return self._learn(name, _to_json({"id": id, "label": label}), JSON)

    def learn_stream(
        self, name: str, examples: Iterable[tuple[Features, Labels]], *, bad_lines: str = "error"
    ) -> LearnResult:
        """Many examples, sent in blocks, each of which is learned once. `bad_lines="skip"` leaves out what can't be
        learned. Where an error ends it, its `learned` says how many were learned before."""
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

    # --- What was learned ---

    def ledger(self, name: str) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "ledger"))

    def certificate(self, name: str) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "certificate"))

    def inspect(self, name: str, top: int = 20) -> dict[str, Any]:
        return self._transport.request_json("GET", _model_path(name, "inspect") + f"?top={top:d}")

    def download(self, name: str) -> bytes:
        """The model file, as `novikoff.load` reads it."""
        return self._transport.ask("GET", _model_path(name, "download"), accept=OCTET_STREAM)

    def examples(self, name: str) -> Iterator[dict[str, Any]]:
        """Everything learned that the journal still has, in order."""
        for line in self._transport.lines(_model_path(name, "examples")):
            yield json.loads(line)

    def close(self) -> None:
        """Closes the connections of all threads; the client may be used again."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _model_path(name: str, what: str = "") -> str:
    return f"/v1/models/{quote(name, safe='')}" + (f"/{what}" if what else "")


def _to_json(value: dict[str, Any]) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_to_builtin).encode()
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"What is sent must be finite numbers, texts, and lists and dicts of them: {problem}."
        ) from None


def _to_builtin(value: Any) -> Any:
    """Numbers of NumPy, mappings, sets and other sequences."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, bytes):
        raise TypeError("bytes are no text")
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
