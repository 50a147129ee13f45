"""Numbers of examples against ε as one HTML file: all bounds that hold for a class, and the one that was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from novikoff.reports import html_page, plot_theme
from novikoff.reports.plot_theme import PLOT_STYLES
from novikoff.theory.class_size import ClassSize
from novikoff.theory.formula_text import format_integer, format_number
from novikoff.theory.samples.sample_size import SAMPLE_SIZE_BOUNDS, table

EXAMPLES_FILE_NAME = "examples.json"
TableRows = dict[str, list[tuple[float, int]]]


def build_page(law: str, class_params: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> str:
    rows = _build_tables(law, class_params, delta, epsilons)
    title = f"How many examples for an error of ε, with probability {1.0 - delta:.12g}?"
    parts = [*html_page.render_head(f"{title} – novikoff theory {law}"), '<header>\n<p class="lab">novikoff theory</p>']
    parts += [
        f"<h1>{escape(title)}</h1>",
        f'<p class="question">{escape(_describe_class(class_params))}</p>\n</header>',
    ]
    parts.append(html_page.NO_SCRIPT_NOTICE)
    told = "Plot of the number of examples against ε; the numbers are in the table below."
    note = "Both axes are logarithmic: a bound that grows like 1/ε has slope −1, one that grows like 1/ε² slope −2."
    parts += [
        *html_page.render_figure(0, "Examples against ε", told, _draw_plot(law, rows), note),
        *_render_table(rows),
        *_render_laws(rows),
    ]
    numbers = {
        "law": law,
        "delta": delta,
        "class": {key: value.formula if isinstance(value, ClassSize) else value for key, value in class_params.items()},
        "tables": {name: [{"epsilon": e, "examples": m} for e, m in one] for name, one in rows.items()},
    }
    parts.append(f"<p>{html_page.render_save_link('Save the numbers as JSON', EXAMPLES_FILE_NAME)}</p>")
    return "\n".join([*parts, *html_page.render_foot(json.dumps(numbers, ensure_ascii=False))])


def _build_tables(law: str, class_params: dict[str, Any], delta: float, epsilons: tuple[float, ...]) -> TableRows:
    """The law that was asked for first, then what else holds for the class. VC(H) ≤ log₂|H|."""
    more = dict(class_params)
    if "hypotheses" in class_params:
        more["dimension"] = int(class_params["hypotheses"].log2)
    names = [law, *(name for name in SAMPLE_SIZE_BOUNDS if name != law)]
    return {
        name: table(name, delta=delta, epsilons=epsilons, **more) for name in names if _is_applicable(name, law, more)
    }


def _is_applicable(name: str, law: str, class_params: dict[str, Any]) -> bool:
    if name == law:
        return True
    known = SAMPLE_SIZE_BOUNDS[name].of
    if SAMPLE_SIZE_BOUNDS[name].necessary and "hypotheses" in class_params:
        return False  # log₂|H| is no lower bound of the VC dimension
    return bool(known) and known in class_params and (name != "vc-agnostic" or class_params["dimension"] >= 1)


def _describe_class(class_params: dict[str, Any]) -> str:
    told = {"hypotheses": "A class of {} hypotheses.", "dimension": "A class of VC dimension {}."}
    return " ".join(told[key].format(format_number(value)) for key, value in class_params.items()) or "One hypothesis."


def _draw_plot(law: str, rows: TableRows) -> str:
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": [epsilon for epsilon, _ in one],
            # What no floating-point number is large enough for is not drawn.
            "y": [float(many) if many.bit_length() < 1000 else None for _, many in one],
            "line": {"color": style.colour, **(ASKED_LINE if name == law else OTHER_LINE)},
            "marker": {"symbol": style.mark, "size": 8},
        }
        for style, (name, one) in zip(PLOT_STYLES, rows.items(), strict=False)
    ]
    x = {**plot_theme.build_log_axis("ε"), "autorange": "reversed"}
    return plot_theme.render_plot(
        traces, plot_theme.build_layout(xaxis=x, yaxis=plot_theme.build_log_axis("examples")), "plot-0"
    )


ASKED_LINE: dict[str, Any] = {"width": 3}
OTHER_LINE: dict[str, Any] = {"width": 1.5, "dash": "6px 4px"}


def _render_table(rows: TableRows) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Numbers">\n<table>\n<caption>Numbers</caption>'
    yield '<thead><tr><th scope="col">ε</th>' + "".join(f'<th scope="col">{escape(name)}</th>' for name in rows)
    yield "</tr></thead>\n<tbody>"
    for line in zip(*rows.values(), strict=True):
        yield f"<tr><td>{line[0][0]:g}</td>" + "".join(f"<td>{format_integer(many)}</td>" for _, many in line) + "</tr>"
    yield "</tbody>\n</table>\n</div>"


def _render_laws(rows: TableRows) -> Iterator[str]:
    yield "<section>\n<h2>What they say</h2>\n<dl>"
    for name in rows:
        law = SAMPLE_SIZE_BOUNDS[name]
        yield f"<dt>{escape(name)}: {escape(law.about)}</dt>"
        yield f"<dd>{escape(law.directions['examples'].formula)}<br><em>Assumes:</em> {escape(law.assumes)}."
        yield f"<br><em>Source:</em> {escape(law.source)}.</dd>"
    yield "</dl>\n</section>"
