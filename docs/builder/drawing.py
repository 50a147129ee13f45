"""Draw small SVG plots with axes, regions, lines, dots and a legend.

Text has the colour of the page, so that one picture serves light and dark themes. The palette is that of Okabe and Ito,
which is safe for colour-blind readers; dots of different classes also differ in shape.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
WIDTH, HEIGHT = 540, 330
LEFT, RIGHT, TOP, BOTTOM = 62, 22, 50, 46
ROW = 19  # height of a legend row; there is room for two
INSIDE = WIDTH - LEFT - RIGHT
TALL = HEIGHT - TOP - BOTTOM
CELLS = 80, 40
Point = tuple[float, float]


class Plot:
    """A plot. `x` and `y` are (minimum, maximum); `scale` names a logarithmic axis, such as "log x"."""

    def __init__(self, x: Point, y: Point, *, names: tuple[str, str] = ("", ""), scale: str = "") -> None:
        self.x, self.y, self.names = x, y, names
        self.logs = "x" in scale, "y" in scale
        self.parts: list[str] = []
        self.legend: list[list[str]] = [[]]
        self.used = 0.0

    # --- Elements ---

    def regions(self, classes: Any) -> None:
        """Fill the cells of a grid by class, row by row from below; −1 stays blank."""
        rows = [[int(c) for c in row] for row in classes]
        tall, wide = TALL / len(rows), INSIDE / len(rows[0])
        for r, row in enumerate(rows):
            start = 0
            for end in range(1, len(row) + 1):
                if end < len(row) and row[end] == row[start]:
                    continue
                if row[start] >= 0:
                    left, top = LEFT + start * wide, HEIGHT - BOTTOM - (r + 1) * tall
                    size = f'width="{(end - start) * wide:.1f}" height="{tall + 0.3:.1f}"'
                    look = f'fill="{COLOURS[row[start]]}" fill-opacity="0.2"'
                    self.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" {size} {look}/>')
                start = end

    def line(
        self,
        points: Iterable[Point],
        colour: int,
        name: str = "",
        *,
        dashed: bool = False,
        wide: float = 2.0,
        steps: bool = False,
    ) -> None:
        seen = [self._at(*p) for p in points]
        if steps:
            seen = [p for k, q in enumerate(seen) for p in (((q[0], seen[k - 1][1]), q) if k else (q,))]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in seen)
        look = f'stroke="{COLOURS[colour]}" stroke-width="{wide}"' + (' stroke-dasharray="7 5"' if dashed else "")
        self.parts.append(f'<polyline points="{path}" fill="none" {look}/>')
        if name:
            self._explain(name, f'<line x1="0" x2="22" y1="-4" y2="-4" {look}/>', 26)

    def dots(self, points: Iterable[Point], colour: int, name: str = "", *, size: float = 3.2) -> None:
        for a, b in points:
            self.parts.append(_mark(*self._at(a, b), colour, size))
        if name:
            self._explain(name, _mark(6.0, -4.0, colour, 4.0), 14)

    def note(self, at: Point, text: str, *, anchor: Literal["start", "middle", "end"] = "start") -> None:
        a, b = self._at(*at)
        self.parts.append(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{escape(text)}</text>')

    # --- Rendering ---

    def svg(self, title: str) -> str:
        head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">'
        style = 'font-family="inherit" font-size="14" fill="currentColor"'
        inside = (
            f'<clipPath id="inside"><rect x="{LEFT}" y="{TOP}" width="{INSIDE}" height="{TALL}"/></clipPath>'
            f'<g clip-path="url(#inside)">{"".join(self.parts)}</g>'
        )
        body = f"<g {style}>{inside}{self._axes()}{self._legend()}</g>"
        return f"{head}<title>{escape(title)}</title>{body}</svg>"

    def _at(self, a: float, b: float) -> Point:
        return (
            LEFT + INSIDE * _share(a, self.x, self.logs[0]),
            HEIGHT - BOTTOM - TALL * _share(b, self.y, self.logs[1]),
        )

    def _explain(self, name: str, mark: str, indent: int) -> None:
        wide = indent + 7.8 * len(name) + 16
        if self.used + wide > INSIDE + 16 and self.legend[-1]:
            self.legend.append([])
            self.used = 0.0
        place = f'transform="translate({LEFT + self.used:.0f},0)"'
        self.legend[-1].append(f'<g {place}>{mark}<text x="{indent}" y="0">{escape(name)}</text></g>')
        self.used += wide

    def _legend(self) -> str:
        first = TOP - 12 - ROW * (len(self.legend) - 1)
        rows = enumerate(self.legend)
        return "".join(f'<g transform="translate(0,{first + ROW * k})">{"".join(row)}</g>' for k, row in rows)

    def _axes(self) -> str:
        bottom, parts = HEIGHT - BOTTOM, []
        frame = 'stroke="currentColor" stroke-opacity="0.35" fill="none"'
        parts.append(f'<rect x="{LEFT}" y="{TOP}" width="{INSIDE}" height="{TALL}" {frame}/>')
        for value in choose_ticks(self.x, self.logs[0]):
            at, _ = self._at(value, self.y[0])
            parts.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{format_number(value)}</text>')
        for value in choose_ticks(self.y, self.logs[1]):
            _, at = self._at(self.x[0], value)
            parts.append(f'<text x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{format_number(value)}</text>')
            parts.append(f'<line x1="{LEFT}" x2="{LEFT + INSIDE}" y1="{at:.1f}" y2="{at:.1f}" {frame}/>')
        across, up = self.names
        parts.append(f'<text x="{LEFT + INSIDE / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(across)}</text>')
        middle = TOP + TALL / 2
        turn = f'transform="rotate(-90 14 {middle})"'
        parts.append(f'<text x="14" y="{middle}" {turn} text-anchor="middle">{escape(up)}</text>')
        return "".join(parts)


def _mark(a: float, b: float, colour: int, size: float) -> str:
    look = f'fill="{COLOURS[colour]}" stroke="var(--color-background-primary, white)" stroke-width="0.6"'
    if colour % 3 == 0:
        return f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{size}" {look}/>'
    if colour % 3 == 1:
        corner = f'x="{a - size:.1f}" y="{b - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}"'
        return f"<rect {corner} {look}/>"
    far = 1.4 * size
    tips = f"{a:.1f},{b - far:.1f} {a + far:.1f},{b + size:.1f} {a - far:.1f},{b + size:.1f}"
    return f'<polygon points="{tips}" {look}/>'


def _share(value: float, span: Point, log: bool) -> float:
    low, high = span
    if log:
        return math.log(max(value, low) / low) / math.log(high / low)
    return (value - low) / (high - low)


def choose_ticks(span: Point, log: bool) -> Sequence[float]:
    """Return about five round numbers; on a logarithmic axis powers of ten, with 2 and 5 if there is room."""
    low, high = span
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1, 2, 5) if high / low < 1000 else (1,)
        return [k * 10.0**e for e in powers for k in steps if low * 0.999 <= k * 10.0**e <= high * 1.001]
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]


def format_number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{round(value, 6):g}".replace("-", "−")
