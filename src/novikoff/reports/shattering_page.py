"""Build the page of a shattering: points in the plane, with one small picture for each labelling."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from novikoff.errors import InputError
from novikoff.reports import plot_theme
from novikoff.reports.formatting import capitalize
from novikoff.reports.plot_theme import PLOT_STYLES, TEXT_COLOUR
from novikoff.reports.rendering import render_page
from novikoff.theory.geometry import radon
from novikoff.theory.geometry.points import Box, HalfSpace, Labels
from novikoff.theory.vc import Shattering

MAX_PICTURES = 32
"""Largest number of pictures on a page."""
PICTURE_COLUMNS = 4
PICTURE_PIXELS = 230
Corner = tuple[float, float]


def build_page(name: str, found: Shattering) -> str:
    """Return the page; raise InputError unless all points are in the plane."""
    points = [tuple(map(float, point)) for point in found.points]
    if any(len(point) != 2 for point in points):
        raise InputError("A picture needs points in the plane: each point must have two coordinates.")
    shown: list[tuple[Labels, object | None]] = list(found.hypotheses.items())[:MAX_PICTURES]
    if found.missing is not None:
        shown = [(found.missing, None)]
    numbers = {
        "class": name,
        "points": [[str(v) for v in point] for point in found.points],
        "shattered": found.shattered,
        "missing": None if found.missing is None else list(found.missing),
        "hypotheses": [{"labels": list(labels), "set": str(one)} for labels, one in found.hypotheses.items()],
    }
    values = {
        "title": f"{capitalize(name)} {'shatter' if found.shattered else 'do not shatter'} these points",
        "shattered": found.shattered,
        "lead": [_describe(found)],
        "plot": _draw_pictures([(float(x), float(y)) for x, y in points], shown, found),
    }
    return render_page("shattering.html", json.dumps(numbers, ensure_ascii=False), values)


def _describe(found: Shattering) -> str:
    count = len(found.points)
    if found.shattered:
        return f"There is a set for each of the {2**count:,} labellings of {count} points."
    inside = ", ".join(str(i + 1) for i, label in enumerate(found.missing or ()) if label) or "none"
    return f"No set contains points {inside} and no other{f': {found.why}' if found.why else ''}."


def _draw_pictures(points: list[Corner], shown: list[tuple[Labels, object | None]], found: Shattering) -> str:
    columns = min(PICTURE_COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    frame_of = _find_corners(points)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for number, (labels, one) in enumerate(shown):
        suffix = "" if number == 0 else str(number + 1)
        place = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "showlegend": False, "hoverinfo": "x+y"}
        traces += [{**trace, **place} for trace in _picture_traces(points, labels, one, frame_of, found)]
        column, row = number % columns, number // columns
        axes[f"xaxis{suffix}"] = _build_axis(column, columns, f"y{suffix}", (frame_of[0][0], frame_of[1][0]))
        top_first = _build_axis(rows - 1 - row, rows, f"x{suffix}", (frame_of[0][1], frame_of[1][1]))
        axes[f"yaxis{suffix}"] = top_first
    height = PICTURE_PIXELS * rows + 40 if len(shown) > 1 else 2 * PICTURE_PIXELS
    return plot_theme.render_plot(traces, plot_theme.build_layout(height, **axes), "plot-0")


def _build_axis(place: int, count: int, anchor: str, ends: Corner) -> dict[str, Any]:
    gap = 0.02
    domain = [place / count + gap * (place > 0), (place + 1) / count - gap * (place + 1 < count)]
    style = {"showticklabels": count == 1, "ticks": "", "mirror": True, "nticks": 5}
    return plot_theme.build_axis("", **{**style, "domain": domain, "anchor": anchor, "range": list(ends)})


def _picture_traces(
    points: list[Corner], labels: Labels, one: object | None, ends: tuple[Corner, Corner], found: Shattering
) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    area = _set_polygon(one, ends)
    if len(area) > 1:
        x, y = zip(*area, area[0], strict=True)
        line = {"color": PLOT_STYLES[1].colour, "width": 1.5}
        traces.append(
            {"type": "scatter", "mode": "lines", "x": x, "y": y, "fill": "toself", "line": line, "opacity": 0.45}
        )
    for inside, symbol, colour in ((True, "circle", PLOT_STYLES[0].colour), (False, "square-open", TEXT_COLOUR)):
        mine = [i for i, label in enumerate(labels) if label == inside]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": [points[i][0] for i in mine],
                "y": [points[i][1] for i in mine],
                "text": [str(i + 1) for i in mine],
                "textposition": "top center",
                "marker": {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2, "color": colour}},
            }
        )
    return [*traces, *(_hull_traces(points, found) if one is None else [])]


def _hull_traces(points: list[Corner], found: Shattering) -> list[dict[str, Any]]:
    """Draw Radon's partition if it is the proof."""
    proof = radon.partition(found.points) if "Radon" in found.why else None
    if proof is None:
        return []
    traces: list[dict[str, Any]] = []
    for style, side in zip(PLOT_STYLES[1:], (proof.first, proof.second), strict=False):
        mine = [points[i] for i in side]
        line = {"color": style.colour, "width": 3}
        x, y = zip(*mine, mine[0], strict=True)
        traces.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line})
    cross = {"symbol": "x", "size": 13, "color": TEXT_COLOUR}
    at, height = ([float(value)] for value in proof.common)
    return [*traces, {"type": "scatter", "mode": "markers", "x": at, "y": height, "marker": cross}]


def _find_corners(points: Sequence[Corner]) -> tuple[Corner, Corner]:
    """Return the lower left and upper right corner of the frame: all points, with padding."""
    low, high = (tuple(pick(values) for values in zip(*points, strict=True)) for pick in (min, max))
    padding = 0.3 * (max(b - a for a, b in zip(low, high, strict=True)) or 1.0)
    return (low[0] - padding, low[1] - padding), (high[0] + padding, high[1] + padding)


def _set_polygon(one: object | None, ends: tuple[Corner, Corner]) -> list[Corner]:
    """Return the part of the frame that is in the set, as a polygon."""
    (left, bottom), (right, top) = ends
    if isinstance(one, Box):
        low, high = (tuple(map(float, corner)) for corner in one)
        x, y = (0.02 * (right - left), 0.02 * (top - bottom))  # enlarge, so that a box around one point is visible
        inside = low[0] <= high[0]
        a, b, c, d = low[0] - x, high[0] + x, low[1] - y, high[1] + y
        return [(a, c), (b, c), (b, d), (a, d)] if inside else []
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    return _clip_polygon(corners, one) if isinstance(one, HalfSpace) else []


def _clip_polygon(corners: list[Corner], one: HalfSpace) -> list[Corner]:
    """Intersect a convex polygon with a half-plane (Sutherland and Hodgman 1974)."""
    w, v = map(float, one.weights)
    clipped: list[Corner] = []
    for k, (x, y) in enumerate(corners):
        before = corners[k - 1]
        here, there = (w * a + v * b - float(one.threshold) for a, b in ((x, y), before))
        if (here > 0) != (there > 0):
            t = there / (there - here)
            clipped.append((before[0] + t * (x - before[0]), before[1] + t * (y - before[1])))
        if here > 0:
            clipped.append((x, y))
    return clipped
