"""Delta encoding of arrays that are sent between machines.

An array is encoded relative to a base array of the same name that the receiver has. If few elements differ, only their
indices and exact new values are sent, otherwise the whole array. The message is compressed by Zstandard if that makes
it smaller.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

NamedArrays = Mapping[str, NDArray[Any]]
UNCOMPRESSED, COMPRESSED = b"\0", b"\1"
ZSTD_LEVEL = 1
MIN_COMPRESSED_BYTES = 256  # shorter messages are not compressed
PROBE_BYTES, MAX_PROBE_RATIO = 1 << 14, 0.5  # a long message is compressed if a sample shrinks below this ratio


def encode_arrays(header: Any, arrays: NamedArrays, base: NamedArrays | None = None) -> bytes:
    """Return one message. `base` are arrays that the receiver has; without it, arrays are encoded relative to 0."""
    listed: list[dict[str, Any]] = []
    pieces: list[bytes] = []
    for name, array in arrays.items():
        about, parts = _encode_array(np.ascontiguousarray(array), None if base is None else base.get(name))
        listed.append({"name": name, "kind": array.dtype.str, "shape": array.shape, **about})
        pieces += parts
    head = json.dumps({"header": header, "arrays": listed}).encode()
    message = b"".join([len(head).to_bytes(8, "little"), head, *pieces])
    if len(message) >= MIN_COMPRESSED_BYTES and _is_compressible(message):
        import zstandard

        small = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(message)
        if len(small) < len(message):
            return COMPRESSED + small
    return UNCOMPRESSED + message


def _is_compressible(message: bytes) -> bool:
    """Return whether compression is worth its time, by a sample from the middle. Dense weights hardly shrink."""
    import zstandard

    if len(message) < 4 * PROBE_BYTES:
        return True
    piece = message[len(message) // 2 :][:PROBE_BYTES]
    return len(zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(piece)) < MAX_PROBE_RATIO * PROBE_BYTES


def decode_arrays(message: bytes, base: NamedArrays | None = None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the header and writable arrays of a message."""
    if message[:1] == COMPRESSED:
        import zstandard

        message = UNCOMPRESSED + zstandard.ZstdDecompressor().decompress(message[1:])
    size = int.from_bytes(message[1:9], "little")
    about = json.loads(message[9 : 9 + size])
    at, arrays = 9 + size, {}
    for one in about["arrays"]:
        dtype, shape, changed = np.dtype(one["kind"]), tuple(one["shape"]), one.get("changed")
        count = int(np.prod(shape)) if changed is None else changed * int(np.prod(shape[1:]))
        if changed is None:
            arrays[one["name"]] = np.frombuffer(message, dtype, count, at).reshape(shape).copy()
        else:
            places = np.frombuffer(message, "<u4", changed, at)
            at += places.nbytes
            full = _fit_base(None if base is None else base.get(one["name"]), dtype, shape)
            full[places] = np.frombuffer(message, dtype, count, at).reshape(changed, *shape[1:])
            arrays[one["name"]] = full
        at += count * dtype.itemsize
    return about["header"], arrays


def _encode_array(array: NDArray[Any], base: NDArray[Any] | None) -> tuple[dict[str, Any], list[bytes]]:
    """Return the encoding of an array and its bytes."""
    if array.ndim == 0 or not 0 < len(array) < 2**32:
        return {}, [array.tobytes()]
    under = _fit_base(base, array.dtype, array.shape)
    rows = len(array)
    differs = (_view_as_bits(array) != _view_as_bits(under)).reshape(rows, -1).any(axis=1)
    changed = int(np.count_nonzero(differs))
    if changed * (4 + array.nbytes // rows) >= array.nbytes:
        return {}, [array.tobytes()]
    places = np.flatnonzero(differs).astype("<u4")
    return {"changed": changed}, [places.tobytes(), array[differs].tobytes()]


def _fit_base(base: NDArray[Any] | None, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the base in this shape. Missing rows are 0."""
    under = np.zeros(shape, dtype)
    if base is not None and base.dtype == dtype and base.shape[1:] == shape[1:]:
        n_common = min(len(base), shape[0])
        under[:n_common] = base[:n_common]
    return under


def _view_as_bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as integers for bitwise comparison: −0 differs from 0, and NaN equals NaN."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "f" else array
