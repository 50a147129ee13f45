"""Model files: one safetensors file, written atomically and read only if its checksum is correct.

The header holds one JSON document: checksum, format number, learner, settings, labels, precision and ledger. The
tensors are the arrays of the model, the ledger and the feature names. The checksum is the SHA-256 of the whole file
with the 64 digits of the checksum replaced by zeros. The file holds the complete state of a run: learning A, saving,
loading and learning B gives the same bytes as learning A and B.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from novikoff import model_verifier
from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base import internals
from novikoff.base.class_weights import counts_of_classes
from novikoff.base.model_lock import shared_lock
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.calibration import resume_calibration
from novikoff.core.feature_sample import FeatureSample
from novikoff.core.updaters.base import state_arrays
from novikoff.data.names.feature_names import FeatureNames
from novikoff.errors import InputError, ModelFileError, NovikoffError
from novikoff.learner_registry import name_of
from novikoff.ledger import CALIBRATED_NEXT, FIRST_LISTED, N_COUNTS, NEVER_CALIBRATED, Ledger, LedgerCounters
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.meta.internals import file_parts_of, load_file_parts, member_models_of, set_member_models
from novikoff.part_files import lock_file, name_part, remove_stale_parts
from novikoff.schema import SchemaError

FORMAT_VERSION = 4
STANDARD_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
"""File descriptors of outputs that may be a regular file, which must not be replaced."""
NO_CHECKSUM = "0" * 64
DTYPE_ORDER = ("u8", "i8", "f8", "f4", "u4", "i4", "f2", "u2", "i2", "i1", "u1", "b1")
"""NumPy dtypes in the order in which safetensors writes arrays."""
SAFETENSORS_NAMES = {"b1": "BOOL"}
NAMES_PER_CHUNK = 1 << 12  # names encoded per step


def save(
    model: OnlineClassifier | BatchEstimator, path: str | os.PathLike[str], *, provenance: dict[str, Any] | None = None
) -> None:
    """Write the model to a file. An existing file is replaced only after the new one is safely on disk.

    Parameters
    ----------
    model : estimator
        A fitted model of novikoff.
    path : str or path
        The file.
    provenance : dict, optional
        A record of the run (`novikoff.provenance`). Without it the file depends on the model alone.

    Raises
    ------
    InputError
        If the model is not fitted, or not a model of novikoff, such as a pipeline of scikit-learn.

    Examples
    --------
    >>> import tempfile, os
    >>> from novikoff import Perceptron, load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "fruit.model")
    >>> save(Perceptron().learn_one({"red": 1.0}, "apple").learn_one({"long": 1.0}, "banana"), path)
    >>> load(path).predict_one(["long"])
    'banana'
    """
    write_atomically(Path(path), to_bytes(model, provenance))


def load_learner(path: str | os.PathLike[str], *, kernel: Any = None) -> Any:
    """Load a model for commands and servers: for an Auto, return the learner inside it."""
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise ModelFileError(f"{path}: {problem.strerror}.") from None
    model = from_bytes(content, str(path))
    if kernel is not None:
        model.with_kernel(kernel)
    return model


def load(path: str | os.PathLike[str], *, kernel: Any = None) -> Any:
    """Load a model from a file.

    Parameters
    ----------
    path : str or path
        A file that `save` or the command line has written.
    kernel : function, optional
        The kernel, if it is a Python function: the file does not hold it.

    Returns
    -------
    model : estimator
        The model, which can predict and go on learning.

    Raises
    ------
    ModelFileError
        If the file can't be read, is damaged, or has a newer format.

    Examples
    --------
    >>> import os, tempfile
    >>> from novikoff import Perceptron, load, save
    >>> path = os.path.join(tempfile.mkdtemp(), "sign.model")
    >>> save(Perceptron().fit([[-1.0], [1.0]], ["-", "+"]), path)
    >>> load(path).predict([[2.0]]).tolist()
    ['+']
    """
    from novikoff.auto import as_auto

    return as_auto(load_learner(path, kernel=kernel))


def to_bytes(model: OnlineClassifier | BatchEstimator, provenance: dict[str, Any] | None = None) -> bytes:
    check_savable(model)
    with shared_lock(internals.working_model_of(model)):
        return _build_content(*to_header_and_tensors(model), provenance)


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the provenance in a model file, or None; raise ModelFileError if the file is invalid."""
    from novikoff.provenance import check_provenance

    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise ModelFileError(f"{path}: {problem.strerror}.") from None
    _check_header(content, str(path))
    outer = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    text = outer["__metadata__"].get("provenance")
    try:
        return None if text is None else check_provenance(json.loads(text))
    except (ValueError, TypeError, RecursionError, SchemaError) as problem:
        raise _file_error(str(path), str(problem).rstrip(".")) from None


