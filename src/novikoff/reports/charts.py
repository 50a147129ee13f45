"""Draw the plots of a run; dashes, marks and patterns distinguish series without colour."""

from __future__ import annotations

import math
from typing import Any

from novikoff.certificates.margin_histogram import Histogram
from novikoff.reports import plot_theme
from novikoff.reports.formatting import format_number
from novikoff.reports.plot_theme import AXIS_COLOUR, PLOT_STYLES, TEXT_COLOUR, escape_for_plotly
from novikoff.reports.report_data import ReportData
from novikoff.reports.weights import FeatureWeight

RED, BLUE = PLOT_STYLES[0].colour, PLOT_STYLES[1].colour
BAND_COLOUR = "rgba(0, 114, 178, 0.16)"
DASHES = ("10px 4px", "3px 3px", "14px 4px 3px 4px", "6px 3px", "18px 6px")
LOG_AXIS_RATIO = 10.0
"""Ratio of bound to count above which the axis is logarithmic."""
MAX_BARS = 48
"""Approximate number of bars in a histogram."""
MAX_OUTLIER_FRACTION = 0.005
"""Largest share of outlying examples cut at either end of a histogram."""
MAX_LABEL_LETTERS = 24
LEGEND_ABOVE = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}}
Traces = list[dict[str, Any]]


def draw_mistakes(report: ReportData, place: str) -> str:
    """Plot the running mistakes, with a horizontal line for each bound on the whole stream."""
    curve, seen = report.mistakes, report.document["observed"]
    bounds = sorted((b for b in report.certificate.bounds if "bound" in b), key=lambda b: float(b["bound"]))
    most = max((float(b["bound"]) for b in bounds), default=0.0)
    log = curve.counts[-1] > 0 and most > LOG_AXIS_RATIO * curve.counts[-1]
    traces: Traces = [
        _bound_trace(b, number / len(bounds), number, curve.examples[-1]) for number, b in enumerate(bounds)
    ]
    if any(b["counts"] == "updates" for b in bounds):
        mark = {"symbol": "star", "size": 12, "color": TEXT_COLOUR}
        name = f"updates made: {format_number(seen['updates'])}"
        traces.append(_line_trace([curve.examples[-1]], [seen["updates"]], name, mode="markers", marker=mark))
    line = {"color": RED, "width": 2.5, "shape": "hv" if curve.stride == 1 else "linear"}
    made = [None if log and count == 0 else count for count in curve.counts]
    few = sum(count is not None for count in made) <= 30
    style = {"mode": "lines+markers" if few else "lines", "marker": {"symbol": PLOT_STYLES[0].mark, "size": 6}}
    traces.append(
        _line_trace(
            curve.examples, made, f"mistakes made: {format_number(seen['mistakes'])}", line=line, legendrank=1, **style
        )
    )
    y = (
        plot_theme.build_log_axis("mistakes")
        if log
        else plot_theme.build_axis("mistakes", rangemode="tozero", **_integer_ticks(int(max(most, curve.counts[-1]))))
    )
    x = plot_theme.build_axis(
        "examples", range=[0, max(1, curve.examples[-1]) * 1.01], **_integer_ticks(curve.examples[-1])
    )
    return plot_theme.render_plot(traces, _build_layout(report, x, y, height=480), place)


def _bound_trace(bound: dict[str, Any], shift: float, number: int, last: int) -> dict[str, Any]:
    """Return a line with its own mark positions, because several bounds may nearly coincide."""
    style = PLOT_STYLES[(number + 1) % len(PLOT_STYLES)]
    allowed = float(bound["bound"])
    what = "" if bound["counts"] == "mistakes" else f" {bound['counts']}"
    return _line_trace(
        [0, *(last * (place + shift) / 5.0 for place in (0.5, 1.5, 2.5, 3.5)), last],
        [allowed] * 6,
        f"bound{what} by {escape_for_plotly(str(bound['name']))}: {format_number(allowed)}",
        mode="lines+markers",
        line={"color": style.colour, "width": 2, "dash": DASHES[number % len(DASHES)]},
        marker={"symbol": [f"{style.mark}-open"] * 6, "size": [0, 9, 9, 9, 9, 0], "color": style.colour, "sizemin": 0},
        legendrank=2 + number,
    )


