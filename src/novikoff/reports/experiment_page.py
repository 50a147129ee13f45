"""A result as one HTML file that needs nothing else: plots, tables, theorems, settings, and the numbers as JSON.

The numbers are in <script type="application/json" id="numbers">, and a link on the page saves them. The page's own
policy forbids it to load anything. The same result gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

from novikoff import __version__
from novikoff.experiments.result import ExperimentResult, Panel
from novikoff.reports import figures, html_page
from novikoff.reports.formatting import build_table


def build_page(result: ExperimentResult) -> str:
    parts = [
        *_render_head(result),
        *_render_plots(result),
        *_render_checks(result),
        *_render_summary(result),
        *_render_theorems(result),
    ]
    numbers = json.dumps(result.as_dict(), ensure_ascii=False)
    return "\n".join([*parts, *_render_tables(result), *_render_settings(result), *html_page.render_foot(numbers)])


def _render_head(result: ExperimentResult) -> Iterator[str]:
    yield from html_page.render_head(f"{result.title} – novikoff experiment {result.name}")
    yield f'<header>\n<p class="lab">novikoff experiment {escape(result.name)}</p>\n<h1>{escape(result.title)}</h1>'
    yield f'<p class="question">{escape(result.question)}</p>\n</header>'


def _render_plots(result: ExperimentResult) -> Iterator[str]:
    styles = figures.assign_styles(result.panels)
    yield html_page.NO_SCRIPT_NOTICE
    for number, panel in enumerate(result.panels):
        fits = [fit for fit in result.fits if fit.panel == panel.name]
        figure = figures.render_panel(panel, fits, styles, f"plot-{number}")
        yield from html_page.render_figure(number, panel.title, _describe_plot(panel), figure, panel.note)


def _describe_plot(panel: Panel) -> str:
    lines = ", ".join(column.title for column in panel.columns if column.role == "observed")
    return f"Plot of {panel.y.title} against {panel.x.title}: {lines}. The numbers are in the table of this name below."


def _render_checks(result: ExperimentResult) -> Iterator[str]:
    broken = result.violated
    if broken:
        yield '<section class="verdict broken">\n<p>Bounds that were violated, which is a defect:</p>\n<ul>'
        yield from (f"<li>{escape(str(check))}</li>" for check in broken)
        yield "</ul>\n</section>"
    else:
        count = len(result.checks)
        yield f'<p class="verdict">{count} numbers were held against their bounds: no bound was violated.</p>'


def _render_summary(result: ExperimentResult) -> Iterator[str]:
    yield "<section>\n<h2>What is to be seen</h2>"
    yield from (f"<p>{escape(paragraph)}</p>" for paragraph in result.seen)
    yield "</section>"


def _render_theorems(result: ExperimentResult) -> Iterator[str]:
    yield "<section>\n<h2>What is allowed</h2>\n<dl>"
    for theorem in result.theorems:
        yield f"<dt>{escape(theorem.name[0].upper() + theorem.name[1:])}</dt>"
        yield f"<dd>{escape(theorem.statement)}<br><em>Assumes:</em> {escape(theorem.assumes)}</dd>"
    yield "</dl>\n</section>"


def _render_tables(result: ExperimentResult) -> Iterator[str]:
    yield "<section>\n<h2>Numbers</h2>"
    for panel in result.panels:
        columns, rows = build_table(panel)
        some = f" ({len(rows)} of {len(panel.rows)} rows)" if len(rows) < len(panel.rows) else ""
        yield f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(panel.title)}">\n<table>'
        yield f"<caption>{escape(panel.title)}{some}</caption>\n<thead><tr>"
        yield "".join(f'<th scope="col">{escape(column.title)}</th>' for column in columns)
        yield "</tr></thead>\n<tbody>"
        yield from ("<tr>" + "".join(f"<td>{value}</td>" for value in row) + "</tr>" for row in rows)
        yield "</tbody>\n</table>\n</div>"
        yield from _render_fits(result, panel)
    yield "</section>"


def _render_fits(result: ExperimentResult, panel: Panel) -> Iterator[str]:
    named = {column.key: column.learner for column in panel.columns}
    for fit in result.fits:
        if fit.panel == panel.name:
            yield f"<p>Fit of {escape(named[fit.of])}’s mistakes: {escape(fit.title)} (± the largest residual).</p>"


def _render_settings(result: ExperimentResult) -> Iterator[str]:
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in result.settings.items())
    yield "<section>\n<h2>Settings</h2>\n<p>The same settings give the same numbers:</p>"
    yield f"<pre><code>novikoff experiment {escape(result.name)} {escape(options)}</code></pre>"
    yield f"<p>novikoff {escape(__version__)}. All numbers, also those of rows that the tables leave out:"
    yield f" {html_page.render_save_link('save them as JSON', f'{result.name}.json')}.</p>\n</section>"
