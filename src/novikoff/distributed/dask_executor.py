"""Dask runs the tasks: the only file that imports it.

Every value that a task takes comes from another task, the weights of a round included: where a worker dies, what it
held is computed once more elsewhere. Where even that has failed, the round is begun anew.
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
"""How often a round is begun anew."""
WORKER_TIMEOUT_SECONDS = 60.0
"""Seconds to wait for the first worker, or for the scheduler."""
LOCAL_CLUSTER_CONFIG = {
    # Bytes that a worker keeps for its next arrays. Dask has workers give everything back to the system at once, and
    # mixing, which makes and drops an array at every step, took four times as long.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    # Every ten milliseconds workers would look what they are doing, where there is no Python to be seen; and every
    # twenty all would look whether they are awake. Who learns is interrupted by each.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
}
"""Settings of Dask's for a cluster on this machine, whose workers learn and do nothing else."""
MAX_CALLS_PER_MESSAGE = 64
"""Calls that are told of in one message: what calls are built on, Dask goes through for each of them, if it is not told
of yet."""
POLL_INTERVAL_SECONDS = 5.0
"""Seconds between two looks at whether there is anybody left to wait for."""


class TaskHandle:
    """What stands for the result of a call: first what is to be computed, then its future."""

    def __init__(self, told: Any) -> None:
        self.told = told


class DaskExecutor:
    ahead = True

    def __init__(self, client: Any, data: Sequence[Any] | None = None) -> None:
        self.client = client
        self._workers: list[str] = []
        self._pending_calls: list[ref[TaskHandle]] = []
        """What was called since results were last asked for."""
        self._check_workers()
        self._data = None if data is None else client.compute([_to_delayed(one) for one in data])

    def share(self, value: Any) -> Any:
        return self.call(_identity, value)

    def data(self, shard: int) -> Any:
        return None if self._data is None else self._data[shard]

    def call(self, function: Callable[..., Any], *arguments: Any, part: int | None = None) -> Any:
        """Parts are wished on one worker after another: by itself Dask would have all of them done where the weights
        lie that they begin with. Others may do them, too, if that one is not there."""
        from dask import annotate, delayed

        if len(self._pending_calls) >= MAX_CALLS_PER_MESSAGE:
            self._submit_pending()
        turn = None if part is None else self._pick_worker(part)
        with annotate(workers=turn, allow_other_workers=True) if turn else nullcontext():
            handle = TaskHandle(delayed(function, pure=False)(*map(_unwrap_handles, arguments)))
        self._pending_calls.append(ref(handle))
        return handle

    def _submit_pending(self) -> None:
        """The scheduler, of all calls in one message: each message costs it a millisecond, and whoever learns waits. Of
        what nobody holds any more, and others are made of, nobody need be told when it is done."""
        handles = [handle for one in self._pending_calls if (handle := one()) is not None]
        self._pending_calls = []
        if not handles:
            return
        with warnings.catch_warnings():
            # A model goes by way of the scheduler on purpose: only then is it there for whoever must do a task again.
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures = self.client.compute([handle.told for handle in handles], optimize_graph=False)
        for handle, future in zip(handles, futures, strict=True):
            handle.told = future

    def _pick_worker(self, part: int) -> list[str] | None:
        """The worker whose turn it is; each round asks anew who is there."""
        if part == 0:
            self._workers = sorted(self.client.nthreads())
        return [self._workers[part % len(self._workers)]] if self._workers else None

    def results(self, handles: Sequence[Any]) -> list[Any]:
        """Waits until all is there or something failed; not for ever where there is nobody to do it."""
        self._submit_pending()
        gathering = self.client.gather(_unwrap_handles(list(handles)), asynchronous=True)
        coming = asyncio.run_coroutine_threadsafe(gathering, self.client.loop.asyncio_loop)
        alone_since = None
        while True:
            try:
                found: list[Any] = coming.result(timeout=POLL_INTERVAL_SECONDS)
                return found
            except ModuleNotFoundError as problem:
                raise InputError(
                    f"A worker has no {problem.name}: install novikoff {__version__} on all workers."
                ) from None
            except TimeoutError:
                if coming.done():
                    raise  # it is of a task
                if not self._is_alive() or self.client.scheduler_info()["workers"]:
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > WORKER_TIMEOUT_SECONDS:
                    coming.cancel()
                    raise InputError(
                        "The cluster has lost all its workers, and none came back: start some, and the run once more;"
                        " with a checkpoint it goes on from the last round that was done."
                    ) from None
            except BaseException:
                coming.cancel()  # whoever interrupts a run does not wait for it
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
                        "The scheduler went away: start the run once more; with a checkpoint it goes on from the last"
                        " round that was done."
                    ) from None
                if not isinstance(problem, KilledWorker | CancelledError | CommClosedError):
                    raise
                if tries == MAX_ROUND_ATTEMPTS:
                    raise InputError(
                        f"Workers died again and again in one round ({problem}): do they have enough memory?"
                    ) from None
                self._check_workers()
        raise AssertionError  # the loop has returned or raised

    def _is_alive(self) -> bool:
        try:
            return self.client.status == "running" and bool(self.client.scheduler_info())
        except (OSError, TimeoutError, CancelledError, ValueError):
            return False

    def _check_workers(self) -> None:
        """InputError that names the workers without this very version of novikoff, or the scheduler: it looks into the
        tasks that it hands on."""
        try:
            self.client.wait_for_workers(1, timeout=WORKER_TIMEOUT_SECONDS)
        except TimeoutError:
            raise InputError(
                f"The cluster at {self.client.scheduler.address} has no workers, and none came within"
                f" {WORKER_TIMEOUT_SECONDS:.0f} s:"
                " start some."
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
    if isinstance(version, OSError):  # it died meanwhile
        return
    if isinstance(version, Exception):
        raise InputError(
            f"The {who} has no novikoff ({version}): install novikoff {__version__} on the scheduler and all workers."
        )
    if version != __version__:
        raise InputError(
            f"The {who} has novikoff {version}, and this is {__version__}: install the same version everywhere."
        )


def _unwrap_handles(argument: Any) -> Any:
    """Handles, also those in a list, as Dask knows them."""
    if isinstance(argument, list):
        return [_unwrap_handles(one) for one in argument]
    return argument.told if isinstance(argument, TaskHandle) else argument


def _identity(value: Any) -> Any:
    return value


def _to_delayed(one: Any) -> Any:
    """What is computed already, too, as something to be computed."""
    from dask import delayed

    return one if hasattr(one, "dask") else delayed(_identity)(one)


def current_client() -> Any:
    """The client of this process, where there is one; does not import Dask for that."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return client if client.status == "running" else None  # one that never reached its scheduler counts, too


def compute_locally(data: Sequence[Any]) -> list[Any]:
    """Without a cluster: all of it, here."""
    if not any(hasattr(one, "dask") for one in data):
        return list(data)
    import dask

    return list(dask.compute(*data, scheduler="threads"))


@contextmanager
def _silence_logs() -> Iterator[None]:
    """What Dask writes when a task fails or machines are lost: here it becomes one sentence."""
    log = logging.getLogger("distributed")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def connect(scheduler: str | None, workers: int | None = None) -> Iterator[Any]:
    """A client of this scheduler, or of a cluster of processes on this machine, which ends with it."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("A cluster needs Dask: pip install 'novikoff[cluster]'.") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=WORKER_TIMEOUT_SECONDS / 4, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as problem:
            raise InputError(f"{scheduler}: there is no scheduler to be reached ({problem}).") from None
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