def draw_errors(report: ReportData, place: str) -> str:
    """Plot the progressive error, with its confidence band in the first pass."""
    found = report.errors
    new = report.document["new_data"]
    at = list(found.examples[: len(found.band)])
    low, high = [ends[0] for ends in found.band], [ends[1] for ends in found.band]
    thin = {"color": BLUE, "width": 1.5}
    sure = f"{1.0 - new['delta']:g}" if new else ""
    traces = [
        _line_trace(
            at,
            low,
            f"lower end for the mean of the hypotheses used, confidence {sure}, if i.i.d.",
            line={**thin, "dash": "3px 3px"},
            legendrank=3,
        ),
        _line_trace(
            at,
            high,
            f"upper end for the mean of the hypotheses used, confidence {sure}, if i.i.d.",
            line={**thin, "dash": "10px 4px"},
            fill="tonexty",
            fillcolor=BAND_COLOUR,
            legendrank=2,
        ),
        _line_trace(
            found.examples,
            found.errors,
            "progressive error of the run",
            mode="lines+markers" if len(found.examples) <= 30 else "lines",
            line={"color": RED, "width": 2.5},
            marker={"symbol": PLOT_STYLES[0].mark, "size": 6},
            legendrank=1,
        ),
    ]
    traces = traces if found.band else traces[2:]
    log = found.examples[-1] >= 100
    x = (
        plot_theme.build_log_axis("examples")
        if log
        else plot_theme.build_axis("examples", **_integer_ticks(found.examples[-1]))
    )
    y = plot_theme.build_axis(
        "progressive error",
        range=[0, _error_axis_top(report)],
        tickformat=".0%" if _error_axis_top(report) > 0.1 else ".1%",
    )
    return plot_theme.render_plot(traces, _build_layout(report, x, y, height=440), place)


def _error_axis_top(report: ReportData) -> float:
    """Return the top of the axis; the curve of the first few examples may exceed it."""
    found = report.errors
    settled = [k for k, t in enumerate(found.examples) if t * t >= found.examples[-1]]
    high = [found.band[k][1] for k in settled if k < len(found.band)]
    return min(1.02, 1.05 * max([0.01, *high, *(found.errors[k] for k in settled)]))


def draw_margins(report: ReportData, place: str) -> str:
    """Plot histograms of the margins of the witness and of the learned weights, each with its own axes."""
    titles = ("margin of the witness", "margin of the learned weights")
    both = zip(titles, (report.witness_margins, report.learned_margins), strict=True)
    rows = [(title, histogram) for title, histogram in both if histogram is not None]
    traces: Traces = []
    axes: dict[str, Any] = {}
    zeros = []
    for number, (title, histogram) in enumerate(rows):
        suffix = "" if number == 0 else str(number + 1)
        bottom = 1.0 - (number + 1) / len(rows) + (0.13 if number + 1 < len(rows) else 0.0)
        low, high, width = find_bar_range(histogram)
        traces += _bar_traces(histogram, (low, high, width), suffix, {str(trace["name"]) for trace in traces})
        place_of = {"domain": [bottom, 1.0 - number / len(rows)], "anchor": f"x{suffix}"}
        ticks = _integer_ticks(max(histogram.rebin(width).counts))
        axes[f"yaxis{suffix}"] = plot_theme.build_axis("examples", rangemode="tozero", **place_of, **ticks)
        axes[f"xaxis{suffix}"] = plot_theme.build_axis(title, range=[low, high], anchor=f"y{suffix}")
        zero = {"type": "line", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": 0, "x1": 0, "y0": 0, "y1": 1}
        zeros.append({**zero, "line": {"color": TEXT_COLOUR, "width": 1.5}})
    layout = plot_theme.build_layout(140 + 270 * len(rows), **axes, bargap=0, barmode="overlay", shapes=zeros)
    layout["legend"] = LEGEND_ABOVE
    layout["margin"] = {**layout["margin"], "t": 40}
    return plot_theme.render_plot(traces, layout, place)


def _integer_ticks(most: int) -> dict[str, Any]:
    """Return a tick step of 1 for small counts, where Plotly would choose fractions."""
    return {"dtick": 1} if most <= 6 else {}


def find_bar_range(histogram: Histogram) -> tuple[float, float, float]:
    """Return the lower and upper end of the bars and their width. Outliers are cut if they would squeeze the rest;
    0 is always in the range."""
    low, high = histogram.first * histogram.width, (histogram.first + len(histogram.counts)) * histogram.width
    low, high = min(0.0, low), max(0.0, high)
    inner = _find_core_range(histogram)
    if high - low > 3.0 * (inner[1] - inner[0]):
        low, high = inner
    bars = min(MAX_BARS, 8 + math.isqrt(histogram.examples))
    width = max(2.0 ** math.ceil(math.log2((high - low) / bars)), histogram.width)
    return math.floor(low / width) * width, math.ceil(high / width) * width, width


def _find_core_range(histogram: Histogram) -> tuple[float, float]:
    out = MAX_OUTLIER_FRACTION * histogram.examples
    below, k = 0, 0
    while below + histogram.counts[k] <= out:
        below, k = below + histogram.counts[k], k + 1
    above, j = 0, len(histogram.counts)
    while above + histogram.counts[j - 1] <= out:
        above, j = above + histogram.counts[j - 1], j - 1
    return min(0.0, (histogram.first + k) * histogram.width), max(0.0, (histogram.first + j) * histogram.width)


def count_outliers(histogram: Histogram) -> tuple[int, int]:
    """Return how many examples are below and above the range of the bars."""
    low, high, width = find_bar_range(histogram)
    wide = histogram.rebin(width)
    left = sum(c for k, c in enumerate(wide.counts) if (wide.first + k) * width < low)
    right = sum(c for k, c in enumerate(wide.counts) if (wide.first + k) * width >= high)
    return left, right


def _bar_traces(histogram: Histogram, edges: tuple[float, float, float], suffix: str, named: set[str]) -> Traces:
    low, high, width = edges
    wide = histogram.rebin(width)
    bars = [((wide.first + k) * width, count) for k, count in enumerate(wide.counts)]
    sides = (
        ("wrong side", RED, "/", [(x, c) for x, c in bars if low <= x < 0.0]),
        ("right side", BLUE, "", [(x, c) for x, c in bars if 0.0 <= x < high]),
    )
    return [
        {
            "type": "bar",
            "x": [x + width / 2.0 for x, _ in side],
            "y": [count for _, count in side],
            "width": width,
            "xaxis": f"x{suffix}",
            "yaxis": f"y{suffix}",
            "name": name,
            "legendgroup": name,
            "showlegend": name not in named,
            "marker": _bar_marker(colour, pattern),
            "hovertext": [f"{x:.4g} to {x + width:.4g}: {count:,} examples" for x, count in side],
            "hoverinfo": "text",
        }
        for name, colour, pattern, side in sides
        if side
    ]


def draw_weights(report: ReportData, place: str) -> str:
    """Draw the importance of features as bars, by name, on the side of the sign of the weight."""
    listed = report.weights or ()
    names = [escape_for_plotly(_bar_title(w), MAX_LABEL_LETTERS) for w in listed]
    full = [escape_for_plotly(_bar_title(w)) for w in listed]
    negative, positive = _sign_meanings(report)
    sides = ((negative, RED, "/", -1.0), (positive, BLUE, "", 1.0))
    traces: Traces = []
    for label, colour, pattern, sign in sides:
        mine = [k for k, w in enumerate(listed) if w.weight * sign > 0.0]
        if mine:
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "y": mine,
                    "x": [sign * (listed[k].importance or 0.0) for k in mine],
                    "name": label,
                    "marker": _bar_marker(colour, pattern),
                    "hovertext": [f"{full[k]}: {_hover_text(listed[k])}" for k in mine],
                    "hoverinfo": "text",
                }
            )
    y = plot_theme.build_axis(
        "", tickmode="array", tickvals=list(range(len(listed))), ticktext=names, autorange="reversed"
    )
    y |= {"tickfont": {"size": 12}, "showgrid": False}
    x = plot_theme.build_axis("weight × standard deviation of the feature", zeroline=True, zerolinecolor=TEXT_COLOUR)
    layout = plot_theme.build_layout(130 + 26 * max(3, len(listed)), xaxis=x, yaxis=y, bargap=0.25)
    layout["legend"] = LEGEND_ABOVE
    layout["margin"] = {**layout["margin"], "t": 40}
    return plot_theme.render_plot(traces, layout, place)


