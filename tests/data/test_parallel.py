"""Parallel parsing: results arrive in order for any number of threads and any duration of each block."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff.data.parallel import run_in_order


class Place:
    number = -1


def counting(stop: int, wrong: int = -1) -> Callable[[Place], bool]:
    numbers = iter(range(stop))

    def take(place: Place) -> bool:
        place.number = next(numbers, -1)
        if place.number >= 0 and place.number == wrong:
            raise ValueError(f"can't take {wrong}")
        return place.number >= 0

    return take


def places(count: int) -> list[Place]:
    return [Place() for _ in range(count)]


@given(st.integers(1, 5), st.integers(1, 3), st.booleans(), st.lists(st.integers(0, 2), max_size=30))
def test_results_come_in_order(count: int, spare: int, patient: bool, pauses: list[int]) -> None:
    def do(place: Place) -> int:
        time.sleep(pauses[place.number] / 2000)
        return place.number

    before = threading.active_count()
    several = places(1 if count == 1 else count + spare)
    results = run_in_order(several, counting(len(pauses)), do, spare=spare, consumer_waits=patient)
    assert list(results) == list(range(len(pauses)))
    assert threading.active_count() == before


@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("taking", [True, False])
def test_exceptions_are_raised_in_order(count: int, patient: bool, taking: bool) -> None:
    def do(place: Place) -> int:
        if place.number == 5 and not taking:
            raise ValueError("can't do 5")
        return place.number

    results = run_in_order(places(count), counting(9, 5 if taking else -1), do, consumer_waits=patient)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"can't (take|do) 5"):
        next(results)


def test_a_workspace_is_not_reused_while_its_result_is_in_use() -> None:
    results: Iterator[Place] = run_in_order(places(3), counting(40), lambda place: place)
    for number, place in enumerate(results):
        time.sleep(0.001)
        assert place.number == number


def test_an_impatient_consumer_parses_blocks_itself() -> None:
    here, working = threading.get_ident(), set()

    def do(place: Place) -> int:
        working.add(threading.get_ident())
        time.sleep(0.002)
        return place.number

    assert list(run_in_order(places(3), counting(30), do)) == list(range(30))
    assert here in working
    assert len(working) == 2  # the requested number of threads, one fewer than slots


def test_a_consumer_waits_for_the_source_lock_rather_than_for_a_result() -> None:
    """Whenever the consumer requests a result, another thread is taking the next piece."""
    here, mine = threading.get_ident(), []
    count = counting(40)

    def take(place: Place) -> bool:
        time.sleep(0.002)
        return count(place)

    def do(place: Place) -> int:
        time.sleep(0.003)
        mine.append(threading.get_ident() == here)
        return place.number

    for number, result in enumerate(run_in_order(places(3), take, do)):
        time.sleep(0.001)
        assert result == number
    assert len(mine) == 40
    assert sum(mine) >= 10


@pytest.mark.parametrize(("count", "spare"), [(3, 1), (4, 2), (5, 1), (5, 2)])
def test_each_thread_keeps_its_own_workspace(count: int, spare: int) -> None:
    """Otherwise its memory would move between processor caches with each piece of work."""
    threads: dict[int, set[int]] = {}

    def do(place: Place) -> int:
        threads.setdefault(id(place), set()).add(threading.get_ident())
        time.sleep(0.002)
        return place.number

    assert list(run_in_order(places(count), counting(60), do, spare=spare)) == list(range(60))
    assert all(len(working) == 1 for working in threads.values())
    assert len(set.union(*threads.values())) == count - spare


def test_a_patient_consumer_gets_finished_results_while_the_source_waits() -> None:
    more = threading.Event()
    numbers = iter(range(2))

    def take(place: Place) -> bool:
        place.number = next(numbers, -1)
        if place.number == 1:
            assert more.wait(20)
        return place.number >= 0

    with closing(run_in_order(places(3), take, lambda place: place.number, consumer_waits=True)) as results:
        assert next(results) == 0  # the second is not ready yet
        more.set()
        assert list(results) == [1]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_threads_stop_reading_when_the_consumer_closes(count: int) -> None:
    """The file is closed then, and its descriptor may be reused at once."""
    for _ in range(50):
        reading = threading.Event()
        numbers = iter(range(1000))

        def take(place: Place, reading: threading.Event = reading, numbers: Iterator[int] = numbers) -> bool:
            reading.set()
            time.sleep(0.0002)
            place.number = next(numbers)
            reading.clear()
            return True

        before = threading.active_count()
        with closing(run_in_order(places(count), take, lambda place: place.number)) as results:
            assert next(results) == 0
        assert not reading.is_set()
        assert threading.active_count() == before


def test_a_consumer_may_change_threads_before_the_workers_start() -> None:
    begin, enough, results = threading.Event(), threading.Event(), queue.Queue[int]()

    class Late(threading.Thread):
        def run(self) -> None:
            begin.wait()
            super().run()

    def ask() -> None:
        results.put(next(pieces))
        enough.wait()  # keeps thread identifiers distinct

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("novikoff.data.parallel.threading.Thread", Late)
        pieces = run_in_order(places(3), counting(6), lambda place: place.number)
        assert next(pieces) == 0
    asking = [threading.Thread(target=ask, daemon=True) for _ in range(5)]
    try:
        for number, thread in enumerate(asking, 1):
            thread.start()
            assert results.get(timeout=5) == number
    finally:
        begin.set()
        enough.set()
        for thread in asking:
            if thread.ident is not None:
                thread.join(5)
    assert list(pieces) == []
