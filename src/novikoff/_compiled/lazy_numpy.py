"""NumPy, imported when something of it is first used: `from novikoff._compiled.lazy_numpy import NDArray, np`.

Importing NumPy takes as long as learning a small file. The modules that `novikoff learn FILE` imports take it from
here, and make arrays by `buffers.py`, so that the command needs no NumPy.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayLike", "NDArray", "np"]


class LazyNumpy(ModuleType):
    """Has all that NumPy has."""

    def __getattr__(self, name: str) -> Any:
        import numpy

        value = getattr(numpy, name)
        setattr(self, name, value)
        return value


class ArrayAnnotation:
    """A type of arrays, in annotations only."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


if not TYPE_CHECKING:
    np = LazyNumpy("numpy")
    ArrayLike = NDArray = ArrayAnnotation
