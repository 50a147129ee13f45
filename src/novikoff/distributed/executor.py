"""Executors run the tasks of a distributed run: in this process, or on Dask (dask_executor.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Executor(Protocol):
    """Runs tasks, and gives out handles to their results."""

    ahead: bool
    """Whether calls are asynchronous, so that calls can be scheduled before their inputs are computed."""

    def share(self, value: Any) -> Any:
        """Return a handle to a value that many tasks use."""

    def data(self, shard: int) -> Any:
        """Return a handle to the data computed for a shard; None if the shard is read from a file."""

    def call(self, function: Callable[..., Any], *arguments: Any, part: int | None = None) -> Any:
        """Call a function, and return a handle to its result. Arguments, and lists among them, may contain handles.

        Calls that can run in parallel get different `part` numbers, by which they are distributed evenly.
        """

    def results(self, handles: Sequence[Any]) -> list[Any]:
        """Wait for the results of handles, and return them in the same order."""

    def run_with_retry(self, round_: Callable[[], Any]) -> Any:
        """Return the result of `round_`, and call it again if it fails because machines were lost."""


class LocalExecutor:
    """Runs tasks in this process; handles are the values themselves."""

    ahead = False

    def __init__(self, data: Sequence[Any] | None = None) -> None:
        self._data = data

    def share(self, value: Any) -> Any:
        return value

    def data(self, shard: int) -> Any:
        return None if self._data is None else self._data[shard]

    def call(self, function: Callable[..., Any], *arguments: Any, part: int | None = None) -> Any:
        return function(*arguments)

    def results(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def run_with_retry(self, round_: Callable[[], Any]) -> Any:
        return round_()
