"""Parallel parsing by threads, with results in the order of the data for any number of threads.

Under a lock, a thread takes the next block, or the bounds of the next span. It parses it while other threads parse
theirs, and queues the result at its position. A block and its parser are reused when the consumer is done with them, so
that memory does not grow with the data. If no result is ready, the consumer thread parses a block itself: so all
processors are busy, whether parsing or learning takes longer.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")
CONSUMER_ID = 0  # instead of its thread's identifier: each result may be requested from another thread


def run_in_order(
    places: list[Work],
    take: Callable[[Work], bool],
    do: Callable[[Work], Result],
    *,
    spare: int = 1,
    consumer_waits: bool = False,
) -> Iterator[Result]:
    """Yield the results of all pieces of work in order.

    `take` puts the next piece of work into a slot and returns False where there is none; `do` processes it there. With
    one slot everything runs in this thread. With more, the number of working threads, including the consumer, is that
    of the slots without the `spare` ones; with more spare slots a thread waits less often for the consumer. With
    `consumer_waits` the consumer only waits: where `take` may block on a pipe, finished results must not wait with it.

    A result is valid until the next one is requested. Exceptions of `take` and `do` are raised here, in order.
    """
    if len(places) == 1:
        while take(places[0]):
            yield do(places[0])
        return
    pool = _WorkerPool(places, take, do, len(places) - spare - (not consumer_waits), consumer_waits=consumer_waits)
    try:
        yield from pool.results()
    finally:
        pool.stop()


class _WorkerPool(Generic[Work, Result]):
    """Threads that process pieces of work in slots."""

    def __init__(
        self,
        places: list[Work],
        take: Callable[[Work], bool],
        do: Callable[[Work], Result],
        workers: int,
        *,
        consumer_waits: bool,
    ) -> None:
        self.take, self.do, self.consumer_waits = take, do, consumer_waits
        self.places, self.free = len(places), list(places)
        self.owners: dict[int, int] = {}
        """The thread that uses a slot, by the identifiers of both."""
        self.slot_freed = threading.Condition()
        self.taking = threading.Lock()
        self.done = threading.Condition()
        self.finished: dict[int, tuple[Work, Result | BaseException]] = {}
        self.taken = 0
        self.total: int | None = None
        """Number of pieces of work, once it is known."""
        self.stopped = False
        self.process = os.getpid()
        _running_pools.add(self)
        self.threads = [threading.Thread(target=self._run_worker, daemon=True) for _ in range(workers)]
        for thread in self.threads:
            thread.start()

    def _run_worker(self) -> None:
        while True:
            place = self._claim_slot(wait=True)
            if place is None or not self._process_next(place):
                return

    def _claim_slot(self, *, wait: bool) -> Work | None:
        """Return a free slot: this thread's own, or one without an owner that no other thread needs as its first.

        Data that another thread has written lies in another processor's cache: parsing there takes up to four times as
        long. The consumer, which does not wait, has only one slot. Return None where no slot is free, or the thread
        must stop.
        """
        me = threading.get_ident() if wait else CONSUMER_ID
        with self.slot_freed:
            while not self.stopped:
                mine = [place for place in self.free if self.owners.get(id(place)) == me]
                if not mine and self._may_claim_slot(me, waits=wait):
                    mine = [place for place in self.free if id(place) not in self.owners]
                if mine:
                    self.free.remove(mine[0])
                    self.owners[id(mine[0])] = me
                    return mine[0]
                if not wait:
                    return None
                self.slot_freed.wait()
        return None

    def _may_claim_slot(self, me: int, *, waits: bool) -> bool:
        owning = set(self.owners.values())
        without = len(self.threads) + (not self.consumer_waits) - len(owning)
        return me not in owning or (waits and self.places - len(self.owners) > without)

    def _release_slot(self, place: Work) -> None:
        with self.slot_freed:
            self.free.append(place)
            self.slot_freed.notify_all()

    def _process_next(self, place: Work, wanted: int = -1) -> bool:
        """Process the next piece of work; return False if there is none, or the wanted result is ready by now."""
        with self.taking:
            if wanted in self.finished:
                self._release_slot(place)
                return False
            number = self.taken
            if not self._take_next(place, number):
                return False
        try:
            result: Result | BaseException = self.do(place)
        except BaseException as problem:
            result = problem
        self._finish(number, place, result)
        return True

    def _take_next(self, place: Work, number: int) -> bool:
        if self.total is not None:
            return False
        try:
            more = self.take(place)
        except BaseException as problem:
            self._finish(number, place, problem, last=number + 1)
            return False
        if more:
            self.taken += 1
        else:
            self._end(number)
        return more

    def _finish(self, number: int, place: Work, result: Result | BaseException, last: int | None = None) -> None:
        with self.done:
            self.finished[number] = place, result
            if last is not None:
                self.total = last
            self.done.notify()

    def _end(self, total: int) -> None:
        with self.done:
            self.total = total
            self.done.notify()

    def results(self) -> Iterator[Result]:
        number = 0
        while (found := self._result(number)) is not None:
            place, result = found
            if isinstance(result, BaseException):
                raise result
            yield result
            self._release_slot(place)
            number += 1

    def _result(self, number: int) -> tuple[Work, Result | BaseException] | None:
        """Return the result with this number and its slot; None after the last."""
        while True:
            with self.done:
                if number in self.finished:
                    return self.finished.pop(number)
                if self.total is not None and number >= self.total:
                    return None
            if not self._help_while_waiting(number):
                with self.done:
                    while number not in self.finished and (self.total is None or number < self.total):
                        self.done.wait()

    def _help_while_waiting(self, wanted: int) -> bool:
        """Process a piece of work instead of waiting; return whether there was one. Taking work is fast: it may
        block."""
        if self.consumer_waits or self.total is not None:
            return False
        place = self._claim_slot(wait=False)
        return place is not None and self._process_next(place, wanted)

    def stop(self) -> None:
        """Stop all threads.

        The caller closes the file after this, and its descriptor may be reused: so no thread may still read it. But a
        thread that waits for a pipe can't be joined: it stops when data arrives. When the interpreter finalizes, or in
        a forked child, the threads are gone, perhaps with a lock held: then there is no waiting.
        """
        _running_pools.discard(self)
        if sys.is_finalizing() or self.process != os.getpid():
            return
        with self.slot_freed:
            self.stopped = True
            self.slot_freed.notify_all()
        if not self.consumer_waits:
            with self.taking:
                self.total = self.taken if self.total is None else self.total
        if self.total is not None:
            for thread in self.threads:
                thread.join()


_running_pools: weakref.WeakSet[_WorkerPool[Any, Any]] = weakref.WeakSet()


def _stop_all_pools() -> None:
    """Stop all threads before the interpreter finalizes: it would suspend them while they hold locks."""
    for pool in list(_running_pools):
        pool.stop()


atexit.register(_stop_all_pools)
