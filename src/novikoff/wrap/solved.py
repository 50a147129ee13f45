"""Models that solve a problem for all data at once: no run, no ledger, but a file like the others."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from novikoff.learners.estimator import Estimator


class Solved(Estimator):
    """Abstract."""

    @abstractmethod
    def file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds beside the settings: plain values, and arrays by name."""

    @abstractmethod
    def adopt_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        """The inverse of `file_parts`."""
