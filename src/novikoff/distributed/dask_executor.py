"""The executor for Dask. Only this module needs Dask.

Every input of a task is the result of another task, including the weights of a round. So if a worker dies, Dask
computes its results again on another worker. If that fails, the round is restarted.
"""

from __future__ import annotations

import asyncio
import logging
import pkgutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import ref

from novikoff import __version__
from novikoff.errors import InputError

MAX_ROUND_ATTEMPTS = 20
WORKER_TIMEOUT_SECONDS = 60.0
"""Time to wait for the first worker, or for the scheduler."""
LOCAL_CLUSTER_CONFIG = {
    # Memory that a worker keeps for its next arrays. By default Dask makes workers return all memory at once, which
    # made mixing, which allocates an array at every step, four times slower.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    # Dask's profiler samples workers every 10 ms, and its event loops tick every 20 ms. Both interrupt learning, and
    # the profiler sees only Python frames, not kernels.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
"""Dask settings for a local cluster, whose workers only learn."""
MAX_CALLS_PER_MESSAGE = 64
"""Calls submitted in one message. Dask traverses the unsubmitted inputs of each call, so large batches are slow."""
POLL_INTERVAL_SECONDS = 5.0
"""Interval between checks that the scheduler and workers are still there."""


class TaskHandle:
    """A handle to the result of a call: a delayed object, and after submission its future."""

    def __init__(self, value: Any) -> None:
        self.value = value


class DaskExecutor:
    """Runs tasks on a Dask cluster."""

    ahead = True

    def __init__(self, client: Any, data: Sequence[Any] | None = None) -> None:
        self.client = client
        self._workers: list[str] = []
        self._pending_calls: list[ref[TaskHandle]] = []
        """Calls that are not submitted yet."""
        self._check_workers()
        self._data = None if data is None else client.compute([_to_delayed(one) for one in data])

    def share(self, value: Any) -> Any:
        return self.call(_identity, value)

    def data(self, shard: int) -> Any:
        return None if self._data is None else self._data[shard]

    def call(self, function: Callable[..., Any], *arguments: Any, part: int | None = None) -> Any:
        """Schedule a call, and return its handle.

        Parts are assigned to the workers in turn as a preference. By default Dask would run all of them on the worker
        that holds the initial weights.
        """
        from dask import annotate, delayed

        if len(self._pending_calls) >= MAX_CALLS_PER_MESSAGE:
            self._submit_pending()
        turn = None if part is None else self._pick_worker(part)
        with annotate(workers=turn, allow_other_workers=True) if turn else nullcontext():
            handle = TaskHandle(delayed(function, pure=False)(*map(_unwrap_handles, arguments)))
        self._pending_calls.append(ref(handle))
        return handle

    def _submit_pending(self) -> None:
        """Submit all scheduled calls in one message, because each message costs the scheduler a millisecond.

        Handles that are only inputs of other tasks, and no longer referenced, need no future.
        """
        handles = [handle for one in self._pending_calls if (handle := one()) is not None]
        self._pending_calls = []
        if not handles:
            return
        with warnings.catch_warnings():
            # The model is sent through the scheduler on purpose, so that it is available if a task must be repeated.
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures = self.client.compute([handle.value for handle in handles], optimize_graph=False)
        for handle, future in zip(handles, futures, strict=True):
            handle.value = future

    def _pick_worker(self, part: int) -> list[str] | None:
        """Return the preferred worker for a part. The list of workers is updated in each round."""
        if part == 0:
            self._workers = sorted(self.client.nthreads())
        return [self._workers[part % len(self._workers)]] if self._workers else None

    def results(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for all results, or for the first failure; raise InputError if there are no workers for too long."""
        self._submit_pending()
        gathering = self.client.gather(_unwrap_handles(list(handles)), asynchronous=True)
        gathered = asyncio.run_coroutine_threadsafe(gathering, self.client.loop.asyncio_loop)
        alone_since = None
        while True:
            try:
                found: list[Any] = gathered.result(timeout=POLL_INTERVAL_SECONDS)
                return found
            except ModuleNotFoundError as problem:
                raise InputError(
                    f"A worker has no {problem.name}: install novikoff {__version__} on all workers."
                ) from None
            except TimeoutError:
                if gathered.done():
                    raise  # raised by a task
                if not self._is_alive() or self.client.scheduler_info()["workers"]:
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > WORKER_TIMEOUT_SECONDS:
                    gathered.cancel()
                    raise InputError(
                        "The cluster has lost all its workers. Start new workers, and the run again; with a checkpoint"
                        " it continues after the last finished round."
                    ) from None
            except BaseException:
                gathered.cancel()  # an interrupted run does not wait for results
                raise

    def run_with_retry(self, round_: Callable[[], Any]) -> Any:
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        for tries in range(1, MAX_ROUND_ATTEMPTS + 1):
            self._pending_calls.clear()
            try:
                return round_()
            except (KilledWorker, CancelledError, OSError) as problem:
                if not self._is_alive():
                    raise InputError(
                        "The connection to the scheduler was lost. Start the run again; with a checkpoint it continues"
                        " after the last finished round."
                    ) from None
                if not isinstance(problem, KilledWorker | CancelledError | CommClosedError):
                    raise
                if tries == MAX_ROUND_ATTEMPTS:
                    raise InputError(
                        f"Workers died repeatedly in one round ({problem}). Check that they have enough memory."
                    ) from None
                self._check_workers()
        raise AssertionError  # the loop has returned or raised

    def _is_alive(self) -> bool:
        try:
            return self.client.status == "running" and bool(self.client.scheduler_info())
        except (OSError, TimeoutError, CancelledError, ValueError):
            return False

    def _check_workers(self) -> None:
        """Raise InputError if a worker or the scheduler, which deserializes tasks, has another version of novikoff."""
        try:
            self.client.wait_for_workers(1, timeout=WORKER_TIMEOUT_SECONDS)
        except TimeoutError:
            raise InputError(
                f"The cluster at {self.client.scheduler.address} has had no workers for"
                f" {WORKER_TIMEOUT_SECONDS:.0f} s. Start some."
            ) from None
        asked = (pkgutil.resolve_name, "novikoff:__version__")
        for worker, version in self.client.run(*asked, on_error="return").items():
            _check_same_version(f"worker {worker}", version)
        try:
            there = self.client.run_on_scheduler(*asked)
        except Exception as problem:
            there = problem
        _check_same_version(f"scheduler {self.client.scheduler.address}", there)


def _check_same_version(who: str, version: Any) -> None:
    if isinstance(version, OSError):  # it has died in the meantime
        return
    if isinstance(version, Exception):
        raise InputError(
            f"The {who} has no novikoff ({version}). Install novikoff {__version__} on the scheduler and all workers."
        )
    if version != __version__:
        raise InputError(
            f"The {who} has novikoff {version}, this process has {__version__}. Install the same version everywhere."
        )


def _unwrap_handles(argument: Any) -> Any:
    """Replace a handle, or the handles in a list, by its Dask object."""
    if isinstance(argument, list):
        return [_unwrap_handles(one) for one in argument]
    return argument.value if isinstance(argument, TaskHandle) else argument


def _identity(value: Any) -> Any:
    return value


def _to_delayed(one: Any) -> Any:
    """Return a delayed object, also for a value that is computed already."""
    from dask import delayed

    return one if hasattr(one, "dask") else delayed(_identity)(one)


def current_client() -> Any:
    """Return the current Dask client of this process, or None. Dask is not imported for that."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return client if client.status == "running" else None  # a client that is not connected may be the default


def compute_locally(data: Sequence[Any]) -> list[Any]:
    """Compute all data in this process, without a cluster."""
    if not any(hasattr(one, "dask") for one in data):
        return list(data)
    import dask

    return list(dask.compute(*data, scheduler="threads"))


@contextmanager
def _silence_logs() -> Iterator[None]:
    """Suppress Dask's log of failed tasks and lost machines: errors are reported by exceptions."""
    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def connect(scheduler: str | None, workers: int | None = None) -> Iterator[Any]:
    """Yield a client of a scheduler, or of a temporary cluster of processes on this machine."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("A cluster needs Dask. Run pip install 'novikoff[cluster]'.") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=WORKER_TIMEOUT_SECONDS / 4, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as problem:
            raise InputError(f"{scheduler}: the scheduler can't be reached ({problem}).") from None
        with _silence_logs(), client:
            yield client
        return
    with (
        _silence_logs(),
        config.set(LOCAL_CLUSTER_CONFIG),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
