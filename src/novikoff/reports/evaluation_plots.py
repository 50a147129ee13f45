"""Draw the plots of an evaluation: errors, curves, calibration, scores, confusion, slices and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from novikoff.evaluation.intervals import Interval
from novikoff.evaluation.results import ClassificationResult
from novikoff.reports import plot_theme
from novikoff.reports.plot_theme import AXIS_COLOUR, PLOT_STYLES, TEXT_COLOUR, build_axis, escape_for_plotly

DASHES = ("solid", "10px 4px", "3px 3px", "14px 4px 3px 4px")
ROW_PIXELS = 34
MAX_NAME_LETTERS = 28
MAX_NUMBERED_CELLS = 15
"""Classes up to which the cells of a confusion matrix show their counts."""

Curve = tuple[Sequence[float], Sequence[float]]


class Estimate(NamedTuple):
    """A figure with its interval, in a row of a plot."""

    name: str
    value: float
    interval: Interval | None


def draw_errors(errors: Sequence[Estimate], baselines: dict[str, float], place: str) -> str:
    """Plot one row for each model, and a vertical line for each baseline."""
    traces = [_interval_trace(errors, "error of the model", 0)]
    for number, (name, value) in enumerate(baselines.items(), 1):
        style = PLOT_STYLES[number % len(PLOT_STYLES)]
        line = {"color": style.colour, "width": 2, "dash": DASHES[number % len(DASHES)]}
        traces.append(_line([value] * 2, [0, len(errors)], name, line) | {"yaxis": "y2"})
    hidden = {"overlaying": "y", "range": [0, len(errors)], "visible": False, "fixedrange": True}
    x = build_axis("error", tickformat=".1~%", rangemode="tozero")
    return plot_theme.render_plot(traces, _row_layout(errors, xaxis=x, yaxis2=hidden), place)


def draw_slices(slices: Sequence[Estimate], mean: float, place: str) -> str:
    """Plot the error of each slice, and a vertical line for the error on all examples."""
    line = {"color": AXIS_COLOUR, "width": 2, "dash": DASHES[1]}
    traces = [_interval_trace(slices, "error of the slice", 1)]
    traces.append(_line([mean] * 2, [0, len(slices)], "error on all examples", line) | {"yaxis": "y2"})
    hidden = {"overlaying": "y", "range": [0, len(slices)], "visible": False, "fixedrange": True}
    x = build_axis("error", tickformat=".1~%", rangemode="tozero")
    return plot_theme.render_plot(traces, _row_layout(slices, xaxis=x, yaxis2=hidden), place)


def draw_differences(pairs: Sequence[Estimate], place: str) -> str:
    """Plot the difference of the errors of each pair of models; the line at 0 means equal errors."""
    x = build_axis("error of the first model − error of the second", tickformat="+.1~%")
    x |= {"zeroline": True, "zerolinecolor": TEXT_COLOUR, "zerolinewidth": 2}
    layout = _row_layout(pairs, xaxis=x) | {"showlegend": False}
    return plot_theme.render_plot([_interval_trace(pairs, "difference", 2)], layout, place)


def _interval_trace(rows: Sequence[Estimate], name: str, style: int) -> dict[str, Any]:
    known = [row.interval or Interval(row.value, row.value) for row in rows]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [row.value for row in rows],
        "y": list(range(len(rows))),
        "text": [escape_for_plotly(row.name) for row in rows],
        "hovertemplate": "%{text}: %{x:.2%}<extra></extra>",
        "marker": {"symbol": PLOT_STYLES[style].mark, "size": 10, "color": PLOT_STYLES[style].colour},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [ends.high - row.value for row, ends in zip(rows, known, strict=True)],
            "arrayminus": [row.value - ends.low for row, ends in zip(rows, known, strict=True)],
            "color": PLOT_STYLES[style].colour,
        },
    }


def _row_layout(rows: Sequence[Estimate], **axes: Any) -> dict[str, Any]:
    """Return the layout of a plot with one row for each name, the first on top."""
    names = [escape_for_plotly(row.name, MAX_NAME_LETTERS) for row in rows]
    y = build_axis("", tickmode="array", tickvals=list(range(len(rows))), ticktext=names, showgrid=False)
    y |= {"range": [len(rows) - 0.5, -0.5], "tickfont": {"size": 12}}
    layout = plot_theme.build_layout(150 + ROW_PIXELS * len(rows), yaxis=y, **axes)
    return layout | {"legend": _LEGEND_ABOVE, "margin": {**layout["margin"], "t": 48}}


_LEGEND_ABOVE = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}}


def draw_roc(curves: Mapping[str, Curve], place: str) -> str:
    """Plot the ROC curve of each model; the diagonal is guessing."""
    chance = _line([0, 1], [0, 1], "guessing", {"color": AXIS_COLOUR, "width": 1.5, "dash": "3px 3px"})
    x, y = _unit_axis("false-positive rate"), _unit_axis("true-positive rate")
    return _draw_curves(curves, [chance], x, y, place)


def draw_precision_recall(curves: Mapping[str, Curve], rate: float, place: str) -> str:
    """Plot precision against recall; the horizontal line is guessing, `rate` the share of positive examples."""
    chance = _line([0, 1], [rate, rate], "guessing", {"color": AXIS_COLOUR, "width": 1.5, "dash": "3px 3px"})
    return _draw_curves(curves, [chance], _unit_axis("recall"), _unit_axis("precision"), place)


def draw_reliability(curves: Mapping[str, Curve], place: str) -> str:
    """Plot the observed rate of positive examples against the predicted probability."""
    ideal = _line([0, 1], [0, 1], "calibrated", {"color": AXIS_COLOUR, "width": 1.5, "dash": "3px 3px"})
    x, y = _unit_axis("mean predicted probability"), _unit_axis("observed rate of positive examples")
    return _draw_curves(curves, [ideal], x, y, place, mode="lines+markers")


def _draw_curves(
    curves: Mapping[str, Curve], more: list[dict[str, Any]], x: Any, y: Any, place: str, mode: str = "lines"
) -> str:
    traces = []
    for number, (name, points) in enumerate(curves.items()):
        style = PLOT_STYLES[number % len(PLOT_STYLES)]
        line = {"color": style.colour, "width": 2.5, "dash": DASHES[number // len(PLOT_STYLES) % len(DASHES)]}
        marker = {"symbol": style.mark, "size": 8, "color": style.colour}
        traces.append(_line(*points, escape_for_plotly(name, MAX_NAME_LETTERS), line, mode=mode, marker=marker))
    return plot_theme.render_plot([*traces, *more], plot_theme.build_layout(480, xaxis=x, yaxis=y), place)


def _unit_axis(title: str) -> dict[str, Any]:
    return build_axis(title, range=[-0.01, 1.01], dtick=0.2, tickformat=".1f")


def _line(x: Sequence[float], y: Sequence[float], name: str, line: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "name": name, "line": line, **more}


def draw_scores(result: ClassificationResult, place: str) -> str:
    """Plot the histogram of the scores of both classes; the bars of both stand on the axis."""
    found = result.score_histogram
    if found is None or result.positive is None:
        return ""
    negative = next(label for label in result.classes if label != result.positive)
    edges = found.edges
    widths = [high - low or 1.0 for low, high in pairwise(edges)]
    traces = [
        {
            "type": "bar",
            "name": escape_for_plotly(label, MAX_NAME_LETTERS),
            "x": edges[:-1],
            "y": counts,
            "width": widths,
            "offset": 0,
            "opacity": 0.62,
            "marker": {"color": PLOT_STYLES[style].colour, "line": {"color": TEXT_COLOUR, "width": 0.5}},
            "hovertemplate": "score from %{x:.4g}: %{y:,} examples<extra>%{fullData.name}</extra>",
        }
        for label, counts, style in ((negative, found.negatives, 0), (result.positive, found.positives, 1))
    ]
    x = build_axis(f"score for {escape_for_plotly(result.positive, MAX_NAME_LETTERS)}")
    y = build_axis("examples", rangemode="tozero")
    layout = plot_theme.build_layout(380, xaxis=x, yaxis=y, barmode="overlay", bargap=0)
    return plot_theme.render_plot(traces, layout, place)


def draw_confusion(result: ClassificationResult, place: str) -> str:
    """Plot the confusion matrix; the colour is the share of the true class."""
    names = [escape_for_plotly(label, MAX_NAME_LETTERS) for label in result.classes]
    shares = [[count / (sum(row) or 1) for count in row] for row in result.confusion]
    few = len(names) <= MAX_NUMBERED_CELLS
    trace = {
        "type": "heatmap",
        "z": shares,
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": [[0.0, "#ffffff"], [1.0, PLOT_STYLES[1].colour]],
        "showscale": False,
        "text": [[f"{count:,}" for count in row] for row in result.confusion],
        "hovertext": [
            [
                f"{true} predicted as {predicted}: {100.0 * share:.1f} % of {true}"
                for predicted, share in zip(names, row, strict=True)
            ]
            for true, row in zip(names, shares, strict=True)
        ],
        "hoverinfo": "text",
        "x": list(range(len(names))),
        "y": list(range(len(names))),
        "xgap": 2,
        "ygap": 2,
        **({"texttemplate": "%{text}"} if few else {}),
    }
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names, "showgrid": False}
    x, y = build_axis("predicted class", **ticks), build_axis("true class", autorange="reversed", **ticks)
    height = min(720, 170 + max(36 if few else 20, 2) * max(len(names), 3))
    return plot_theme.render_plot([trace], plot_theme.build_layout(height, xaxis=x, yaxis=y), place)
