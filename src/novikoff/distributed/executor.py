"""Who runs the tasks: this process, one task after another; or Dask (on_dask.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Executor(Protocol):
    ahead: bool
    """Whether a call returns before it is done, so that calls which need its result can be told of already."""

    def share(self, value: Any) -> Any:
        """A handle to a value that many tasks take."""

    def data(self, shard: int) -> Any:
        """A handle to what is computed for a shard; None where it is read."""

    def call(self, function: Callable[..., Any], *arguments: Any, part: int | None = None) -> Any:
        """A handle to what the function gives; its arguments, and lists among them, may hold handles. Of calls that can
        be done at the same time, each is another `part` of the work, to be dealt out evenly."""

    def results(self, handles: Sequence[Any]) -> list[Any]:
        """What the handles stand for, in their order."""

    def run_with_retry(self, round_: Callable[[], Any]) -> Any:
        """The result of a piece of work, begun anew where machines were lost that it could not do without."""


class LocalExecutor:
    """Handles are the values themselves."""

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