def _hover_text(weight: FeatureWeight) -> str:
    importance = "unknown" if weight.importance is None else f"{weight.importance:.4g}"
    return f"importance {importance}, weight {weight.weight:+.4g}"


def _bar_title(weight: FeatureWeight) -> str:
    return str(weight.feature) if weight.speaks_for is None else f"{weight.speaks_for}: {weight.feature}"


def _sign_meanings(report: ReportData) -> tuple[str, str]:
    """Return the legends of negative and of positive weights."""
    if report.outcomes == "sides":
        negative, positive = (
            f"favours {escape_for_plotly(str(label), MAX_LABEL_LETTERS)}" for label in report.document["labels"]
        )
        return negative, positive
    return "lowers the score", "raises the score"


def _bar_marker(colour: str, pattern: str) -> dict[str, Any]:
    shape = {"shape": pattern, "fgcolor": colour, "bgcolor": "white", "size": 7, "solidity": 0.45}
    return {"color": colour, "line": {"color": TEXT_COLOUR, "width": 0.6}, **({"pattern": shape} if pattern else {})}


def _line_trace(x: Any, y: Any, name: str, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "x": list(x), "y": list(y), "name": name, "mode": "lines", **more}


def _build_layout(report: ReportData, x: dict[str, Any], y: dict[str, Any], *, height: int) -> Any:
    """Return the layout, with a line at the end of the first pass if there are several passes."""
    shapes = []
    last = report.mistakes.examples[-1]
    if report.first_pass < last:
        end = {"type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "x0": report.first_pass}
        line = {"color": AXIS_COLOUR, "width": 1.5, "dash": "dot"}
        label = {"text": "first pass ends", "textposition": "middle", "font": {"size": 11}}
        shapes.append({**end, "x1": report.first_pass, "line": line, "label": label})
    return plot_theme.build_layout(height, xaxis=x, yaxis=y, shapes=shapes, hovermode="x unified")
