"""Input validation. All arrays from users are checked here once; later code assumes they are valid.

X may be a NumPy array, nested lists, a data frame or a SciPy sparse matrix; y and sample weights anything
one-dimensional. float32 and float64 keep their precision; everything else becomes float64. The training loop checks
that numbers are finite while it measures each row (see `core/loop.py`): a separate pass would cost as much as learning.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import ArrayLike, NDArray, np
from novikoff.data.rows import Dense, Rows, Sparse
from novikoff.errors import InputError, find_sklearn_exception, find_user_stacklevel

MAX_INDEX = 2**31 - 1


class ValidatedBatch(NamedTuple):
    """Validated rows, with their column names."""

    rows: Rows
    examples: int
    features: int
    names: list[str] | None
    reading: dict[str, Any] | None = None
    """Settings of the encoding, where the rows were raw."""


def validate_batch(X: Any, *, kind: Any = None) -> ValidatedBatch:
    """Return the rows of X; `kind` is the dtype to convert them to, by default their own."""
    names = get_column_names(X)
    if hasattr(X, "tocsr"):
        return _validate_sparse(X, kind)
    return _validate_dense(X, kind, names)


def get_column_names(X: Any) -> list[str] | None:
    """Return the column names of a data frame if all are strings."""
    names = _list_columns(X)
    if names is None:
        return None
    texts = [isinstance(n, str) for n in names]
    if any(texts) and not all(texts):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but X has columns of types"
            f" {sorted({type(n).__name__ for n in names})}: rename the columns."
        )
    if len(set(names)) < len(names):
        duplicate = next(n for k, n in enumerate(names) if n in names[:k])
        raise InputError(f"Columns must have different names, but {duplicate!r} occurs twice: rename one.")
    return names if texts and all(texts) else None


def _list_columns(X: Any) -> list[Any] | None:
    """Return the column names of a data frame, or of a table or record batch of Arrow; None for other data."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        schema = getattr(X, "schema", None)
        return None if schema is None else list(schema.names)
    columns = getattr(X, "columns", None)
    return None if columns is None or not hasattr(X, "to_numpy") else list(columns)


def to_numeric_array(X: Any, kind: Any) -> NDArray[Any]:
    try:
        array = np.asarray(X)
    except ValueError as problem:
        raise InputError(f"X must be a table of numbers, all rows of one length: {problem}.") from None
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: X must hold real numbers.")
    if array.dtype.kind in "USMm" or (array.dtype == object and any(isinstance(v, str | bytes) for v in array.flat)):
        raise InputError(
            "X must hold numbers only, but it holds strings or dates: could not convert string to float. Encode"
            " them first, or use learn_one with names."
        )
    dtype = kind or (array.dtype if array.dtype in (np.float32, np.float64) else np.float64)
    try:
        with np.errstate(over="ignore"):  # what is too large for the model's precision becomes inf, and is refused
            return np.asarray(array, dtype)
    except (TypeError, ValueError) as problem:
        reason = f"X must hold numbers only: {problem}. Encode texts and categories first, or use learn_one with names."
        if isinstance(problem, TypeError):
            raise TypeError(reason) from None
        raise InputError(reason) from None


def _validate_dense(X: Any, kind: Any, names: list[str] | None) -> ValidatedBatch:
    array = to_numeric_array(X, kind)
    if array.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {f'{array.ndim}D' if array.ndim else 'scalar'} array instead: X must have"
            " rows and columns. Reshape your data with X.reshape(-1, 1) if it is one feature, or X.reshape(1, -1) if it"
            " is one example."
        )
    count, features = array.shape
    _check_not_empty(count, features)
    flat = np.ascontiguousarray(array).reshape(-1)
    return ValidatedBatch(Dense(as_writable(flat), features), count, features, names)


def _validate_sparse(X: Any, kind: Any) -> ValidatedBatch:
    if np.iscomplexobj(X):
        raise InputError("Complex data not supported: X must hold real numbers.")
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D sparse array instead. Reshape your data.")
    matrix = X.tocsr()
    count, features = matrix.shape
    _check_not_empty(count, features)
    if features > MAX_INDEX:
        raise InputError(f"X must have fewer than 2^31 columns, but has {features}: hash the features.")
    starts = np.asarray(matrix.indptr, np.int64)
    indices = np.ascontiguousarray(matrix.indices)
    if indices.dtype == np.int64 and indices.size and (indices.min() < 0 or indices.max() >= features):
        raise InputError(f"X must have column numbers from 0 to {features - 1}; it has others: rebuild the matrix.")
    indices = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
    values = np.ascontiguousarray(to_numeric_array(matrix.data, kind))
    if starts[0] != 0 or starts[-1] > min(indices.size, values.size) or (starts[1:] < starts[:-1]).any():
        raise InputError("X must be a well-formed CSR matrix, but its arrays don't fit together: rebuild the matrix.")
    return ValidatedBatch(Sparse(starts, as_writable(indices), as_writable(values)), count, features, None)


def _check_not_empty(count: int, features: int) -> None:
    if count == 0:
        raise InputError(
            f"Found array with 0 sample(s) (shape=({count}, {features})) while a minimum of 1 is required."
        )
    if features == 0:
        raise InputError(f"Found array with 0 feature(s) (shape=({count}, 0)) while a minimum of 1 is required.")


class _WritableView:
    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def as_writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable view of a read-only array: kernels don't write to it, but have only one compiled version."""
    if array.flags.writeable and array.flags.aligned:
        return array
    return np.asarray(_WritableView(array)) if array.flags.aligned else array.copy()


