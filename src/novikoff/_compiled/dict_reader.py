"""A dict of numbers, read by compiled code: to hand its keys and values over as arguments, one by one, takes Python
longer than learning from them.

The interpreter's own functions are called, so the caller must hold its lock (`compiled_with_gil`). None of them runs
code of the user: keys other than str and int, values other than Python's own numbers, and errors are left to the
caller.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff._compiled.jit import JIT_DISABLED, Like, compiled_with_gil, primitive
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked, unpack_block

MAX_COLUMN = 2**32 - 1
NOT_PLAIN = -1
OCCUPIED = -2
COUNT_AT, WAITING_AT = 8, 9  # places in a desk
TYPE_OFFSET = 8  # bytes from the beginning of an object to where its type is named


class DictTerms(NamedTuple):
    """Where a dict is read to; packed into a block for `read_dict`."""

    workspace: NDArray[np.int64]
    """Room for a place in the dict, a key and a value; the types `str`, `int`, `bool` and `float`; then 0, how many
    terms were read, and 1 while they wait to be learned (see `terms_view`)."""
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]


def allocate_workspace(*, guarded: bool = True) -> NDArray[np.int64]:
    """Return a fresh desk. A guarded one, for several threads, takes no dict while the last one waits to be learned."""
    return np.array([0, 0, 0, id(str), id(int), id(bool), id(float), 0, 0, 0 if guarded else -1], np.int64)


def terms_view(workspace: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the part of a desk that says where the terms begin and end, and whether they wait."""
    return workspace[COUNT_AT - 1 :]


def can_read_dicts() -> bool:
    """Return whether the layout of Python objects in memory is the expected one."""
    if JIT_DISABLED:
        return True
    named = (ctypes.c_int64.from_address(id(one) + TYPE_OFFSET).value == id(type(one)) for one in (7, 0.5, "a"))
    return sys.implementation.name == "cpython" and all(named)


def _read_terms(x: int, columns: int, workspace: Any, indices: Any, values: Any) -> int:
    example: Any = ctypes.cast(x, ctypes.py_object).value
    known: Any = ctypes.cast(columns, ctypes.py_object).value if columns else None
    if len(example) > len(values):
        return NOT_PLAIN
    for k, (key, value) in enumerate(example.items()):
        column = key if known is None else known.get(key) if type(key) is str else None
        if type(column) is not int or not 0 <= column <= MAX_COLUMN:
            return NOT_PLAIN
        if not isinstance(value, float) and type(value) not in (int, bool):
            return NOT_PLAIN
        try:
            indices[k] = column
            with np.errstate(over="ignore"):
                values[k] = float.__float__(value) if isinstance(value, float) else float(value)
        except OverflowError:
            return NOT_PLAIN
    return len(example)


def _read_terms_code(numba: Any, x: Any, columns: Any, workspace: Any, indices: Any, values: Any) -> Any:
    from llvmlite import ir

    types = numba.types
    word, number = types.intp, types.float64

    def python(name: str, result: Any, *arguments: Any) -> Any:
        return types.ExternalFunction(name, result(*arguments))

    next_item = python("PyDict_Next", types.intc, word, word, word, word)
    find = python("PyDict_GetItem", word, word, word)  # borrowed, and 0 where there is none
    is_kind_of = python("PyType_IsSubtype", types.intc, word, word)
    whole = python("PyLong_AsLongLong", types.int64, word)
    whole_as_float = python("PyLong_AsDouble", number, word)
    as_float = python("PyFloat_AsDouble", number, word)
    error = python("PyErr_Occurred", word)
    forget_error = python("PyErr_Clear", types.void)

    @numba.extending.intrinsic
    def type_of(context: Any, of: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.add(args[0], ir.Constant(ir.IntType(64), TYPE_OFFSET))
            return builder.load(builder.inttoptr(place, ir.IntType(64).as_pointer()))

        return word(word), code

    def read(x: int, columns: int, workspace: Any, indices: Any, values: Any) -> int:
        place = workspace.ctypes.data
        workspace[0] = 0
        text, integer, truth, floating = (
            get_unchecked(workspace, 3),
            get_unchecked(workspace, 4),
            get_unchecked(workspace, 5),
            get_unchecked(workspace, 6),
        )
        k = 0
        while next_item(x, place, place + 8, place + 16) != 0:
            key, value = get_unchecked(workspace, 1), get_unchecked(workspace, 2)
            if columns != 0:
                key = find(columns, key) if type_of(key) == text else 0
            if k == len(values) or key == 0 or type_of(key) != integer:
                return NOT_PLAIN
            column, kind = whole(key), type_of(value)
            if column < 0 or column > MAX_COLUMN:
                break
            if kind == floating or is_kind_of(kind, floating) != 0:
                set_unchecked(values, k, as_float(value))
            elif kind == integer or kind == truth:  # noqa: PLR1714, SIM109 - compiled as it stands
                x_k = whole_as_float(value)
                if x_k == -1.0 and error() != 0:
                    break
                set_unchecked(values, k, x_k)
            else:
                return NOT_PLAIN
            indices[k] = column
            k += 1
        else:
            return k
        forget_error()  # that a number is too large
        return NOT_PLAIN

    return read


read_terms = primitive(_read_terms, _read_terms_code)
"""Write the terms of a dict to arrays, from their beginning.

Returns their number, or NOT_PLAIN where a term is not usual or the arrays are too small. `x` is the dict's id, and
`columns` that of a dict of names → columns, 0 where the keys are columns themselves.
"""


@compiled_with_gil
def read_dict(block: Any, like: Any, x: int, columns: int) -> int:
    """`read_terms`, to packed `DictTerms`; OCCUPIED where another thread's terms wait there to be learned."""
    terms = unpack_block(block, like)
    if terms.workspace[WAITING_AT] > 0:
        return OCCUPIED
    count = read_terms(x, columns, terms.workspace, terms.indices, terms.values)
    terms.workspace[COUNT_AT] = count
    if count > 0 and terms.workspace[WAITING_AT] == 0:
        terms.workspace[WAITING_AT] = 1
    return count


def bind_reader(block: Any, terms: DictTerms) -> Callable[..., int]:
    """`read_dict` for blocks such as this one; where dicts can't be read so, a function that reads none."""
    return read_dict.bound(block, Like(terms), 0, 0) if can_read_dicts() else lambda *_: NOT_PLAIN
