"""Register pictures, and draw regions of the plane, lines, and mistakes over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from docs.builder.drawing import CELLS, Plot
from docs.builder.streams import make_grid

Picture = tuple[Plot, str]
PICTURES: dict[str, Callable[[], Picture]] = {}
SQUARE = (-1.0, 1.0)
SIDES = ("−", "+")


def picture(draw: Callable[[], Picture]) -> Callable[[], Picture]:
    PICTURES[draw.__name__] = draw
    return draw


def draw_plane(model: Any, X: Any, y: Any, names: Sequence[str] = SIDES) -> Plot:
    """Draw the regions of a model, and examples; classes are 0, 1, 2 …"""
    plot = Plot(SQUARE, SQUARE, names=("x₁", "x₂"))
    plot.regions(np.asarray(model.predict(make_grid(*CELLS))).reshape(CELLS[1], CELLS[0]))
    for label, name in enumerate(names):
        plot.dots(X[y == label].tolist(), label, name)
    return plot


def draw_boundary(plot: Plot, model: Any, colour: int, name: str, *, dashed: bool = False) -> None:
    """Draw the line w·x = 0 of a learner in the plane."""
    (a, b), c = model.coef_[0], float(np.ravel(model.intercept_)[0])
    plot.line([(x, -(a * x + c) / b) for x in (-1.5, 1.5)], colour, name, dashed=dashed, wide=2.5)


def list_mistakes(model: Any) -> list[tuple[float, float]]:
    """Return (examples, mistakes) points of a ledger."""
    ledger = model.ledger_
    times = ledger.mistake_times.tolist()
    return [(0, 0), *((t, (k + 1) * ledger.stride) for k, t in enumerate(times)), (ledger.examples, ledger.mistakes)]


def draw_staircase(plot: Plot, model: Any, colour: int, name: str) -> None:
    plot.line(list_mistakes(model), colour, f"{name}: {model.ledger_.mistakes}", steps=True)


def draw_marked_line(plot: Plot, points: Sequence[tuple[float, float]], colour: int, name: str) -> None:
    """Draw a line with dots on it."""
    plot.line(points, colour, name)
    plot.dots(points, colour)