def check_savable(model: Any) -> None:
    """Raise InputError, with advice, for anything but a fitted model of novikoff."""
    if internals.is_facade(model) or isinstance(model, OnlineClassifier | BatchEstimator):
        if not model.__sklearn_is_fitted__():
            raise InputError(
                f"This {type(model).__name__} has learned nothing yet, so there is nothing to save: call fit,"
                " partial_fit or learn_one first."
            )
        return
    name = (model if isinstance(model, type) else type(model)).__name__
    article = "the class" if isinstance(model, type) else "an" if name[0] in "AEIOUaeiou" else "a"
    raise InputError(f"Only models of novikoff can be saved, but this is {article} {name}. {_find_advice(model)}")


def _find_advice(model: Any) -> str:
    if isinstance(model, type):
        return f"Save an object of it that has learned something: save({model.__name__}().fit(X, y), path)."
    if isinstance(getattr(model, "model_", None), OnlineClassifier):
        return "Save its model_ instead."
    if isinstance(model, str | os.PathLike):
        return "The model comes first, then the path: save(model, path)."
    if hasattr(model, "steps"):
        return (
            "Save its last step and keep the steps before it yourself, or use Auto, which needs no scaler."
            " To store the whole pipeline use skops or joblib."
        )
    return "To store other objects use skops or joblib."


def snapshot(model: OnlineClassifier | BatchEstimator) -> Callable[[], bytes]:
    """Copy the model; return a function that builds the file content, for use later and in another thread."""
    with shared_lock(internals.working_model_of(model)):
        header, tensors = to_header_and_tensors(model, as_text=_DeferredText)
        copies = {name: value if isinstance(value, _DeferredText) else value.copy() for name, value in tensors.items()}
    return lambda: _build_content(
        header, {n: v.array() if isinstance(v, _DeferredText) else v for n, v in copies.items()}
    )


def _build_content(
    header: dict[str, Any], tensors: dict[str, NDArray[Any]], provenance: dict[str, Any] | None = None
) -> bytes:
    # The checksum comes first, so that its digits are the first match.
    header = {"checksum": NO_CHECKSUM, "format": FORMAT_VERSION, **header}
    metadata = {"novikoff": json.dumps(header)}
    if provenance is not None:
        metadata["provenance"] = json.dumps(provenance)
    content = _serialize(tensors, metadata)
    digest = hashlib.sha256(content).hexdigest()
    return content.replace(NO_CHECKSUM.encode(), digest.encode(), 1)


