"""Several threads read and parse, the results come out in the order of the data: whatever the number of threads.

Each thread takes the next block, or is told of the next span, under a lock (which is quick), parses it while others do
theirs, and puts it into its place in the queue. A block and its parser are used again when the consumer is done with
them, so that memory stays the same however much there is to read. A consumer who would have to wait lends a hand
instead: as many threads as there are processors are then busy all the time, whether parsing or learning takes longer.
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
CONSUMER_ID = 0  # in place of the number of its thread: it may ask for each result from another one


def run_in_order(
    places: list[Work],
    take: Callable[[Work], bool],
    do: Callable[[Work], Result],
    *,
    spare: int = 1,
    consumer_waits: bool = False,
) -> Iterator[Result]:
    """`take` puts the next piece of work into a place (False: there is none), `do` does it there. With one place that
    happens right here; with more, as many threads work as there are places but for the spare ones, the consumer's among
    them. With more to spare a thread waits less often for the consumer. A patient consumer only waits: where `take` may
    have to wait for a pipe, what is done already must not wait with it.

    A result may be looked at until the next one is asked for. What `take` or `do` raises is raised here, in its turn.
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
        """Which thread works in a place, by the number of either."""
        self.slot_freed = threading.Condition()
        self.taking = threading.Lock()
        self.done = threading.Condition()
        self.finished: dict[int, tuple[Work, Result | BaseException]] = {}
        self.taken = 0
        self.total: int | None = None
        """How many pieces of work there are, once that is known."""
        self.stopped = False
        self.process = os.getpid()
        _running_pools.add(self)
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while True:
            place = self._place(wait=True)
            if place is None or not self._one(place):
                return

    def _place(self, *, wait: bool) -> Work | None:
        """A free place of this thread's own, or one that is nobody's and that no other thread needs as its first; the
        consumer, who does not wait, has one only. What another thread has written is in the cache of another processor:
        to parse there takes up to four times as long. None where there is none, or the thread is to go home."""
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

    def _one(self, place: Work, wanted: int = -1) -> bool:
        """Does the next piece of work; False if there is none, or none will be any more, or the result that is wanted
        came while another thread was taking its piece."""
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
        """The result of that number, with its place; None where there are not so many."""
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
        """Whether there was something to do, which is done now, in place of waiting for the result of that number. To
        take a piece of work is quick, so that its turn is waited for: to wait for the result takes longer."""
        if self.consumer_waits or self.total is not None:
            return False
        place = self._place(wait=False)
        return place is not None and self._one(place, wanted)

    def stop(self) -> None:
        """Threads that wait for a place are sent home. What they read from is closed after this, and its number may be
        another file's then, so that none may be reading any more; but one that waits for a pipe can't be waited for: it
        goes when the pipe gives something. Once the interpreter finalizes, or in a forked child, the threads are gone,
        perhaps with a lock held: nothing is waited for."""
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
    """Stop all threads before the interpreter finalizes, which would suspend them while they hold locks or write into
    arrays that are freed."""
    for pool in list(_running_pools):
        pool.stop()


atexit.register(_stop_all_pools)
