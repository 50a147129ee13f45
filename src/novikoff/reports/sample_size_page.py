"""Numbers of examples against ε as one HTML file: all bounds that hold for a class, and the one that was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from novikoff.reports import plot_theme, html_page
from novikoff.reports.plot_theme import LOOKS
from novikoff.theory.formula_text import shown, whole
from novikoff.theory.samples.sample_size import LAWS, table
from novikoff.theory.class_size import Size

FILE = "examples.json"
Rows = dict[str, list[tuple[float, int]]]


def page(law: str, described: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> str:
    rows = _rows(law, described, delta, epsilons)
    title = f"How many examples for an error of ε, with probability {1.0 - delta:.12g}?"
    parts = [*html_page.head(f"{title} – novikoff theory {law}"), '<header>\n<p class="lab">novikoff theory</p>']
    parts += [f"<h1>{escape(title)}</h1>", f'<p class="question">{escape(_class(described))}</p>\n</header>']
    parts.append(html_page.NO_SCRIPT)
    told = "Plot of the number of examples against ε; the numbers are in the table below."
    note = "Both axes are logarithmic: a bound that grows like 1/ε has slope −1, one that grows like 1/ε² slope −2."
    parts += [*html_page.plot(0, "Examples against ε", told, _drawn(law, rows), note), *_table(rows), *_laws(rows)]
    numbers = {
        "law": law,
        "delta": delta,
        "class": {key: value.formula if isinstance(value, Size) else value for key, value in described.items()},
        "tables": {name: [{"epsilon": e, "examples": m} for e, m in one] for name, one in rows.items()},
    }
    parts.append(f"<p>{html_page.link('Save the numbers as JSON', FILE)}</p>")
    return "\n".join([*parts, *html_page.foot(json.dumps(numbers, ensure_ascii=False))])


def _rows(law: str, described: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> Rows:
    """The law that was asked for first, then what else holds for the class. VC(H) ≤ log₂|H|."""
    more = dict(described)
    if "hypotheses" in described:
        more["dimension"] = int(described["hypotheses"].log2)
    names = [law, *(name for name in LAWS if name != law)]
    return {name: table(name, delta=delta, epsilons=epsilons, **more) for name in names if _holds(name, law, more)}


def _holds(name: str, law: str, described: dict[str, Any]) -> bool:
    if name == law:
        return True
    known = LAWS[name].of
    if LAWS[name].necessary and "hypotheses" in described:
        return False  # log₂|H| is no lower bound of the VC dimension
    return bool(known) and known in described and (name != "vc-agnostic" or described["dimension"] >= 1)


def _class(described: dict[str, Any]) -> str:
    told = {"hypotheses": "A class of {} hypotheses.", "dimension": "A class of VC dimension {}."}
    return " ".join(told[key].format(shown(value)) for key, value in described.items()) or "One hypothesis."


def _drawn(law: str, rows: Rows) -> str:
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [epsilon for epsilon, _ in one],
            # What no floating-point number is large enough for is not drawn.
            "y": [float(many) if many.bit_length() < 1000 else None for _, many in one],
            "line": {"color": look.colour, **(ASKED if name == law else OTHER)},
            "marker": {"symbol": look.mark, "size": 8},
        }
        for look, (name, one) in zip(LOOKS, rows.items(), strict=False)
    ]
    x = {**plot_theme.log_axis("ε"), "autorange": "reversed"}
    return plot_theme.as_html(traces, plot_theme.layout(xaxis=x, yaxis=plot_theme.log_axis("examples")), "plot-0")


ASKED: dict[str, Any] = {"width": 3}
OTHER: dict[str, Any] = {"width": 1.5, "dash": "6px 4px"}


def _table(rows: Rows) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Numbers">\n<table>\n<caption>Numbers</caption>'
    yield '<thead><tr><th scope="col">ε</th>' + "".join(f'<th scope="col">{escape(name)}</th>' for name in rows)
    yield "</tr></thead>\n<tbody>"
    for line in zip(*rows.values(), strict=True):
        yield f"<tr><td>{line[0][0]:g}</td>" + "".join(f"<td>{whole(many)}</td>" for _, many in line) + "</tr>"
    yield "</tbody>\n</table>\n</div>"


def _laws(rows: Rows) -> Iterator[str]:
    yield "<section>\n<h2>What they say</h2>\n<dl>"
    for name in rows:
        law = LAWS[name]
        yield f"<dt>{escape(name)}: {escape(law.about)}</dt>"
        yield f"<dd>{escape(law.directions['examples'].formula)}<br><em>Assumes:</em> {escape(law.assumes)}."
        yield f"<br><em>Source:</em> {escape(law.source)}.</dd>"
    yield "</dl>\n</section>"