def _serialize(tensors: dict[str, NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """Serialize in safetensors layout: header length, header, arrays by decreasing item size, then by name."""
    order = sorted(tensors, key=lambda name: (DTYPE_ORDER.index(tensors[name].dtype.str[1:]), name))
    about: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in order:
        array = tensors[name]
        start, end = end, end + array.nbytes
        dtype = SAFETENSORS_NAMES.get(array.dtype.str[1:]) or f"{array.dtype.kind.upper()}{8 * array.itemsize}"
        about[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(about, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(tensors[name].tobytes() for name in order)])


def to_header_and_tensors(
    model: OnlineClassifier | BatchEstimator, as_text: Callable[[list[Any]], Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a model, including its members."""
    model = internals.working_model_of(model)
    about = {"learner": name_of(type(model)), "settings": internals.plain_settings_of(model)}
    if not isinstance(model, BatchEstimator):
        header, tensors = _run_to_header_and_tensors(model, as_text or _encode_text)
        return {**about, **header}, tensors
    header, tensors = file_parts_of(model)
    inside = [to_header_and_tensors(member, as_text) for member in member_models_of(model)]
    if inside:
        header["members"] = [one for one, _ in inside]
    for k, (_, arrays_inside) in enumerate(inside):
        tensors |= {f"member.{k}.{name}": array for name, array in arrays_inside.items()}
    return {**about, **header}, tensors


def _run_to_header_and_tensors(
    model: OnlineClassifier, as_text: Callable[[list[Any]], Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of an online learner."""
    state = internals.checked_state_of(model)
    counters = state.ledger.book
    tensors = {
        f"updater.{name}": _to_contiguous(a) for name, a in state_arrays(internals.trim_state(model, state)).items()
    }
    tensors |= {
        name: _to_contiguous(a)
        for name, a in (internals.extra_arrays_of(model, state) | state.feature_sample.tensors()).items()
    }
    used = FIRST_LISTED + len(state.ledger.mistake_times)
    tensors |= {"ledger.counts": _to_contiguous(counters.counts[:used]), "ledger.sums": counters.sums}
    if len(counters.calibration):
        tensors["calibration.state"] = counters.calibration
    class_counts = counts_of_classes(state.ledger, state.labels)
    if class_counts is not None:
        tensors["class_counts.examples"] = class_counts
    if state.names is not None:
        tensors["names"] = as_text(list(state.names.columns))
    header = {
        "labels": state.labels.listed(),
        "features": state.features,
        "precision": state.kind.name,
        "ledger": state.ledger.as_dict(),
    }
    if getattr(state.labels, "rest", ""):
        header["rest"] = state.labels.rest
    if getattr(state.labels, "is_indicator", False):
        header["indicator"] = True
    if state.reading is not None:
        header["reading"] = state.reading
    if state.shuffle is not None:
        header["shuffle"] = state.shuffle
    if state.holdout is not None:
        header["holdout"] = state.holdout
    if state.threshold is not None:
        header["threshold"] = state.threshold._asdict()
    if state.slot_names:
        tensors["slot_names"] = as_text(sorted(state.slot_names.items()))
    return header, tensors


def from_bytes(content: bytes, origin: str) -> Any:
    """Return the model in the content of a file, which messages call `origin`; raise ModelFileError for any problem."""
    header = _check_header(content, origin)
    from safetensors import SafetensorError
    from safetensors.numpy import load as deserialise

    try:
        tensors = deserialise(content)
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError, MemoryError) as problem:
        raise _file_error(origin, f"its arrays can't be read ({problem})") from None
    return from_header(header, tensors, origin)


def from_header(header: dict[str, Any], tensors: dict[str, NDArray[Any]], origin: str, *, complete: bool = True) -> Any:
    """Rebuild the model that `to_header_and_tensors` described; raise ModelFileError if they don't fit.

    A model that is not `complete`, such as that of a shard, may have fewer features than its encoding.
    """
    try:
        model_verifier.check_depth(header)
        return _build_from_header(header, tensors, 0, complete=complete)
    except ModelFileError:
        raise
    except NovikoffError as problem:
        raise _file_error(origin, str(problem).rstrip(".")) from None
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as problem:
        reason = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        raise _file_error(origin, f"it does not hold what its learner needs ({reason})") from None


def _file_error(origin: str, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{origin}: is not a model that can be used: {reason}. Restore it from a backup, or save the model again."
    )


def _build_from_header(header: dict[str, Any], tensors: dict[str, NDArray[Any]], depth: int, *, complete: bool) -> Any:
    model = model_verifier.build_model(header)
    if not isinstance(model, BatchEstimator):
        internals.set_state(
            model, _build_state(model, model_verifier.verify_run(model, header, tensors, complete=complete), tensors)
        )
        return model
    model_verifier.verify_batch_model(model, header, tensors)
    members = model_verifier.split_members(header, tensors)
    if members and depth == model_verifier.MAX_ENSEMBLE_DEPTH:
        raise SchemaError("ensembles", f"nested at most {model_verifier.MAX_ENSEMBLE_DEPTH} deep", "deeper")
    load_file_parts(model, header, tensors)
    if members:
        set_member_models(model, [_build_from_header(one, own, depth + 1, complete=complete) for one, own in members])
    return model


def _build_state(
    model: OnlineClassifier, verified: model_verifier.VerifiedHeader, tensors: dict[str, NDArray[Any]]
) -> ModelState:
    """Return the state of a run from a verified header and arrays."""
    dtype, features = buffers.dtype(verified.precision), verified.features
    fresh = internals.build_updater(model, features + 1, dtype)
    ledger = _build_ledger(tensors)
    state = ModelState(
        updater=fresh._replace(**{name: tensors[f"updater.{name}"] for name in state_arrays(fresh)}),
        ledger=ledger,
        labels=verified.labels,
        features=features,
        names=None if verified.names is None else FeatureNames(verified.names),
        kind=dtype,
        settings=internals.run_settings_of(model),
        reading=verified.reading,
        shuffle=verified.shuffle,
        holdout=verified.holdout,
        threshold=verified.threshold,
        slot_names=verified.slot_names,
        encoding=verified.encoding,
        feature_sample=FeatureSample.from_tensors(tensors, dtype, ledger.examples, features),
    )
    return internals.state_from_file(model, state, tensors)


def _build_ledger(tensors: dict[str, NDArray[Any]]) -> Ledger:
    counts = buffers.zeros(N_COUNTS, "int64")
    counts[: len(tensors["ledger.counts"])] = tensors["ledger.counts"]
    counts[CALIBRATED_NEXT] = NEVER_CALIBRATED
    calibration = tensors.get("calibration.state")
    found = buffers.zeros(0) if calibration is None else calibration
    class_weights = tensors.get("class_counts.examples", buffers.zeros(0))
    ledger = Ledger(LedgerCounters(counts, tensors["ledger.sums"], found, class_weights))
    resume_calibration(ledger)
    return ledger


def _check_header(content: bytes, origin: str) -> dict[str, Any]:
    """Return the header document of an undamaged file of a supported format."""
    broken = ModelFileError(
        f"{origin}: is damaged or not a model file: its checksum does not match its content. Restore it from a backup."
    )
    try:
        size = int.from_bytes(content[:8], "little")
        outer = json.loads(content[8 : 8 + size])
        header: dict[str, Any] = json.loads(outer["__metadata__"]["novikoff"])
        number, checksum = header["format"], header["checksum"].encode("ascii")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise broken from None
    if isinstance(number, int) and number > FORMAT_VERSION:
        raise ModelFileError(
            f"{origin}: has format {number}, but this novikoff reads up to format {FORMAT_VERSION}: update novikoff."
        )
    blank = content.replace(checksum, NO_CHECKSUM.encode(), 1)
    if len(checksum) != 64 or hashlib.sha256(blank).hexdigest() != checksum.decode() or number != FORMAT_VERSION:
        raise broken
    return header


def write_atomically(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a whole file; readers see either the old or the new one."""
    with atomic_writer(path, mode) as write:
        write(content)


@contextlib.contextmanager
def atomic_writer(path: Path, mode: int = 0o666) -> Iterator[Callable[[bytes], object]]:
    """Yield a writer for a new version of a file, which replaces the old one only if the block succeeds.

    Steps: temporary file, fsync, rename, fsync of the folder. The umask restricts `mode`. Standard streams are written
    in place.
    """
    if is_stream_output(path):
        with _open_stream_output(path) as stream:
            yield stream.write
        return
    path = Path(os.path.realpath(path))  # replace the target of a link, not the link
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    remove_stale_parts(path)
    temporary = name_part(path)
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            lock_file(file.fileno())
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        _remove(temporary)
        raise type(problem)(problem.errno, problem.strerror, str(path)) from None
    except BaseException:
        _remove(temporary)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def is_stream_output(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is written to as it is, not replaced: /dev/stdout and other devices and pipes of /dev."""
    is_device = str(path).startswith("/dev/") and os.path.exists(path)
    return str(path) in STANDARD_STREAMS or (is_device and not (os.path.isfile(path) or os.path.isdir(path)))


def _open_stream_output(path: Path) -> IO[bytes]:
    # A duplicate of the descriptor shares its offset: text that the command printed before is not overwritten.
    number = STANDARD_STREAMS.get(str(path))
    return open(path, "wb") if number is None else os.fdopen(os.dup(number), "wb")


def _remove(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        temporary.unlink()


class _DeferredText:
    """A list whose conversion to text is deferred."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def array(self) -> NDArray[np.uint8]:
        return _encode_text(self.values)


def _encode_text(values: list[Any]) -> NDArray[np.uint8]:
    """Encode JSON as an array of bytes, in pieces, so that other threads can run between them."""
    pieces = (values[k : k + NAMES_PER_CHUNK] for k in range(0, len(values), NAMES_PER_CHUNK))
    text = ",".join(json.dumps(piece, separators=(",", ":"))[1:-1] for piece in pieces)
    found: NDArray[np.uint8] = buffers.frombuffer(f"[{text}]".encode(), "uint8")
    return found


def _to_contiguous(array: NDArray[Any]) -> NDArray[Any]:
    contiguous: NDArray[Any] = buffers.ascontiguousarray(array)
    return contiguous
