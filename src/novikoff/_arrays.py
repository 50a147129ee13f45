"""NumPy, as the modules that learn from files import it: `from novikoff._arrays import NDArray, np`.

Importing NumPy takes longer than learning a small file, where machine code does the work and arrays are only memory for
it. A process that asks for it, as the command line does (`stand_in`), therefore gets a stand-in for the little that is
done there beside: see `_buffers.py`. Whatever goes beyond that brings NumPy in, and from then on `np` is NumPy
everywhere; arrays that were made before stay the stand-in's, and NumPy works on their memory. Which of the two it was
is never seen in a result.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayLike", "NDArray", "np"]
STAND_IN = "novikoff._buffers"


class Written:
    """Types of arrays, where they are only written down."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


def stand_in() -> None:
    """From now on until NumPy is needed. To be called before anything that has to do with arrays is imported."""
    if "numpy" not in sys.modules and "np" not in globals():
        from novikoff import _buffers

        globals().update(np=_buffers.Numpy("numpy"), NDArray=Written, ArrayLike=Written)


def settled() -> Any:
    """NumPy itself, which takes the place of the stand-in wherever that is known: compiled functions are made of what
    stands in their modules, and that must be NumPy's then."""
    import numpy

    known = globals().get("np")
    globals()["np"] = numpy
    if known is not numpy and known is not None:
        for name, module in list(sys.modules.items()):
            if name.startswith("novikoff.") and name != STAND_IN:
                for key, value in list(vars(module).items()):
                    if value is known:
                        setattr(module, key, numpy)
                    elif value is known.ndarray:
                        setattr(module, key, numpy.ndarray)
                    elif is_foreign(value):
                        setattr(module, key, value.of_numpy())
    return numpy


def room(shape: int | tuple[int, ...], kind: Any = "float64") -> Any:
    """An array for what parsers make room for, most of which is never written and costs nothing then. NumPy asks the
    system for large pages: of each such array the first byte to be written costs two megabytes."""
    from novikoff import _buffers

    made = _buffers.made(shape, _buffers.KINDS[_buffers.name_of(kind)], huge=False)
    return made.of_numpy() if is_settled() else made


def is_settled() -> bool:
    """Whether NumPy is there: anyone may have imported it."""
    return "numpy" in sys.modules and settled() is not None


def is_foreign(value: Any) -> bool:
    """Whether it is an array, or a number, that is not NumPy's but the stand-in's."""
    return type(value).__module__ == STAND_IN


def of_numpy(value: Any) -> Any:
    """An array, or a tuple with some, as NumPy's."""
    if is_foreign(value):
        return value.of_numpy()
    if isinstance(value, tuple):
        items = [of_numpy(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def __getattr__(name: str) -> Any:
    """NumPy's own, where nobody has asked for the stand-in."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    numpy = settled()
    if name != "np":
        import numpy.typing

        return getattr(numpy.typing, name)
    return numpy
