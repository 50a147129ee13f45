"""`novikoff.read`: files as batches for partial_fit, or as one matrix."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.formats.base import ReadOptions, check_options
from novikoff.data.labels.binary_labels import build_missing_label_error
from novikoff.data.reader import DataReader, FileBatch, check_sources, is_builtin
from novikoff.data.rows import Dense, Sparse
from novikoff.errors import SPARSE_MATRIX_PURPOSE, InputError, import_optional


class ExampleBatch(NamedTuple):
    """Some rows with their labels: a SciPy CSR matrix, or an array where the data is a table of numbers."""

    X: Any
    y: NDArray[Any]
    names: list[str] | None
    """Names of the columns, where they have any."""
    weights: NDArray[np.float64] | None
    """The importance of each row, where the data has weights."""
    groups: NDArray[np.int64] | None
    """The `qid` of each row, -1 for none, where the format has queries."""
    labels: list[list[Any]] | None
    """All labels of each row, where rows may have several."""


class DataFiles:
    """Result of `read`: an iterable of `ExampleBatch` that reads the files again each time."""

    def __init__(self, titles: list[str], options: ReadOptions, features: int | None) -> None:
        self.titles, self.options, self.features = titles, options, features
        self.skipped: dict[str, int] = {}
        """Number of skipped lines by reason, of the last complete pass."""
        self.names: list[str] | None = None
        """Names of the columns of a dictionary, after a pass."""

    def __iter__(self) -> Iterator[ExampleBatch]:
        features = self.features
        reading = DataReader(self.titles, self.options)
        for batch in reading.batches():
            if features is None:
                features = self._width(reading, batch)
            columns = self.names if reading.names is not None else reading.columns(batch.title)
            _check_width(batch, features)
            yield _build_examples(batch, features, columns)
        self.skipped = dict(reading.bad)

    def _width(self, reading: DataReader, batch: FileBatch) -> int:
        """Return the number of columns: that of the table or the slots, or else the result of an extra pass."""
        fmt = reading.format
        if batch.table or self.options.feature_map_bits or (fmt is not None and fmt.bits_used):
            return batch.features
        if any(not is_builtin(t) and not Path(t).is_file() for t in self.titles):
            raise InputError("features must be given where the data comes from a pipe: it can't be read twice.")
        before = DataReader(self.titles, self.options)
        width = max(b.features for b in before.batches())
        if before.names is not None:
            self.names = list(before.names.columns)
        return width

    def to_arrays(self) -> tuple[Any, NDArray[Any]]:
        """Return all rows as one matrix, and their labels."""
        parts = MatrixBuilder(sum(os.path.getsize(t) for t in self.titles if Path(t).is_file()))
        reading = DataReader(self.titles, self.options)
        for batch in reading.batches():
            parts.add(batch)
        self.skipped = dict(reading.bad)
        if reading.names is not None:
            self.names = list(reading.names.columns)
        width = parts.features if self.features is None else self.features
        if parts.features > width:
            raise InputError(f"features is {width}, but the data has {parts.features} columns.")
        return parts.matrix(width), np.concatenate(parts.labels)


def read(
    *paths: str | os.PathLike[str],
    format: str | None = None,
    features: int | None = None,
    label: str | int | None = None,
    text: str | None = None,
    ignore: Sequence[str] = (),
    columns: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    weight: str | None = None,
    missing: str = "absent",
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    hash_bits: int | None = None,
    signed_hash: bool = False,
    collisions: str = "sum",
    multilabel: bool = False,
    interactions: tuple[str, ...] = (),
    word_ngrams: int | None = None,
    char_ngrams: int | None = None,
    lowercase: bool = True,
    term_weighting: str | None = None,
    feature_map: str | None = None,
    feature_map_bits: int | None = None,
    bad_lines: str = "error",
    threads: int | None = None,
    block: int | None = None,
) -> DataFiles:
    """Read examples from files or built-in streams, like the command line does.

    Iterate for batches to pass to partial_fit, or call `to_arrays()` for one matrix and its labels. `features` is the
    number of columns where the format does not determine it (svmlight, names without hashing): without it the files
    are read twice.

    >>> import tempfile, pathlib, novikoff
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X, y = novikoff.read(path).to_arrays()
    >>> X.toarray().tolist(), y.tolist()
    ([[0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]], [1, -1])
    >>> model = novikoff.Perceptron()
    >>> for batch in novikoff.read(path):
    ...     _ = model.partial_fit(batch.X, batch.y, classes=[-1, 1])
    >>> model.ledger_.mistakes
    1
    """
    titles = [os.fspath(p) for p in paths]
    if not titles:
        raise InputError("read needs the name of at least one file.")
    check_sources(titles)
    options = ReadOptions(
        format=format, label=None if label is None else str(label), text=text, ignore=tuple(ignore),
        columns=tuple(columns), categorical=tuple(categorical), numeric=tuple(numeric), weight=weight, missing=missing,
        delimiter=delimiter, quote=quote, encoding=encoding, header=header, hash_bits=hash_bits,
        signed_hash=signed_hash, collisions=collisions, multilabel=multilabel, interactions=interactions,
        word_ngrams=word_ngrams, char_ngrams=char_ngrams, lowercase=lowercase, term_weighting=term_weighting,
        feature_map=feature_map, feature_map_bits=feature_map_bits, bad_lines=bad_lines, threads=threads, block=block,
    )  # fmt: skip
    return DataFiles(titles, check_options(options), features)


class MatrixBuilder:
    """Concatenates batches in arrays preallocated from the file size: growing them would cost twice as much."""

    def __init__(self, size: int) -> None:
        self.size, self.features, self.rows, self.terms = size, 0, 0, 0
        self.starts = [np.zeros(1, np.int64)]
        self.indices = np.zeros(0, np.int32)
        self.values = np.zeros(0, np.float32)
        self.dense = False
        self.labels: list[NDArray[Any]] = []

    def add(self, batch: FileBatch) -> None:
        rows = batch.rows
        self.dense = isinstance(rows, Dense)
        count = len(batch) * rows.width if isinstance(rows, Dense) else int(rows.starts[-1])
        if self.terms + count > len(self.values):
            self._grow(count, batch.size)
        end = self.terms + count
        self.values[self.terms : end] = rows.values[:count]
        if isinstance(rows, Sparse):
            self.indices[self.terms : end] = rows.indices[:count].view(np.int32)
            self.starts.append(rows.starts[1:] + self.terms)
        self.features = max(self.features, batch.features)
        self.terms, self.rows = end, self.rows + len(batch)
        self.labels.append(_decode_labels(batch))

    def _grow(self, count: int, size: int) -> None:
        expected = int(1.02 * count / max(size, 1) * self.size) + 1024 if self.terms == 0 else 0
        capacity = max(self.terms + count, expected, len(self.values) * 3 // 2)
        values, indices = np.empty(capacity, np.float32), np.empty(0 if self.dense else capacity, np.int32)
        values[: self.terms] = self.values[: self.terms]
        if not self.dense:
            indices[: self.terms] = self.indices[: self.terms]
        self.values, self.indices = values, indices

    def matrix(self, width: int) -> Any:
        if self.dense:
            return self.values[: self.terms].reshape(self.rows, self.features)
        return _build_csr(self.values[: self.terms], self.indices[: self.terms], np.concatenate(self.starts), width)


def _build_csr(values: NDArray[Any], indices: NDArray[np.int32], starts: NDArray[np.int64], width: int) -> Any:
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    starts = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    matrix = csr_matrix((len(starts) - 1, width), dtype=values.dtype)
    # Assigned to attributes: the constructor would scan all indices, which the parser has checked.
    matrix.data, matrix.indices, matrix.indptr = (
        values,
        indices if starts.dtype == np.int32 else indices.astype(np.int64),
        starts,
    )
    return matrix


def _decode_labels(batch: FileBatch) -> NDArray[Any]:
    """Return the labels; as integers where all are whole numbers."""
    keys = batch.parsed.keys
    numbers = batch.parsed.numbers
    if numbers is not None:
        whole = np.abs(numbers) < 2**53
        if whole.all() and (numbers == np.floor(numbers)).all():
            return numbers.astype(np.int64)
        return numbers.copy()
    known: dict[int, Any] = {}
    labels = []
    for i, key in enumerate(keys.tolist()):
        if key not in known:
            known[key] = batch.parsed.label(i)
            if known[key] is None:
                raise build_missing_label_error(batch.get_location(i))
        labels.append(known[key])
    return np.array(labels)


def _check_width(batch: FileBatch, features: int) -> None:
    if batch.features > features:
        raise InputError(f"{batch.title}: expected at most {features} features, got {batch.features} columns.")


def _build_examples(batch: FileBatch, features: int, columns: list[str] | None) -> ExampleBatch:
    rows, parsed = batch.rows, batch.parsed
    X: Any
    if isinstance(rows, Dense):
        X = rows.values[: len(batch) * rows.width].reshape(len(batch), rows.width).copy()
    else:
        end = int(rows.starts[-1])
        X = _build_csr(rows.values[:end].copy(), rows.indices[:end].copy().view(np.int32), rows.starts.copy(), features)
    several = None
    if parsed.sets is not None:
        starts, values = parsed.sets
        several = [values[a:b].tolist() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    return ExampleBatch(
        X=X,
        y=_decode_labels(batch),
        names=columns,
        weights=parsed.weights.copy() if len(parsed.weights) else None,
        groups=None if parsed.groups is None else parsed.groups.copy(),
        labels=several,
    )
