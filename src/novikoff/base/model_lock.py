"""Lock that makes a model safe to use from several threads.

Each model has one lock: methods that learn hold it alone, methods that predict share it. The fast path for single
examples takes no lock: it is one call of compiled code, during which the interpreter runs no other thread. While the
lock is held, the argument blocks of that call are closed: the call then refuses the example, and the method works under
the lock instead.

A process that is forked while another thread holds a lock gets a copy of the lock that no thread would ever release.
Locks are therefore created again in the child. A model that another thread was learning at that moment may be half
updated: in the child it raises TornModelError, and the parent continues.

`BaseEstimator.__init_subclass__` wraps the methods that are listed here, in every class that defines them.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Never, TypeVar
from weakref import WeakSet

from novikoff._compiled import jit, library
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.base.scikit_learn.conditional_method import ConditionalMethod
from novikoff.errors import TornModelError

F = TypeVar("F", bound=Callable[..., Any])

EXCLUSIVE_METHODS = (
    "fit",
    "_fit_rows",
    "_fit_dataset",
    "partial_fit",
    "learn_one",
    "_learn_checked_rows",
    "_learn_weighted_example",
    "set_params",
    "with_kernel",
    "_learn_slow_path",
)
"""Methods that change the model: they hold its lock exclusively."""
SHARED_METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "score",
    "_score_rows",
    "bounds",
    "classes_",
    "coef_",
    "intercept_",
    "feature_std_",
    "feature_importances_",
    "feature_names_in_",
)
"""Methods and properties that read the model: several threads may run them at once while no thread learns."""
EXCLUSIVE_READ_METHODS = ("predict_one", "predict_proba_one", "score_one", "_score_slow_path", "_open_fast_predict")
"""Methods that read the model and change what is cached for the next example: one thread at a time."""


class ModelLock:
    """A reentrant lock that one thread holds exclusively, or several share."""

    __slots__ = ("__weakref__", "alone", "changed", "learning", "readers", "waiting")

    def __init__(self) -> None:
        self.alone: Any = threading.RLock()
        self.learning = False
        """Whether the thread that holds `alone`, if any, changes the model."""
        self.readers: dict[int, int] = {}
        """The threads that share the lock."""
        self.changed = threading.Condition(self.alone)
        self.waiting = 0
        """Number of threads that wait for the readers in order to learn: no other reader may enter."""
        ALL_LOCKS.add(self)

    def wait_for_readers(self) -> None:
        """Wait until no thread shares the lock; the caller holds `alone`."""
        self.learning = False
        self.waiting += 1
        try:
            while self.readers:
                self.changed.wait()
        finally:
            self.waiting -= 1
            self.changed.notify_all()

    def enter(self, model: Any) -> None:
        """Share the lock of this model."""
        with self.alone:
            self.learning = False
            while self.waiting:
                self.changed.wait()
            if not self.readers:
                model._close_fast_path(False)
            self.readers[threading.get_ident()] = 1

    def leave(self, model: Any) -> None:
        """Undo `enter`."""
        with self.alone:
            self.learning = False
            self.readers.pop(threading.get_ident(), None)
            if not self.readers:
                model._open_fast_path()
                if self.waiting:
                    self.changed.notify_all()

    def is_held(self) -> bool:
        """Return whether the current thread holds the lock, exclusively or shared."""
        owned: bool = self.alone._is_owned()
        return owned or threading.get_ident() in self.readers

    def reset_after_fork(self) -> None:
        """Create the lock again in the child of a fork, where only the current thread exists."""
        if self.alone.acquire(blocking=False):
            self.alone.release()
        else:  # another thread held it
            self.alone = TornLock() if self.learning else threading.RLock()
        me = threading.get_ident()
        self.readers = {me: 1} if me in self.readers else {}
        self.changed = threading.Condition(self.alone)
        self.waiting = 0


class TornLock:
    """Replacement of the lock of a model that another thread was learning when the process was forked."""

    def refuse(self, *_: Any, **__: Any) -> Never:
        raise TornModelError(
            "This model was being learned by another thread when the process was forked: this process has half of a"
            " step. Fork while no thread learns, or load the model from a file."
        )

    acquire = release = __enter__ = _is_owned = refuse

    def __exit__(self, *_: object) -> None:
        return


ALL_LOCKS: WeakSet[ModelLock] = WeakSet()
"""The locks of all models."""


def _reset_locks_after_fork() -> None:
    # Another thread may have been loading its first compiled function.
    for loading in (jit._lock, library.LOAD_LOCK):  # style: allow - a new name in jit.py would rebuild all kernels
        loading._at_fork_reinit()  # type: ignore[union-attr]
    for lock in list(ALL_LOCKS):
        lock.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_locks_after_fork)


def lock_free(method: F) -> F:
    """Mark a method with a fast path, which must not be wrapped: it takes the lock where it needs it. Without compiled
    code no call is atomic, and the method is wrapped like others."""
    if not JIT_DISABLED:
        method.lock_free = True  # type: ignore[attr-defined]
    return method


def with_exclusive_lock(method: F, *, learns: bool) -> F:
    """Wrap a method so that it holds its model's lock exclusively; `learns` also closes the fast path for
    predictions."""

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        lock = self._model_lock
        alone = lock.alone
        if alone._is_owned() or (lock.readers and threading.get_ident() in lock.readers):
            return method(self, *args, **kwargs)
        with alone:  # as `exclusive_lock`, without the cost of a context manager
            if lock.readers:
                lock.wait_for_readers()
            lock.learning = learns
            self._close_fast_path(learns)
            try:
                return method(self, *args, **kwargs)
            finally:
                self._open_fast_path()

    return run  # type: ignore[return-value]


@contextmanager
def exclusive_lock(model: Any) -> Iterator[None]:
    """Hold the lock of a model exclusively: meanwhile no other thread learns or predicts."""
    lock: ModelLock = model._model_lock
    if lock.is_held():
        yield
        return
    with lock.alone:
        if lock.readers:
            lock.wait_for_readers()
        lock.learning = True
        model._close_fast_path(True)
        try:
            yield
        finally:
            model._open_fast_path()


def with_shared_lock(method: F) -> F:
    """Wrap a method so that it shares its model's lock. Raw rows need the exclusive lock, because each model has one
    parser."""
    alone = with_exclusive_lock(method, learns=False)

    @functools.wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(getattr(self, "_state", None), "reading", None) is not None:
            return alone(self, *args, **kwargs)
        lock = self._model_lock
        if lock.is_held():
            return method(self, *args, **kwargs)
        try:
            lock.enter(self)
            return method(self, *args, **kwargs)
        finally:
            lock.leave(self)

    return run  # type: ignore[return-value]


@contextmanager
def shared_lock(model: Any) -> Iterator[None]:
    """Share the lock of a model: meanwhile no thread learns."""
    lock: ModelLock = model._model_lock
    if lock.is_held():
        yield
        return
    try:
        lock.enter(model)
        yield
    finally:
        lock.leave(model)


def wrap_methods(cls: type) -> None:
    """Wrap the methods and properties of a class that take the lock."""
    for name in EXCLUSIVE_METHODS:
        _wrap_method(cls, name, functools.partial(with_exclusive_lock, learns=True))
    for name in SHARED_METHODS:
        _wrap_method(cls, name, with_shared_lock)
    for name in EXCLUSIVE_READ_METHODS:
        _wrap_method(cls, name, functools.partial(with_exclusive_lock, learns=False))


def _wrap_method(cls: type, name: str, wrap: Callable[[Any], Any]) -> None:
    found = cls.__dict__.get(name)
    if isinstance(found, property):
        setattr(cls, name, property(wrap(found.fget), found.fset, found.fdel, found.__doc__))
    elif isinstance(found, ConditionalMethod):
        if not getattr(found.function, "lock_free", False):
            setattr(cls, name, ConditionalMethod(wrap(found.function), found.condition))
    elif callable(found) and not getattr(found, "lock_free", False):
        setattr(cls, name, wrap(found))
