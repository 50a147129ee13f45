"""How Python calls a compiled kernel: an entry point for each, in LLVM code.

The entry point is what CPython calls a METH_FASTCALL function. It takes the arguments apart by itself (a tuple is its
items, an array is its address, shape and strides), lets other threads run while the kernel does, and makes a Python
object of the result: a call costs some tens of nanoseconds. All of CPython's functions that it needs are in the stable
ABI. Arrays are NumPy's, whose first fields have stood at the same places since NumPy 1.7, or tuples of their address,
shape and strides.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.np.arrayobj import populate_array

WORD, BYTE = ir.IntType(64), ir.IntType(8)
OBJECT = BYTE.as_pointer()
TYPE_OFFSET = 8
DATA_OFFSET, SHAPE_OFFSET, STRIDES_OFFSET = 16, 32, 40  # of NumPy's arrays


class EntryPoint:
    """Writes the entry point of one compiled function into a module."""

    def __init__(self, context: Any, module: Any, symbol: str) -> None:
        self.context, self.module = context, module
        kind = ir.FunctionType(OBJECT, [OBJECT, OBJECT.as_pointer(), WORD])
        self.function = ir.Function(module, kind, symbol)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def write(self, descriptor: Any, signature: Any, *, release_lock: bool) -> None:
        builder, (_, args, count) = self.builder, self.function.args
        with builder.if_then(builder.icmp_signed("!=", count, WORD(len(signature.args))), likely=False):
            self.call("PyErr_BadInternalCall", ir.VoidType())
            builder.ret(OBJECT(None))
        values = [
            self.native(kind, builder.load(builder.gep(args, [WORD(k)]))) for k, kind in enumerate(signature.args)
        ]
        failed = builder.icmp_unsigned("!=", self.call("PyErr_Occurred", OBJECT), OBJECT(None))
        with builder.if_then(failed, likely=False):
            builder.ret(OBJECT(None))
        kernel = self.context.declare_function(self.module, descriptor)
        thread = self.call("PyEval_SaveThread", OBJECT) if release_lock else None
        _, result = self.context.call_conv.call_function(
            builder, kernel, descriptor.restype, descriptor.argtypes, values
        )
        if release_lock:
            self.call("PyEval_RestoreThread", ir.VoidType(), thread)
        builder.ret(self.python(descriptor.restype, result))

    def call(self, name: str, result: Any, *args: Any) -> Any:
        kind = ir.FunctionType(result, [arg.type for arg in args])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), args)

    # --- From Python ---

    def native(self, kind: Any, value: Any) -> Any:  # noqa: PLR0911 - one for each type
        """The value of a Python object, as Numba represents it."""
        if isinstance(kind, types.Optional):  # a sample: its type is all that counts
            return ir.Constant(self.context.get_value_type(kind), ir.Undefined)
        if isinstance(kind, types.BaseTuple):
            items = [
                self.native(item, self.call("PyTuple_GetItem", OBJECT, value, WORD(k))) for k, item in enumerate(kind)
            ]
            return self.context.make_tuple(self.builder, kind, items)
        if isinstance(kind, types.Array):
            return self.array(kind, value)
        if isinstance(kind, types.Boolean):
            return self.builder.icmp_signed(
                "!=", self.call("PyObject_IsTrue", ir.IntType(32), value), ir.IntType(32)(0)
            )
        if kind == types.float64:
            return self.call("PyFloat_AsDouble", ir.DoubleType(), value)
        if kind == types.int64:
            return self.call("PyLong_AsLongLong", WORD, value)
        if kind == types.uint64:
            return self.call("PyLong_AsUnsignedLongLongMask", WORD, value)
        raise TypeError(f"no entry point takes {kind}")

    def array(self, kind: Any, value: Any) -> Any:
        builder, context = self.builder, self.context
        words = self.call_reader(kind.ndim, value)
        found = [builder.load(builder.gep(words, [WORD(k)])) for k in range(1 + 2 * kind.ndim)]
        shape, strides = found[1 : 1 + kind.ndim], found[1 + kind.ndim :]
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        populate_array(
            array,
            data=builder.inttoptr(found[0], array.data.type),
            shape=cgutils.pack_array(builder, shape),
            strides=cgutils.pack_array(builder, strides),
            itemsize=size,
            meminfo=None,
        )
        return array._getvalue()

    def call_reader(self, dimensions: int, value: Any) -> Any:
        """Return address, shape and strides of an array."""
        words = cgutils.alloca_once(self.builder, WORD, size=1 + 2 * dimensions)
        self.builder.call(self.reader(dimensions), [value, words])
        return words

    def reader(self, dimensions: int) -> Any:
        name = f"novikoff_read_array_{dimensions}"
        function = self.module.globals.get(name)
        if function is None:
            kind = ir.FunctionType(ir.VoidType(), [OBJECT, WORD.as_pointer()])
            function = ir.Function(self.module, kind, name)
            function.linkage = "internal"
            ArrayReader(self.module, function, dimensions).write()
        return function

    # --- To Python ---

    def python(self, kind: Any, value: Any) -> Any:
        """A new object."""
        builder = self.builder
        if isinstance(kind, types.BaseTuple):
            result = self.call("PyTuple_New", OBJECT, WORD(len(kind)))
            for k, item in enumerate(kind):
                made = self.python(item, builder.extract_value(value, k))
                self.call("PyTuple_SetItem", ir.IntType(32), result, WORD(k), made)
            return result
        if isinstance(kind, types.NoneType):
            nothing = self.module.globals.get("_Py_NoneStruct") or ir.GlobalVariable(
                self.module, BYTE, "_Py_NoneStruct"
            )
            self.call("Py_IncRef", ir.VoidType(), nothing)
            return nothing
        if isinstance(kind, types.Boolean):
            return self.call("PyBool_FromLong", OBJECT, builder.zext(value, WORD))
        if isinstance(kind, types.Float):
            return self.call(
                "PyFloat_FromDouble", OBJECT, builder.fpext(value, ir.DoubleType()) if kind.bitwidth < 64 else value
            )
        if isinstance(kind, types.Integer):
            wide = self.context.cast(builder, value, kind, types.int64 if kind.signed else types.uint64)
            return self.call("PyLong_FromLongLong" if kind.signed else "PyLong_FromUnsignedLongLong", OBJECT, wide)
        raise TypeError(f"no entry point returns {kind}")


class ArrayReader:
    """Return the function that reads address, shape and strides of an array with `ndim` dimensions."""

    def __init__(self, module: Any, function: Any, dimensions: int) -> None:
        self.module, self.function, self.dimensions = module, function, dimensions
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))

    def write(self) -> None:
        builder, (value, words) = self.builder, self.function.args
        tuples = self.module.globals.get("PyTuple_Type") or ir.GlobalVariable(self.module, BYTE, "PyTuple_Type")
        is_tuple = builder.icmp_unsigned("==", self.word_at(value, TYPE_OFFSET), builder.ptrtoint(tuples, WORD))
        with builder.if_else(is_tuple) as (numbers, array):
            with numbers:
                for k in range(1 + 2 * self.dimensions):
                    item = self.call("PyTuple_GetItem", OBJECT, value, WORD(k))
                    builder.store(self.call("PyLong_AsLongLong", WORD, item), builder.gep(words, [WORD(k)]))
            with array:
                builder.store(self.word_at(value, DATA_OFFSET), words)
                self.copy(value, SHAPE_OFFSET, STRIDES_OFFSET, words)
        builder.ret_void()

    def call(self, name: str, result: Any, *args: Any) -> Any:
        kind = ir.FunctionType(result, [arg.type for arg in args])
        return self.builder.call(cgutils.get_or_insert_function(self.module, kind, name), args)

    def copy(self, value: Any, shape: int, strides: int, words: Any) -> None:
        builder = self.builder
        for first, offset in ((1, shape), (1 + self.dimensions, strides)):
            numbers = builder.inttoptr(self.word_at(value, offset), WORD.as_pointer())
            for k in range(self.dimensions):
                builder.store(builder.load(builder.gep(numbers, [WORD(k)])), builder.gep(words, [WORD(first + k)]))

    def word_at(self, value: Any, offset: int) -> Any:
        place = self.builder.gep(value, [WORD(offset)])
        return self.builder.load(self.builder.bitcast(place, WORD.as_pointer()))
