"""Several threads read and parse, the results come out in the order of the data: whatever the number of threads.

Each thread takes the next block under a lock (reading is quick), parses it while others do theirs, and puts it into its
place in the queue. A block and its parser are used again when the consumer is done with them, so that memory stays the
same however much there is to read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Generic, TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")


def in_order(places: list[Work], take: Callable[[Work], bool], do: Callable[[Work], Result]) -> Iterator[Result]:
    """`take` puts the next piece of work into a place (False: there is none), `do` does it there. With one place that
    happens right here; with more, there is a thread for each but one, which the consumer has.

    A result may be looked at until the next one is asked for. What `take` or `do` raises is raised here, in its turn.
    """
    if len(places) == 1:
        while take(places[0]):
            yield do(places[0])
        return
    pool = _Pool(places, take, do)
    try:
        yield from pool.results()
    finally:
        pool.stop()


class _Pool(Generic[Work, Result]):
    def __init__(self, places: list[Work], take: Callable[[Work], bool], do: Callable[[Work], Result]) -> None:
        self.take, self.do = take, do
        self.free: SimpleQueue[Work | None] = SimpleQueue()
        for place in places:
            self.free.put(place)
        self.taking = threading.Lock()
        self.done = threading.Condition()
        self.finished: dict[int, tuple[Work, Result | BaseException]] = {}
        self.taken = 0
        self.total: int | None = None
        """How many pieces of work there are, once that is known."""
        self.stopped = False
        self.threads = [threading.Thread(target=self._work, daemon=True) for _ in places[1:]]
        for thread in self.threads:
            thread.start()

    def _work(self) -> None:
        while True:
            place = self.free.get()
            if place is None or self.stopped:
                return
            with self.taking:
                if self.total is not None:
                    return
                number = self.taken
                try:
                    more = self.take(place)
                except BaseException as problem:
                    self._finish(number, place, problem, last=number + 1)
                    return
                if not more:
                    self._end(number)
                    return
                self.taken += 1
            try:
                result: Result | BaseException = self.do(place)
            except BaseException as problem:
                result = problem
            self._finish(number, place, result)

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
        while True:
            with self.done:
                while number not in self.finished and (self.total is None or number < self.total):
                    self.done.wait()
                if number not in self.finished:
                    return
                place, result = self.finished.pop(number)
            if isinstance(result, BaseException):
                raise result
            yield result
            self.free.put(place)
            number += 1

    def stop(self) -> None:
        """Threads that wait for a place are sent home; one that waits for a pipe goes when the pipe gives something."""
        self.stopped = True
        for _ in self.threads:
            self.free.put(None)
        if self.total is not None:
            for thread in self.threads:
                thread.join()
