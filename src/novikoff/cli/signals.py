"""Ctrl-C, also where it comes while something is compiled: what is raised in there is sometimes caught, and lost."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import signal
else:
    try:  # the same without names for all of the system's numbers, which take longer to make than there is to do here
        import _signal as signal
    except ImportError:
        import signal

_came = False


@contextlib.contextmanager
def remember_interrupts() -> Iterator[None]:
    """While this lasts, an interruption is remembered."""
    global _came  # noqa: PLW0603 - there is one Ctrl-C
    _came = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_interrupt(number: int, frame: Any) -> None:
    global _came  # noqa: PLW0603
    _came = True
    raise KeyboardInterrupt


def raise_if_interrupted() -> None:
    """Raises KeyboardInterrupt if one came, and was lost."""
    if _came:
        raise KeyboardInterrupt