def validate_y(y: Any, count: int | None = None) -> NDArray[Any]:
    """Return y as a one-dimensional array; `count` is the required number of labels."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None: give a label for each row.")
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Change its shape to (n_samples,), for example"
            " with y.ravel().",
            find_sklearn_exception("DataConversionWarning", UserWarning),
            stacklevel=find_user_stacklevel(),
        )
        array = array.ravel()
    if array.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if count is not None:
        check_same_length(count, len(array))
    return array


def check_same_length(rows: int, labels: int) -> None:
    if rows != labels:
        raise InputError(f"Found input variables with inconsistent numbers of samples: {[rows, labels]}.")


def validate_sample_weight(weights: ArrayLike | None, count: int) -> NDArray[np.float64]:
    """Return one weight per row; an empty array where all are 1."""
    if weights is None:
        return np.zeros(0)
    array = np.asarray(weights, np.float64)
    if array.ndim == 0:
        array = np.full(count, float(array))
    if array.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar, got an array of shape {array.shape}.")
    if len(array) != count:
        raise InputError(f"sample_weight must have one number per row: {count} rows, but {len(array)} weights.")
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise InputError("sample_weight must be finite and not negative: replace the weights that are not.")
    if not array.any():
        raise InputError("sample_weight must not be zero for every row: there would be nothing to learn.")
    return np.ascontiguousarray(array)


def explain_rejection(rows: Rows, i: int, features: int) -> str:
    """Return the error message for row i."""
    if isinstance(rows, Sparse):
        terms = slice(int(rows.starts[i]), int(rows.starts[i + 1]))
        columns, values = rows.indices[terms], rows.values[terms]
    else:
        values = rows.values[i * rows.width : (i + 1) * rows.width]
        columns = np.arange(rows.width, dtype=np.uint32)
    outside, bad = columns[columns >= features], columns[~np.isfinite(values)]
    if outside.size:
        return f"X must name columns from 0 to {features - 1}, but row {i} names {outside[0]}: rebuild X."
    where = f"row {i}, column {bad[0]}" if bad.size else f"row {i}"
    return (
        f"Input X contains NaN, infinity or a value too large to square ({where}): remove or replace it."
        " Nothing was done with this batch."
    )


def find_out_of_range(rows: Rows, i: int, least: float, most: float) -> tuple[int, float]:
    """Return column and value of the first nonzero term of row i outside of [least, most]."""
    if isinstance(rows, Sparse):
        terms = slice(int(rows.starts[i]), int(rows.starts[i + 1]))
        columns, values = rows.indices[terms], rows.values[terms]
    else:
        values = rows.values[i * rows.width : (i + 1) * rows.width]
        columns = np.arange(rows.width, dtype=np.uint32)
    bad = (values != 0.0) & ((values < least) | (values > most))
    return int(columns[bad][0]), float(values[bad][0])


def check_features(estimator_name: str, features: int, fitted_names: list[str] | None, batch: ValidatedBatch) -> None:
    """Raise InputError where the columns differ from those that the estimator was fitted with."""
    if fitted_names is not None and batch.names is not None and fitted_names != batch.names:
        raise InputError(explain_name_mismatch(fitted_names, batch.names))
    if batch.features != features:
        raise InputError(
            f"X has {batch.features} features, but {estimator_name} is expecting {features} features as input:"
            " bring the same columns as before."
        )
    if fitted_names is None and batch.names is not None:
        message = f"X has feature names, but {estimator_name} was fitted without feature names"
        warnings.warn(message, UserWarning, stacklevel=find_user_stacklevel())
    if fitted_names is not None and batch.names is None:
        message = f"X does not have valid feature names, but {estimator_name} was fitted with feature names"
        warnings.warn(message, UserWarning, stacklevel=find_user_stacklevel())


def explain_name_mismatch(fitted_names: list[str], new_names: list[str]) -> str:
    lines = ["The feature names should match those that were passed during fit."]
    unseen, missing = sorted(set(new_names) - set(fitted_names)), sorted(set(fitted_names) - set(new_names))
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            lines += [title, *(f"- {n}" for n in names[:5])]
    if not unseen and not missing:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"


class SingleExample(NamedTuple):
    """One example: names or column numbers, and values."""

    keys: Sequence[Any]
    values: NDArray[np.float64]


def validate_example(x: Any) -> SingleExample:
    """Return the features of a dict of name → number, or of a sequence of names, which are counted."""
    if isinstance(x, Mapping):
        try:
            if any(isinstance(v, str | bytes) for v in x.values()):
                raise TypeError
            return SingleExample(list(x), np.fromiter(x.values(), np.float64, len(x)))
        except OverflowError:
            name = next(k for k, v in x.items() if not _is_number(v))
            raise InputError(f"x must map features to finite numbers, but that of {name!r} is too large.") from None
        except (TypeError, ValueError):
            name, value = next((k, v) for k, v in x.items() if not _is_number(v))
            raise InputError(
                f"x must map features to numbers, but {name!r} has {value!r}: give a number, or make it a feature of"
                f" its own such as {f'{name}={value}'!r}: 1."
            ) from None
    if isinstance(x, str) or not isinstance(x, Iterable):
        raise InputError(
            f"x must be a dict of feature → number, a sequence of names, or a 1-D array, not {type(x).__name__}."
        )
    keys = list(x)
    try:
        counts = dict.fromkeys(keys, 0.0)
    except TypeError:
        raise InputError("A sequence of features must hold names or column numbers; got a list.") from None
    for key in keys:
        counts[key] += 1.0
    return SingleExample(list(counts), np.array(list(counts.values())))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str)
