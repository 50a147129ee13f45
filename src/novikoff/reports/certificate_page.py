"""A certificate as one HTML file that needs nothing else: what it says in plain words, plots, tables, and itself.

The certificate is in <script type="application/json" id="numbers">, and a link on the page saves it. Everything that
comes from data is escaped. The same account gives the same bytes.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from html import escape
from typing import Any

from novikoff.certificates.margin_histogram import Histogram
from novikoff.reports import charts, html_page, summary_text
from novikoff.reports.formatting import format_number
from novikoff.reports.report_data import ReportData
from novikoff.reports.summary_text import format_percent

CERTIFICATE_FILE_NAME = "certificate.json"
MAX_LABELS_LISTED = 50  # that are listed
VERDICT_MARKS = {"holds": "✓", "violated": "✗", "not applicable": "–"}


def build_page(report: ReportData) -> str:
    parts = [
        *_render_head(report),
        *_render_tiles(report),
        *_render_verdict(report),
        *_render_mistakes(report),
        *_render_errors(report),
    ]
    parts += [
        *_render_bounds(report),
        *_render_margins(report),
        *_render_weights(report),
        *_render_guarantee(report),
        *_render_new_data(report),
    ]
    text = "\n".join(
        [
            *parts,
            *_render_run(report),
            *_render_verification(report),
            *html_page.render_foot(report.certificate.as_json()),
        ]
    )
    return text.encode("utf-8", "replace").decode()  # a name may hold what UTF-8 can't


def _escape_data(text: Any) -> str:
    """A text from data: shown letter by letter, whatever its script, and kept from reordering what stands beside it."""
    return f"<bdi>{escape(str(text))}</bdi>"


def _render_head(report: ReportData) -> Iterator[str]:
    document = report.document
    some = [*report.titles[:3], *(["…"] if len(report.titles) > 3 else [])]
    named = ", ".join(some) or "arrays"
    learner = summary_text.capitalize(document["learner"])
    yield from html_page.render_head(f"{learner} on {named} – novikoff certificate")
    yield f'<header>\n<p class="lab">novikoff {escape(document["novikoff"])} certificate</p>'
    yield f"<h1>{escape(learner)} on {_escape_data(named)}</h1>"
    for text in (
        summary_text.describe_mistakes(report),
        summary_text.describe_bound(report),
        summary_text.format_guarantee(report),
        summary_text.describe_saved_model(report),
    ):
        if text:
            yield f'<p class="question">{escape(text)}</p>'
    yield f"</header>\n{html_page.NO_SCRIPT_NOTICE}"


def _render_tiles(report: ReportData) -> Iterator[str]:
    """The numbers to take away: of the run, and of the saved model only where a theorem is about that hypothesis."""
    yield '<dl class="tiles">'
    for title, number, note in list_tiles(report):
        yield f"<div><dt>{escape(title)}</dt><dd><b>{escape(number)}</b><span>{escape(note)}</span></dd></div>"
    yield "</dl>"


def list_tiles(report: ReportData) -> Iterator[tuple[str, str, str]]:
    """Title, number and note of each tile; title and note say which run or which model the number is about."""
    seen, best = report.document["observed"], summary_text.select_best_bound(report)
    share = (
        f"progressive error of the run: {format_percent(seen['progressive_error'])} of {seen['examples']:,}"
        " predictions."
    )
    yield (
        "Mistakes made while learning",
        format_number(seen["mistakes"]),
        share + summary_text.describe_first_pass(report),
    )
    if best is not None:
        what = f"{str(best['counts']).capitalize()} allowed in this run, at most"
        yield what, format_number(math.floor(float(best["bound"]))), f"by {best['name']}, nothing assumed"
        slack = "–" if best["slack"] is None else f"{summary_text.format_factor(best['slack'])} ×"
        yield "Slack of this run", slack, f"allowed ÷ {_format_made(best)}"
    promised = report.document.get("hypothesis")
    if promised is not None and promised["delta"] is not None and promised["bound"] < 1.0:
        sure = (
            f"{promised['about'].rstrip(',')}: on new data, with confidence {format_percent(1.0 - promised['delta'])},"
        )
        yield (
            "Error of the saved model",
            f"≤ {summary_text.format_upper_percent(promised['bound'])}",
            f"{sure} assuming i.i.d.",
        )


def _format_made(bound: dict[str, Any]) -> str:
    return "none made" if not bound["observed"] else f"{format_number(bound['observed'])} made"


def _render_verdict(report: ReportData) -> Iterator[str]:
    broken = [b for b in report.certificate.bounds if b["verdict"] == "violated"]
    stated = [b for b in report.certificate.bounds if "bound" in b]
    if broken:
        yield '<section class="verdict broken">\n<p>✗ Violated bounds, which is a defect of novikoff:</p>\n<ul>'
        for b in broken:
            yield f"<li>{escape(b['name'])}: {b['observed']:,} observed, bound {format_number(b['bound'])}</li>"
        yield "</ul>\n</section>"
    elif stated:
        which = "1 bound was" if len(stated) == 1 else f"{len(stated)} bounds were"
        yield f'<p class="verdict">✓ {which} measured on this stream, and no bound was violated.</p>'


def _render_mistakes(report: ReportData) -> Iterator[str]:
    description = "Plot of running mistakes against examples, with the bounds. The numbers are in the table of bounds."
    figure = charts.draw_mistakes(report, "plot-0")
    yield from html_page.render_figure(
        0, "Mistakes under their bounds", description, figure, summary_text.mistakes_note(report)
    )


def _render_errors(report: ReportData) -> Iterator[str]:
    if not report.errors.examples:
        return
    description = "Plot of the progressive error, with a confidence band for the mean of the hypotheses used."
    figure = charts.draw_errors(report, "plot-1")
    yield from html_page.render_figure(
        1, "Progressive error of the run", description, figure, summary_text.errors_note(report)
    )


def _render_bounds(report: ReportData) -> Iterator[str]:
    yield "<section>\n<h2>What the theorems allow</h2>"
    if not report.certificate.bounds:
        yield f"<p>{escape(summary_text.describe_bound(report))}</p>\n</section>"
        return
    heads = ("Theorem", "Observed", "Bound", "Slack", "Verdict", "Assumes", "Witness, and what was measured")
    yield '<table class="cards">\n<thead><tr>'
    yield "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    yield "</tr></thead>\n<tbody>"
    for b in report.certificate.bounds:
        cells = [_theorem_cell(b), f"{b['observed']:,} {escape(b['counts'])}", *_verdict_cells(b)]
        yield "<tr>" + "".join(
            f'<td data-head="{escape(head)}"><div>{cell}</div></td>' for head, cell in zip(heads, cells, strict=True)
        )
        yield "</tr>"
    yield "</tbody>\n</table>"
    yield f"<p>{escape(summary_text.build_legend(report))}</p>\n</section>"


def _theorem_cell(bound: dict[str, Any]) -> str:
    order = "for every order of the examples" if bound["any_order"] else "for this order of the examples"
    return f"<b>{escape(bound['name'])}</b><br>{escape(bound['statement'])}<br><small>{order}</small>"


def _verdict_cells(bound: dict[str, Any]) -> list[str]:
    """The cells from `allowed` on."""
    verdict = f"{VERDICT_MARKS.get(bound['verdict'], '')} {escape(bound['verdict'])}"
    if "bound" not in bound:
        return ["–", "–", f"{verdict}: {escape(str(bound.get('reason', '')))}", "–", "–"]
    numbers = ", ".join(
        f"{escape(summary_text.EVIDENCE_SYMBOLS.get(name, name))} ="
        f" {format_number(value) if isinstance(value, int | float) else _format_value(value)}"
        for name, value in bound.get("numbers", {}).items()
        if value is not None
    )
    slack = "–" if bound["slack"] is None else f"{summary_text.format_factor(bound['slack'])} ×"
    witness = f"{_escape_data(bound.get('witness', '–'))}<br>{numbers}"
    return [format_number(bound["bound"]), slack, verdict, escape(str(bound.get("assumes", ""))), witness]


def _render_margins(report: ReportData) -> Iterator[str]:
    both = report.witness_margins, report.learned_margins
    title = "How clearly examples are told apart"
    if both == (None, None):
        why = "There is no weight vector, and no witness, that has margins."
        if report.outcomes in ("columns", "queries"):
            why = "It is made of many decisions; there is no one margin of an example."
        yield f"<section>\n<h2>{title}</h2>\n<p>{why}</p>"
        yield "</section>"
        return
    description = "Histograms of the margins of the witness and of the learned weights."
    note = "y·u·x/‖u‖ is how far an example lies on the right side of u, the bias feature included; hatched bars are"
    if report.outcomes == "preferences":
        note = "(u_a·x − u_b·x)/‖u‖, for the preference a ≻ b of an example that u meets worst; hatched bars are"
    note += (
        f" on the wrong"
        f" side.{_describe_histogram(both[0], 'The witness')}{_describe_histogram(both[1], 'What was learned')}"
    )
    if both[1] is None:
        note += " What was learned is no single weight vector, so it has no such margins."
    else:
        note += " It was learned from these very examples: on new ones it may do worse."
    yield from html_page.render_figure(2, title, description, charts.draw_margins(report, "plot-2"), note)


def _describe_histogram(histogram: Histogram | None, who: str) -> str:
    if histogram is None:
        return ""
    text = f" {who} puts {histogram.wrong:,} of {histogram.examples:,} examples on the wrong side"
    text += f" and {histogram.zero:,} on the boundary" if histogram.zero else ""
    text += f"; margins go from {histogram.least + 0.0:.3g} to {histogram.greatest + 0.0:.3g}.".replace("-", "−")
    left, right = charts.count_outliers(histogram)
    return text + (f" Not drawn: {left:,} further left, {right:,} further right." if left or right else "")


def _render_weights(report: ReportData) -> Iterator[str]:
    title = "What the model looks at"
    if not report.weights:
        why = "All weights are 0." if report.weights is not None else "There is no single weight vector."
        said = f" {_escape_data(report.hypothesis)}" if report.hypothesis else ""
        yield f"<section>\n<h2>{title}</h2>\n<p>{why}{said}</p>\n</section>"
        return
    note = (
        f"The most important of {report.features:,} features. Importance is |weight| × standard deviation of the"
        f" feature, estimated from {report.sampled or 0:,} sampled examples: how much the feature moves the score. The"
        " weight in the table is in the units of the data."
    )
    note += "" if report.intercept is None else f" Intercept: {report.intercept:+.6g}.".replace("-", "−")
    description = "Bars of the importance of features by name; the table below has the same numbers."
    yield from html_page.render_figure(3, title, description, charts.draw_weights(report, "plot-3"), note)
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Importance of features">'
    yield f"<details>\n<summary>The same as a table</summary>\n{scroll}\n<table>\n<thead><tr>"
    many = report.weights[0].speaks_for is not None
    column = '<th scope="col">of</th>' if many else ""
    heads = ("feature", "importance", "weight", "standard deviation")
    yield column + "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead>\n<tbody>"
    for w in report.weights:
        of = f'<td class="name">{_escape_data(w.speaks_for)}</td>' if many else ""
        cells = (_format_or_unknown(w.importance), f"{w.weight:+.6g}", _format_or_unknown(w.std))
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        yield f'<tr>{of}<td class="name">{_escape_data(w.feature)}</td>{row}</tr>'
    yield "</tbody>\n</table>\n</div>\n</details>"


def _format_or_unknown(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.4g}"


def _render_guarantee(report: ReportData) -> Iterator[str]:
    """What is guaranteed of the saved model, where a theorem speaks of that very hypothesis."""
    promised = report.document.get("hypothesis")
    if promised is None:
        return
    yield f"<section>\n<h2>Error of the saved model</h2>\n<p>{escape(promised['sentence'])}</p>"
    facts = {"method": promised["method"], "chosen": promised.get("chosen"), "stop reason": promised.get("stop_reason")}
    if promised["bound"] is not None:
        facts |= {
            "error at most": summary_text.format_upper_percent(promised["bound"])
            if promised["bound"] < 1.0
            else "says nothing"
        }
        facts |= {"confidence": None if promised["delta"] is None else format_percent(1.0 - promised["delta"])}
        facts |= {"formula": promised["statement"], "assumes": promised["assumes"]}
    facts |= {"examples used": format_number(promised["examples_used"])}
    if promised.get("later"):
        later, wrong = promised["later"], promised["later_mistakes"]
        facts["wrong on examples after it was frozen"] = f"{wrong:,} of {later:,} ({format_percent(wrong / later)})"
    yield '<table class="facts">\n<tbody>'
    for name, value in {**facts, **promised["numbers"]}.items():
        if value is not None:
            cell = format_number(value) if isinstance(value, int | float) else escape(str(value))
            yield f'<tr><th scope="row">{escape(str(name))}</th><td>{cell}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _render_new_data(report: ReportData) -> Iterator[str]:
    new = report.document["new_data"]
    if new is None:
        return
    yield "<section>\n<h2>Mean error of the hypotheses used while learning, if i.i.d.</h2>"
    yield f"<p>{escape(summary_text.describe_new_data(report))}</p>\n<table>\n<tbody>"
    for name, title in summary_text.NEW_DATA_TITLES.items():
        number = summary_text.format_upper_percent(new[name]) if new[name] < 1.0 else "says nothing"
        yield f'<tr><th scope="row">{escape(title)}</th><td>{number}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _render_run(report: ReportData) -> Iterator[str]:
    yield '<section>\n<h2>Data, learner, settings</h2>\n<table class="facts">\n<tbody>'
    for name, cell in (*_list_data_facts(report), *_list_learner_facts(report)):
        yield f'<tr><th scope="row">{escape(name)}</th><td>{cell}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _list_data_facts(report: ReportData) -> Iterator[tuple[str, str]]:
    document = report.document
    data = document["data"]
    files = data.get("files", ())
    for title, file in zip(report.titles or [""] * len(files), files, strict=True):
        yield (
            ("file", f"{_escape_data(title)}<br>{_digest_cell(file)}")
            if "sha256" in file
            else ("stream", _escape_data(title))
        )
    if "arrays" in data:
        yield "arrays", _digest_cell(data["arrays"])
    for name, value in (data.get("reading") or {}).items():
        yield f"reading: {name.replace('_', ' ')}", _format_value(value)
    yield "examples", format_number(report.first_pass)
    if report.weighted:
        yield "with a weight other than 1", format_number(report.weighted)
    yield "features", format_number(report.features)
    labels = document["labels"]
    if report.outcomes == "sides" and len(labels) == 2:
        yield "labels", f"−: {_escape_data(labels[0])}<br>+: {_escape_data(labels[1])}"
    elif any(label is not None for label in labels):
        more = f" and {len(labels) - MAX_LABELS_LISTED:,} more" if len(labels) > MAX_LABELS_LISTED else ""
        yield f"{len(labels):,} labels", ", ".join(map(_escape_data, labels[:MAX_LABELS_LISTED])) + more


def _list_learner_facts(report: ReportData) -> Iterator[tuple[str, str]]:
    document = report.document
    yield "learner", _escape_data(document["learner"])
    for name, value in document["settings"].items():
        if name != "passes":
            yield name.replace("_", " "), _format_value(value)
    yield "passes", format_number(document["passes"])
    yield "mistakes", format_number(document["observed"]["mistakes"])
    yield "updates", format_number(document["observed"]["updates"])
    yield "model", f"<small>sha256</small> <code>{escape(str(document['model']))}</code>"


def _digest_cell(file: dict[str, Any]) -> str:
    return f"<small>sha256</small> <code>{escape(str(file['sha256']))}</code>"


def _format_value(value: Any) -> str:
    return _escape_data(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _render_verification(report: ReportData) -> Iterator[str]:
    yield "<section>\n<h2>How to check it</h2>"
    link = html_page.render_save_link("Save the certificate", CERTIFICATE_FILE_NAME)
    yield f"<p>{link}, bring the same data, and have everything recomputed; nothing in the file is believed:</p>"
    if report.titles:
        command = f"novikoff verify {CERTIFICATE_FILE_NAME} {' '.join(map(shlex.quote, report.titles))}"
    else:
        more = ", qid=qid" if report.outcomes == "queries" else ""
        command = f"novikoff.verify(json.load(open({CERTIFICATE_FILE_NAME!r})), X, y{more})  # [] where all is right"
    yield f"<pre><code>{escape(command)}</code></pre>"
    yield "<details>\n<summary>The certificate as JSON</summary>"
    yield f"<pre>{escape(_shorten_document(report.certificate.document))}</pre>\n</details>\n</section>"


def _shorten_document(document: dict[str, Any]) -> str:
    """As people read it: long texts, which are witnesses, cut short; the saved file has all of them."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cut(part) for name, part in value.items()}
        if isinstance(value, list):
            return [cut(part) for part in value]
        return f"{value[:60]}… ({len(value):,} letters)" if isinstance(value, str) and len(value) > 120 else value

    return json.dumps(cut(document), ensure_ascii=False, indent=1)
