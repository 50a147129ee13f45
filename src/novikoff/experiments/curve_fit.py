"""Least-squares fits of two growth laws: a·log₂ n + b, and b·n^a."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Fit(NamedTuple):
    panel: str
    of: str
    """The key of the fitted column."""
    law: str
    slope: float
    intercept: float
    largest_residual: float
    """Mistakes for a·log₂ n + b; log₂ of mistakes for log₂ M = a·log₂ n + b."""
    title: str
    """The law with its numbers, ± the largest residual."""
    at: tuple[float, ...]
    """Values of the law at the fitted points."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if name not in ("title", "at")}


def fit_logarithm(panel: str, of: str, n: Sequence[float], y: Sequence[float]) -> Fit:
    """Fit y = a·log₂ n + b."""
    slope, intercept, residual, line = _fit_line(np.log2(n), np.asarray(y, float))
    title = f"{slope:.3g}·log₂ n {'−' if intercept < 0 else '+'} {abs(intercept):.3g} ± {residual:.2g}"
    return Fit(panel, of, "M = slope·log₂ n + intercept", slope, intercept, residual, title, tuple(line.tolist()))


def fit_power(panel: str, of: str, n: Sequence[float], y: Sequence[float]) -> Fit:
    """Fit y = b·n^a as a straight line in the logarithms."""
    slope, intercept, residual, line = _fit_line(np.log2(n), np.log2(y))
    title = f"{2**intercept:.2g}·n^{slope:.2f} ± {100 * (2**residual - 1):.2g} %"
    law = "log₂ M = slope·log₂ n + intercept"
    return Fit(panel, of, law, slope, intercept, residual, title, tuple(np.exp2(line).tolist()))


def _fit_line(x: Any, y: Any) -> tuple[float, float, float, Any]:
    slope, intercept = np.polyfit(x, y, 1)
    line = slope * x + intercept
    return float(slope), float(intercept), float(np.abs(y - line).max()), line
