"""Remember Ctrl-C: Numba sometimes catches a KeyboardInterrupt that is raised while it compiles."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import signal
else:
    try:  # `signal` builds enums of all signal names, which takes longer than a short run
        import _signal as signal
    except ImportError:
        import signal

was_interrupted = False


@contextlib.contextmanager
def remember_interrupts() -> Iterator[None]:
    """Remember interrupts within the context."""
    global was_interrupted  # noqa: PLW0603 - there is one Ctrl-C
    was_interrupted = False
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_interrupt(number: int, frame: Any) -> None:
    global was_interrupted  # noqa: PLW0603
    was_interrupted = True
    raise KeyboardInterrupt


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if one was remembered."""
    if was_interrupted:
        raise KeyboardInterrupt
