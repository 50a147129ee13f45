"""Arrays on their way between machines: what has not changed is not sent, and the rest is squeezed.

An array is sent against another of the same name that the other side has: where few places differ, only those and
their new values, to the last bit; else all of it. Zstandard goes over the whole message where that makes it smaller.
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
MIN_COMPRESSED_BYTES = 256  # bytes below which nothing is squeezed
PROBE_BYTES, MAX_PROBE_RATIO = 1 << 14, 0.5  # of a long message, so much is tried first; it must become so much shorter


def encode_arrays(header: Any, arrays: NamedArrays, base: NamedArrays | None = None) -> bytes:
    """One message; `base` are arrays that whoever unpacks it has, too. Without one, changes are those from 0."""
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
    """Whether squeezing is worth its time: not for weights that all differ. A piece from the middle tells."""
    import zstandard

    if len(message) < 4 * PROBE_BYTES:
        return True
    piece = message[len(message) // 2 :][:PROBE_BYTES]
    return len(zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(piece)) < MAX_PROBE_RATIO * PROBE_BYTES


def decode_arrays(message: bytes, base: NamedArrays | None = None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Header and arrays, the latter one's own to write to."""
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
    """How an array is sent, and its bytes."""
    if array.ndim == 0 or not 0 < len(array) < 2**32:
        return {}, [array.tobytes()]
    under = _fit_base(base, array.dtype, array.shape)
    rows = len(array)
    differs = (_as_bits(array) != _as_bits(under)).reshape(rows, -1).any(axis=1)
    changed = int(np.count_nonzero(differs))
    if changed * (4 + array.nbytes // rows) >= array.nbytes:
        return {}, [array.tobytes()]
    places = np.flatnonzero(differs).astype("<u4")
    return {"changed": changed}, [places.tobytes(), array[differs].tobytes()]


def _fit_base(base: NDArray[Any] | None, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """The base in this shape: rows that it does not have are 0."""
    under = np.zeros(shape, dtype)
    if base is not None and base.dtype == dtype and base.shape[1:] == shape[1:]:
        n_common = min(len(base), shape[0])
        under[:n_common] = base[:n_common]
    return under


def _as_bits(array: NDArray[Any]) -> NDArray[Any]:
    """To be compared bit by bit: −0 is not 0, and NaN is NaN."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "f" else array
