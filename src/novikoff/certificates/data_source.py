"""Data sources of certificates: arrays or files that can be read repeatedly, with the same examples each time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import numpy as np

from novikoff.base import internals
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.certificates.measure import SignedBatch, canonicalize_batches
from novikoff.data import validation
from novikoff.data.canonical_rows import to_sparse
from novikoff.data.formats.base import ReadOptions
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.label_encoding import BinaryLabelEncoder
from novikoff.data.load_all import load_examples
from novikoff.data.raw.batches import prepare_first_batch
from novikoff.data.reader import DataReader, is_builtin
from novikoff.data.rows import Rows
from novikoff.data.shuffle.external import Shuffler, get_recorded_seed
from novikoff.errors import InputError
from novikoff.memory_limit import reserve_work_arrays
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.meta.internals import estimate_bytes, fit_dataset

HASH_BLOCK_BYTES = 1 << 20


ExampleCallback = Callable[[Rows, Any], None]


class DataSource(Protocol):
    """Examples that can be read repeatedly, for learning, measuring and identification."""

    def describe(self) -> dict[str, Any]:
        """Return the identity of the data, and how it is read, as plain values."""

    def learn(self, model: OnlineClassifier, passes: int, callback: ExampleCallback | None = None) -> int:
        """Let a fresh model learn the stream; return the mistakes of the first pass.

        The callback receives all examples of the first pass.
        """

    def batches(self, labels: BinaryLabels, features: int) -> Iterator[SignedBatch]:
        """Yield the stream as the learner saw it, with labels −1 and +1."""

    def solve(self, model: BatchEstimator) -> None:
        """Fit a model that needs all examples at once."""

    def iter_encoded(self, model: OnlineClassifier) -> Iterator[tuple[Rows, Any]]:
        """Yield rows and targets in the encoding of the model."""


class ArraySource:
    """X and y as `fit` takes them; `qid` gives the query of each row for rankings.

    With `arriving`, `partial_fit` learns the rows and discovers the labels as they arrive.
    """

    def __init__(self, X: Any, y: Any, qid: Any = None, *, arriving: bool = False) -> None:
        self.X, self.y, self.qid, self.arriving = X, y, qid, arriving

    def describe(self) -> dict[str, Any]:
        batch = prepare_first_batch(self.X)
        digest = hashlib.sha256()
        for array in batch.rows:
            digest.update(
                np.ascontiguousarray(array).tobytes() if isinstance(array, np.ndarray) else str(array).encode()
            )
        digest.update(repr(to_plain_labels(self.y)).encode())
        if self.qid is not None:
            digest.update(repr(validation.validate_y(self.qid).tolist()).encode())
        about = {"rows": batch.examples, "columns": batch.features, "sha256": digest.hexdigest()}
        return {"arrays": {**about, "arriving": True} if self.arriving else about}

    def learn(self, model: OnlineClassifier, passes: int, callback: ExampleCallback | None = None) -> int:
        more = {} if self.qid is None else {"qid": self.qid}
        internals.silence_order_warnings(model)  # this is a replay: the original run has already warned
        if self.arriving:
            model.partial_fit(self.X, self.y, **more)
            first = model.ledger_.mistakes
            for _ in range(passes - 1):
                model.partial_fit(self.X, self.y, **more)
        elif passes != model.passes:
            raise InputError(f"passes is {passes}, but the learner's settings say {model.passes}")
        else:
            first = internals.fit_rows(model, self.X, self.y, **more)
        if callback is not None:
            for rows, codes in self.iter_encoded(model):
                callback(rows, codes)
        return first

    def solve(self, model: Any) -> None:
        model.fit(self.X, self.y)

    def iter_encoded(self, model: OnlineClassifier) -> Iterator[tuple[Rows, Any]]:
        yield from internals.iter_encoded_arrays(model, self.X, self.y, self.qid)

    def batches(self, labels: BinaryLabels, features: int) -> Iterator[SignedBatch]:
        rows = prepare_first_batch(self.X).rows
        signs, _ = labels.encode(validation.validate_y(self.y))
        yield from canonicalize_batches([(rows, signs)], features)


@dataclass
class FileSource:
    """Files or built-in streams, read with these options."""

    titles: list[str]
    options: ReadOptions
    positive: str | None = None
    shuffle: Any = None
    """The record of the permutation (data/shuffle/permutation.py) if the examples were shuffled."""

    def __post_init__(self) -> None:
        self.options = replace(self.options, keep_names=0)  # they are for people: what is learned is the same
        self._digests: dict[str, Future[str]] = {}

    def describe(self) -> dict[str, Any]:
        """Return the identity of the data. Files are identified by content, so they may be renamed or moved."""
        unsaid = asdict(ReadOptions())
        changed_options = {name: value for name, value in asdict(self.options).items() if value != unsaid[name]}
        for name in ("threads", "block", "cache"):  # they change nothing of what is read
            changed_options.pop(name, None)
        files = [{"stream": t} if is_builtin(t) else {"sha256": self._digest(t).result()} for t in self.titles]
        return {"files": files, "reading": changed_options, "positive": self.positive}

    def learn(self, model: OnlineClassifier, passes: int, callback: ExampleCallback | None = None) -> int:
        for title in self.titles:
            if not is_builtin(title):
                self._digest(title)
        reading = self._open_reader()
        training = internals.build_file_trainer(model, reading, positive=self.positive)
        with reserve_work_arrays():
            for encoded in training.learn_pass():
                if callback is not None:
                    callback(encoded.batch.rows, encoded.codes)
        first = model.ledger_.mistakes
        for _ in range(passes - 1):
            for _ in training.learn_pass():
                pass
        return first

    def solve(self, model: BatchEstimator) -> None:
        reading = DataReader(self.titles, self.options)
        fit_dataset(model, load_examples(reading, needed=partial(estimate_bytes, model), positive=self.positive))

    def batches(self, labels: BinaryLabels, features: int) -> Iterator[SignedBatch]:
        reading = self._open_reader()
        skips = self.options.bad_lines == "skip"
        sides = BinaryLabelEncoder(labels, leave_out=reading.left_out if skips else None)
        for batch in reading.batches():
            yield to_sparse(batch.rows), sides.encode(batch)

    def iter_encoded(self, model: OnlineClassifier) -> Iterator[tuple[Rows, Any]]:
        yield from internals.iter_encoded_files(model, self._open_reader())

    def _open_reader(self) -> DataReader:
        reading = DataReader(self.titles, self.options)
        if self.shuffle is not None:
            reading.shuffler = Shuffler(get_recorded_seed(self.shuffle), queries=True)  # rankings are never shuffled
        return reading

    def _digest(self, title: str) -> Future[str]:
        """Return the future digest of a file. A thread computes it, because hashing takes longer than learning."""
        if title not in self._digests:
            check_file(title)
            self._digests[title] = Future()
            Thread(target=_store_digest, args=(title, self._digests[title]), daemon=True).start()
        return self._digests[title]


def to_plain_labels(y: Any) -> Any:
    """Return labels, sets of labels or preferences as plain lists in a fixed order."""
    some = y if isinstance(y, list) else [y]
    if not any(isinstance(one, list | tuple | set | frozenset | dict) for one in some) and np.ndim(some[0]) < 2:
        return validation.validate_y(y).tolist()
    if hasattr(y, "toarray"):
        y = y.toarray()
    return [_to_plain_value(one) for one in (y.tolist() if isinstance(y, np.ndarray) else y)]


def _to_plain_value(one: Any) -> Any:
    if isinstance(one, set | frozenset):
        return sorted(map(repr, one))
    return list(one.items()) if isinstance(one, dict) else one


def check_file(title: str) -> None:
    if title == "-" or not Path(title).is_file():
        raise InputError(f"{title}: a certificate needs files that can be read again, not a pipe.")


def _store_digest(title: str, result: Future[str]) -> None:
    try:
        result.set_result(_hash_file(title))
    except OSError as problem:
        result.set_exception(problem)


def _hash_file(title: str) -> str:
    digest = hashlib.sha256()
    with open(title, "rb") as file:
        while piece := file.read(HASH_BLOCK_BYTES):
            digest.update(piece)
    return digest.hexdigest()
