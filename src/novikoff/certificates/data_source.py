"""Where the examples of a certificate come from: arrays or files, as often as they are asked for, always the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import numpy as np

from novikoff.certificates.measure import Batch, tidy
from novikoff.errors import InputError
from novikoff.base.online_classifier import Learner
from novikoff.base.raw_rows import first_batch
from novikoff.data import validation
from novikoff.data.shuffle.external import Shuffler, seed_of
from novikoff.data.labels.binary_labels import Labels
from novikoff.data.options import Options
from novikoff.data.reader import Reading, is_builtin
from novikoff.data.rows import Rows
from novikoff.data.labels.label_encoding import Sides
from novikoff.data.canonical_rows import as_sparse
from novikoff.data.load_all import gathered
from novikoff.meta.batch_estimator import Solved

PIECE = 1 << 20  # bytes of a file that are hashed at once


See = Callable[[Rows, Any], None]


class Source(Protocol):
    def about(self) -> dict[str, Any]:
        """What identifies the data, and how it is read."""

    def learn(self, model: Learner, passes: int, see: See | None = None) -> int:
        """Has a fresh model learn the stream; returns the mistakes of the first pass, all of whose examples are shown
        to `see`."""

    def batches(self, labels: Labels, features: int) -> Iterator[Batch]:
        """The stream as the learner saw it, labels as −1 and +1."""

    def solve(self, model: Solved) -> None:
        """Has a model that needs all examples at once learn them."""

    def told(self, model: Learner) -> Iterator[tuple[Rows, Any]]:
        """The same for any learner, with what examples ask for as it takes that."""


class Arrays:
    """X and y, as `fit` takes them, or one by one as they arrived, nothing being known of labels beforehand; `qid` for
    rankings."""

    def __init__(self, X: Any, y: Any, qid: Any = None, *, arriving: bool = False) -> None:
        self.X, self.y, self.qid, self.arriving = X, y, qid, arriving

    def about(self) -> dict[str, Any]:
        batch = first_batch(self.X)
        digest = hashlib.sha256()
        for array in batch.rows:
            digest.update(
                np.ascontiguousarray(array).tobytes() if isinstance(array, np.ndarray) else str(array).encode()
            )
        digest.update(repr(spelled_out(self.y)).encode())
        if self.qid is not None:
            digest.update(repr(validation.label_array(self.qid).tolist()).encode())
        about = {"rows": batch.examples, "columns": batch.features, "sha256": digest.hexdigest()}
        return {"arrays": {**about, "arriving": True} if self.arriving else about}

    def learn(self, model: Learner, passes: int, see: See | None = None) -> int:
        more = {} if self.qid is None else {"qid": self.qid}
        model.warns_of_sorted_labels = False  # the run is replayed; it has warned before
        if self.arriving:
            model.partial_fit(self.X, self.y, **more)
            first = model.ledger_.mistakes
            for _ in range(passes - 1):
                model.partial_fit(self.X, self.y, **more)
        elif passes != model.passes:
            raise InputError(f"passes is {passes}, but the learner's settings say {model.passes}")
        else:
            first = model.fit_rows(self.X, self.y, **more)
        if see is not None:
            for rows, codes in self.told(model):
                see(rows, codes)
        return first

    def solve(self, model: Any) -> None:
        model.fit(self.X, self.y)

    def told(self, model: Learner) -> Iterator[tuple[Rows, Any]]:
        yield from model.told_arrays(self.X, self.y, self.qid)

    def batches(self, labels: Labels, features: int) -> Iterator[Batch]:
        rows = first_batch(self.X).rows
        signs, _ = labels.signs(validation.label_array(self.y))
        yield from tidy([(rows, signs)], features)


@dataclass
class Files:
    """Files, or built-in streams, read with these options."""

    titles: list[str]
    options: Options
    positive: str | None = None
    shuffle: Any = None
    """The record of the permutation (stream/permutation.py) where the examples were shuffled."""

    def __post_init__(self) -> None:
        self.options = replace(self.options, keep_names=0)  # they are for people: what is learned is the same
        self._digests: dict[str, Future[str]] = {}

    def about(self) -> dict[str, Any]:
        """Files by their content: they may be renamed or moved."""
        unsaid = asdict(Options())
        ways = {name: value for name, value in asdict(self.options).items() if value != unsaid[name]}
        for name in ("threads", "block", "cache"):  # they change nothing of what is read
            ways.pop(name, None)
        files = [{"stream": t} if is_builtin(t) else {"sha256": self._digest(t).result()} for t in self.titles]
        return {"files": files, "reading": ways, "positive": self.positive}

    def learn(self, model: Learner, passes: int, see: See | None = None) -> int:
        for title in self.titles:
            if not is_builtin(title):
                self._digest(title)
        reading = self._reading()
        following = model.following(reading, positive=self.positive)
        following.shown(reading.batches(), see)
        first = model.ledger_.mistakes
        for _ in range(passes - 1):
            following.once()
        return first

    def solve(self, model: Solved) -> None:
        reading = Reading(self.titles, self.options)
        model.fit_whole(gathered(reading, needed=model.bytes_needed, positive=self.positive))

    def batches(self, labels: Labels, features: int) -> Iterator[Batch]:
        reading = self._reading()
        skips = self.options.bad_lines == "skip"
        sides = Sides(labels, leave_out=reading.left_out if skips else None)
        for batch in reading.batches():
            yield as_sparse(batch.rows), sides.of(batch)

    def told(self, model: Learner) -> Iterator[tuple[Rows, Any]]:
        yield from model.told_files(self._reading())

    def _reading(self) -> Reading:
        reading = Reading(self.titles, self.options)
        if self.shuffle is not None:
            reading.shuffler = Shuffler(seed_of(self.shuffle), queries=True)  # rankings are never shuffled
        return reading

    def _digest(self, title: str) -> Future[str]:
        """In a thread of its own: a file takes longer to hash than to learn."""
        if title not in self._digests:
            check_file(title)
            self._digests[title] = Future()
            Thread(target=_hash_into, args=(title, self._digests[title]), daemon=True).start()
        return self._digests[title]


def spelled_out(y: Any) -> Any:
    """Labels, sets of labels or preferences as plain lists, always in the same order."""
    some = y if isinstance(y, list) else [y]
    if not any(isinstance(one, list | tuple | set | frozenset | dict) for one in some) and np.ndim(some[0]) < 2:
        return validation.label_array(y).tolist()
    if hasattr(y, "toarray"):
        y = y.toarray()
    return [_ordered(one) for one in (y.tolist() if isinstance(y, np.ndarray) else y)]


def _ordered(one: Any) -> Any:
    if isinstance(one, set | frozenset):
        return sorted(map(repr, one))
    return list(one.items()) if isinstance(one, dict) else one


def check_file(title: str) -> None:
    if title == "-" or not Path(title).is_file():
        raise InputError(f"{title}: a certificate is for files that can be read again, not for a pipe.")


def _hash_into(title: str, result: Future[str]) -> None:
    try:
        result.set_result(_sha256(title))
    except OSError as problem:
        result.set_exception(problem)


def _sha256(title: str) -> str:
    digest = hashlib.sha256()
    with open(title, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
