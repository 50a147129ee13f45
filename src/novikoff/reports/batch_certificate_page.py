"""The certificate of a model that learned from all examples at once, as one HTML file that needs nothing else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from novikoff.certificates.certificate import Certificate
from novikoff.data.reader import is_builtin
from novikoff.reports import html_page, plot_theme, summary_text
from novikoff.reports.formatting import format_number
from novikoff.reports.plot_theme import PLOT_STYLES, TEXT_COLOUR

CERTIFICATE_FILE_NAME = "certificate.json"


def build_page(certificate: Certificate, model: Any, titles: Sequence[str] = ()) -> str:
    named = [title if is_builtin(title) else Path(title).name for title in titles]
    parts = [
        *_render_head(certificate, model, named),
        *_render_bounds(certificate),
        *_render_margins(model),
        *_render_new_data(certificate),
    ]
    text = "\n".join(
        [
            *parts,
            *_render_facts(certificate),
            *_render_verification(named),
            *html_page.render_foot(certificate.as_json()),
        ]
    )
    return text.encode("utf-8", "replace").decode()  # a name may hold what UTF-8 can't


def _render_head(certificate: Certificate, model: Any, named: list[str]) -> Iterator[str]:
    document = certificate.document
    on, learner = ", ".join(named) or "arrays", summary_text.capitalize(document["learner"])
    yield from html_page.render_head(f"{learner} on {on} – novikoff certificate")
    yield f'<header>\n<p class="lab">novikoff {escape(document["novikoff"])} certificate</p>'
    yield f"<h1>{escape(learner)} on <bdi>{escape(on)}</bdi></h1>"
    yield f'<p class="question">{escape(model.describe() or "")}</p>\n</header>\n{html_page.NO_SCRIPT_NOTICE}'


def _render_bounds(certificate: Certificate) -> Iterator[str]:
    yield "<section>\n<h2>What the theorems allow</h2>"
    for bound in certificate.bounds:
        said = f"{escape(bound['statement'])}. Assumes {escape(bound['assumes'])}."
        yield f"<p><b>{escape(bound['name'])}</b>: {said}</p>"
        rows = {
            "observed": format_number(bound["observed"]),
            "bound": format_number(bound["bound"]),
            "verdict": bound["verdict"],
        }
        yield from _render_table({**rows, **{name: f"{value:.6g}" for name, value in bound["numbers"].items()}})
    if not certificate.bounds:
        yield "<p>No theorem bounds the training error; a bound for new examples is below, if there is one.</p>"
    yield "</section>"


def _render_margins(model: Any) -> Iterator[str]:
    """The share of the training examples up to each margin, where members have votes that are weighed."""
    margins = getattr(model, "margin_distribution_", None)
    if margins is None:
        return
    line = {"color": PLOT_STYLES[1].colour, "width": 2}
    traces = [{"type": "scatter", "x": margins.tolist(), "y": list(range(len(margins))), "mode": "lines", "line": line}]
    axis = {"linecolor": TEXT_COLOUR, "gridcolor": plot_theme.GRID_COLOUR, "zeroline": False}
    layout = plot_theme.build_layout(420, xaxis={**axis, "title": {"text": "margin"}, "range": [-1.02, 1.02]})
    layout["yaxis"] = {**axis, "title": {"text": "% of the examples"}, "range": [0, 101]}
    note = (
        "How many of the examples have a margin of at most so much: (votes for the label − most votes for another) ÷"
        " all votes. Those left of 0 are training errors; at 0 another label has as many votes, and the first of such"
        " is predicted."
    )
    drawn = plot_theme.render_plot(traces, layout, "plot-0")
    yield from html_page.render_figure(0, "How clearly examples are decided", "Curve of the margins.", drawn, note)


def _render_new_data(certificate: Certificate) -> Iterator[str]:
    new = certificate.document["new_data"]
    yield "<section>\n<h2>Error of the saved model on new data</h2>"
    if new is None:
        yield "<p>No bound for the error of the saved model on new data is known.</p>\n</section>"
        return
    value = (
        summary_text.format_upper_percent(new["model_error_bound"])
        if new["model_error_bound"] < 1.0
        else "says nothing"
    )
    yield f"<p>{escape(new['statement'])}. It assumes that {escape(new['assumes'])}.</p>"
    yield from _render_table(
        {
            "error of the saved model (the vote), at most": value,
            "confidence": summary_text.format_percent(1.0 - new["delta"]),
        }
    )
    yield f"<p>Not shown: {escape(new['not_shown'])}.</p>\n</section>"


def _render_facts(certificate: Certificate) -> Iterator[str]:
    document = certificate.document
    yield "<section>\n<h2>Data, learner, settings</h2>"
    seen = {name.replace("_", " "): json.dumps(value) for name, value in document["observed"].items()}
    settings = {name: json.dumps(value, ensure_ascii=False) for name, value in document["settings"].items()}
    data = json.dumps(document["data"], ensure_ascii=False)
    yield from _render_table({**seen, **settings, "data": data, "model (sha256)": document["model"]})
    yield "</section>"


def _render_table(rows: dict[str, str]) -> Iterator[str]:
    yield '<table class="facts">\n<tbody>'
    for name, value in rows.items():
        yield f'<tr><th scope="row">{escape(name)}</th><td><bdi>{escape(str(value))}</bdi></td></tr>'
    yield "</tbody>\n</table>"


def _render_verification(named: list[str]) -> Iterator[str]:
    yield "<section>\n<h2>How to check it</h2>"
    link = html_page.render_save_link("Save the certificate", CERTIFICATE_FILE_NAME)
    yield f"<p>{link}, bring the same data, and have everything learned anew; nothing in the file is believed:</p>"
    command = f"novikoff verify {CERTIFICATE_FILE_NAME} {' '.join(map(shlex.quote, named))}"
    if not named:
        command = f"novikoff.verify(json.load(open({CERTIFICATE_FILE_NAME!r})), X, y)  # [] where all is right"
    yield f"<pre><code>{escape(command)}</code></pre>\n</section>"
