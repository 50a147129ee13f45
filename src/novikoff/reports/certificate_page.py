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
from novikoff.reports.report_data import Account
from novikoff.reports.formatting import shown
from novikoff.reports.summary_text import percent

FILE = "certificate.json"
MOST_LABELS = 50  # that are listed
MARKS = {"holds": "✓", "broken": "✗", "not applicable": "–"}


def page(account: Account) -> str:
    parts = [*_head(account), *_tiles(account), *_broken(account), *_mistakes(account), *_errors(account)]
    parts += [*_bounds(account), *_margins(account), *_weights(account), *_promised(account), *_new_data(account)]
    text = "\n".join([*parts, *_run(account), *_verifying(account), *html_page.foot(account.certificate.as_json())])
    return text.encode("utf-8", "replace").decode()  # a name may hold what UTF-8 can't


def _data(text: Any) -> str:
    """A text from data: shown letter by letter, whatever its script, and kept from reordering what stands beside it."""
    return f"<bdi>{escape(str(text))}</bdi>"


def _head(account: Account) -> Iterator[str]:
    document = account.document
    some = [*account.titles[:3], *(["…"] if len(account.titles) > 3 else [])]
    named = ", ".join(some) or "arrays"
    learner = summary_text.capital(document["learner"])
    yield from html_page.head(f"{learner} on {named} – novikoff certificate")
    yield f'<header>\n<p class="lab">novikoff {escape(document["novikoff"])} certificate</p>'
    yield f"<h1>{escape(learner)} on {_data(named)}</h1>"
    for text in (summary_text.made(account), summary_text.allowed(account), summary_text.promised(account), summary_text.saved_model(account)):
        if text:
            yield f'<p class="question">{escape(text)}</p>'
    yield f"</header>\n{html_page.NO_SCRIPT}"


def _tiles(account: Account) -> Iterator[str]:
    """The numbers to take away: of the run, and of the saved model only where a theorem is about that hypothesis."""
    yield '<dl class="tiles">'
    for title, number, note in tiles(account):
        yield f"<div><dt>{escape(title)}</dt><dd><b>{escape(number)}</b><span>{escape(note)}</span></dd></div>"
    yield "</dl>"


def tiles(account: Account) -> Iterator[tuple[str, str, str]]:
    """Title, number and note of each tile; title and note say which run or which model the number is about."""
    seen, best = account.document["observed"], summary_text.best_bound(account)
    share = f"progressive error of the run: {percent(seen['progressive_error'])} of {seen['examples']:,} predictions."
    yield "Mistakes made while learning", shown(seen["mistakes"]), share + summary_text.first_pass(account)
    if best is not None:
        what = f"{str(best['counts']).capitalize()} allowed in this run, at most"
        yield what, shown(math.floor(float(best["allowed"]))), f"by {best['name']}, nothing assumed"
        slack = "–" if best["slack"] is None else f"{summary_text.times(best['slack'])} ×"
        yield "Slack of this run", slack, f"allowed ÷ {_count_made(best)}"
    promised = account.document.get("hypothesis")
    if promised is not None and promised["delta"] is not None and promised["bound"] < 1.0:
        sure = f"{promised['about'].rstrip(',')}: on new data, with confidence {percent(1.0 - promised['delta'])},"
        yield "Error of the saved model", f"≤ {summary_text.at_most(promised['bound'])}", f"{sure} assuming i.i.d."


def _count_made(bound: dict[str, Any]) -> str:
    return "none made" if not bound["made"] else f"{shown(bound['made'])} made"


def _broken(account: Account) -> Iterator[str]:
    broken = [b for b in account.certificate.bounds if b["verdict"] == "broken"]
    stated = [b for b in account.certificate.bounds if "allowed" in b]
    if broken:
        yield '<section class="verdict broken">\n<p>✗ Bounds that were broken, which is a defect of novikoff:</p>\n<ul>'
        for b in broken:
            yield f"<li>{escape(b['name'])}: {b['made']:,} made, {shown(b['allowed'])} allowed</li>"
        yield "</ul>\n</section>"
    elif stated:
        which = "1 bound was" if len(stated) == 1 else f"{len(stated)} bounds were"
        yield f'<p class="verdict">✓ {which} measured on this stream, and no bound was broken.</p>'


def _mistakes(account: Account) -> Iterator[str]:
    described = "Plot of running mistakes against examples, with the bounds. The numbers are in the table of bounds."
    drawn = charts.mistakes(account, "plot-0")
    yield from html_page.plot(0, "Mistakes under their bounds", described, drawn, summary_text.mistakes_note(account))


def _errors(account: Account) -> Iterator[str]:
    if not account.errors.examples:
        return
    described = "Plot of the progressive error, with a confidence band for the mean of the hypotheses used."
    drawn = charts.errors(account, "plot-1")
    yield from html_page.plot(1, "Progressive error of the run", described, drawn, summary_text.errors_note(account))


def _bounds(account: Account) -> Iterator[str]:
    yield "<section>\n<h2>What the theorems allow</h2>"
    if not account.certificate.bounds:
        yield f"<p>{escape(summary_text.allowed(account))}</p>\n</section>"
        return
    heads = ("Theorem", "Made", "Allowed", "Slack", "Verdict", "Assumes", "Witness, and what was measured")
    yield '<table class="cards">\n<thead><tr>'
    yield "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    yield "</tr></thead>\n<tbody>"
    for b in account.certificate.bounds:
        cells = [_theorem(b), f"{b['made']:,} {escape(b['counts'])}", *_judged(b)]
        yield "<tr>" + "".join(
            f'<td data-head="{escape(head)}"><div>{cell}</div></td>' for head, cell in zip(heads, cells, strict=True)
        )
        yield "</tr>"
    yield "</tbody>\n</table>"
    yield f"<p>{escape(summary_text.legend(account))}</p>\n</section>"


def _theorem(bound: dict[str, Any]) -> str:
    order = "for every order of the examples" if bound["any_order"] else "for this order of the examples"
    return f"<b>{escape(bound['name'])}</b><br>{escape(bound['statement'])}<br><small>{order}</small>"


def _judged(bound: dict[str, Any]) -> list[str]:
    """The cells from `allowed` on."""
    verdict = f"{MARKS.get(bound['verdict'], '')} {escape(bound['verdict'])}"
    if "allowed" not in bound:
        return ["–", "–", f"{verdict}: {escape(str(bound.get('why', '')))}", "–", "–"]
    numbers = ", ".join(
        f"{escape(summary_text.NUMBERS.get(name, name))} = {shown(value) if isinstance(value, int | float) else _value(value)}"
        for name, value in bound.get("numbers", {}).items()
        if value is not None
    )
    slack = "–" if bound["slack"] is None else f"{summary_text.times(bound['slack'])} ×"
    witness = f"{_data(bound.get('witness', '–'))}<br>{numbers}"
    return [shown(bound["allowed"]), slack, verdict, escape(str(bound.get("assumes", ""))), witness]


def _margins(account: Account) -> Iterator[str]:
    both = account.witness_margins, account.learned_margins
    title = "How clearly examples are told apart"
    if both == (None, None):
        why = "There is no weight vector, and no witness, that has margins."
        if account.outcomes in ("columns", "queries"):
            why = "It is made of many decisions; there is no one margin of an example."
        yield f"<section>\n<h2>{title}</h2>\n<p>{why}</p>"
        yield "</section>"
        return
    described = "Histograms of the margins of the witness and of the learned weights."
    note = "y·u·x/‖u‖ is how far an example lies on the right side of u, the bias feature included; hatched bars are"
    if account.outcomes == "preferences":
        note = "(u_a·x − u_b·x)/‖u‖, for the preference a ≻ b of an example that u meets worst; hatched bars are"
    note += f" on the wrong side.{_told(both[0], 'The witness')}{_told(both[1], 'What was learned')}"
    if both[1] is None:
        note += " What was learned is no single weight vector, so it has no such margins."
    else:
        note += " It was learned from these very examples: on new ones it may do worse."
    yield from html_page.plot(2, title, described, charts.margins(account, "plot-2"), note)


def _told(histogram: Histogram | None, who: str) -> str:
    if histogram is None:
        return ""
    text = f" {who} puts {histogram.wrong:,} of {histogram.examples:,} examples on the wrong side"
    text += f" and {histogram.zero:,} on the boundary" if histogram.zero else ""
    text += f"; margins go from {histogram.least + 0.0:.3g} to {histogram.greatest + 0.0:.3g}.".replace("-", "−")
    left, right = charts.beyond(histogram)
    return text + (f" Not drawn: {left:,} further left, {right:,} further right." if left or right else "")


def _weights(account: Account) -> Iterator[str]:
    title = "What the model looks at"
    if not account.weights:
        why = "All weights are 0." if account.weights is not None else "There is no single weight vector."
        said = f" {_data(account.hypothesis)}" if account.hypothesis else ""
        yield f"<section>\n<h2>{title}</h2>\n<p>{why}{said}</p>\n</section>"
        return
    note = (
        f"The most important of {account.features:,} features. Importance is |weight| × standard deviation of the"
        f" feature, estimated from {account.sampled or 0:,} sampled examples: how much the feature moves the score. The"
        " weight in the table is in the units of the data."
    )
    note += "" if account.intercept is None else f" Intercept: {account.intercept:+.6g}.".replace("-", "−")
    described = "Bars of the importance of features by name; the table below has the same numbers."
    yield from html_page.plot(3, title, described, charts.weights(account, "plot-3"), note)
    scroll = '<div class="scroll" tabindex="0" role="region" aria-label="Importance of features">'
    yield f"<details>\n<summary>The same as a table</summary>\n{scroll}\n<table>\n<thead><tr>"
    many = account.weights[0].speaks_for is not None
    column = '<th scope="col">of</th>' if many else ""
    heads = ("feature", "importance", "weight", "standard deviation")
    yield column + "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead>\n<tbody>"
    for w in account.weights:
        of = f'<td class="name">{_data(w.speaks_for)}</td>' if many else ""
        cells = (_known(w.importance), f"{w.weight:+.6g}", _known(w.std))
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        yield f'<tr>{of}<td class="name">{_data(w.feature)}</td>{row}</tr>'
    yield "</tbody>\n</table>\n</div>\n</details>"


def _known(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.4g}"


def _promised(account: Account) -> Iterator[str]:
    """What is guaranteed of the saved model, where a theorem speaks of that very hypothesis."""
    promised = account.document.get("hypothesis")
    if promised is None:
        return
    yield f"<section>\n<h2>Error of the saved model</h2>\n<p>{escape(promised['sentence'])}</p>"
    facts = {"method": promised["method"], "chosen": promised.get("chosen"), "why": promised.get("why")}
    if promised["bound"] is not None:
        facts |= {"error at most": summary_text.at_most(promised["bound"]) if promised["bound"] < 1.0 else "says nothing"}
        facts |= {"confidence": None if promised["delta"] is None else percent(1.0 - promised["delta"])}
        facts |= {"formula": promised["statement"], "assumes": promised["assumes"]}
    facts |= {"examples used": shown(promised["examples_used"])}
    if promised.get("later"):
        later, wrong = promised["later"], promised["later_mistakes"]
        facts["wrong on examples after it was frozen"] = f"{wrong:,} of {later:,} ({percent(wrong / later)})"
    yield '<table class="facts">\n<tbody>'
    for name, value in {**facts, **promised["numbers"]}.items():
        if value is not None:
            cell = shown(value) if isinstance(value, int | float) else escape(str(value))
            yield f'<tr><th scope="row">{escape(str(name))}</th><td>{cell}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _new_data(account: Account) -> Iterator[str]:
    new = account.document["new_data"]
    if new is None:
        return
    yield "<section>\n<h2>Mean error of the hypotheses used while learning, if i.i.d.</h2>"
    yield f"<p>{escape(summary_text.new_data(account))}</p>\n<table>\n<tbody>"
    for name, title in summary_text.NEW_DATA.items():
        number = summary_text.at_most(new[name]) if new[name] < 1.0 else "says nothing"
        yield f'<tr><th scope="row">{escape(title)}</th><td>{number}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _run(account: Account) -> Iterator[str]:
    yield '<section>\n<h2>Data, learner, settings</h2>\n<table class="facts">\n<tbody>'
    for name, cell in (*_data_facts(account), *_learner_facts(account)):
        yield f'<tr><th scope="row">{escape(name)}</th><td>{cell}</td></tr>'
    yield "</tbody>\n</table>\n</section>"


def _data_facts(account: Account) -> Iterator[tuple[str, str]]:
    document = account.document
    data = document["data"]
    files = data.get("files", ())
    for title, file in zip(account.titles or [""] * len(files), files, strict=True):
        yield ("file", f"{_data(title)}<br>{_digest(file)}") if "sha256" in file else ("stream", _data(title))
    if "arrays" in data:
        yield "arrays", _digest(data["arrays"])
    for name, value in (data.get("reading") or {}).items():
        yield f"reading: {name.replace('_', ' ')}", _value(value)
    yield "examples", shown(account.first_pass)
    if account.weighted:
        yield "with a weight other than 1", shown(account.weighted)
    yield "features", shown(account.features)
    labels = document["labels"]
    if account.outcomes == "sides" and len(labels) == 2:
        yield "labels", f"−: {_data(labels[0])}<br>+: {_data(labels[1])}"
    elif any(label is not None for label in labels):
        more = f" and {len(labels) - MOST_LABELS:,} more" if len(labels) > MOST_LABELS else ""
        yield f"{len(labels):,} labels", ", ".join(map(_data, labels[:MOST_LABELS])) + more


def _learner_facts(account: Account) -> Iterator[tuple[str, str]]:
    document = account.document
    yield "learner", _data(document["learner"])
    for name, value in document["settings"].items():
        if name != "passes":
            yield name.replace("_", " "), _value(value)
    yield "passes", shown(document["passes"])
    yield "mistakes", shown(document["observed"]["mistakes"])
    yield "updates", shown(document["observed"]["updates"])
    yield "model", f"<small>sha256</small> <code>{escape(str(document['model']))}</code>"


def _digest(file: dict[str, Any]) -> str:
    return f"<small>sha256</small> <code>{escape(str(file['sha256']))}</code>"


def _value(value: Any) -> str:
    return _data(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _verifying(account: Account) -> Iterator[str]:
    yield "<section>\n<h2>How to check it</h2>"
    link = html_page.link("Save the certificate", FILE)
    yield f"<p>{link}, bring the same data, and have everything recomputed; nothing in the file is believed:</p>"
    if account.titles:
        command = f"novikoff verify {FILE} {' '.join(map(shlex.quote, account.titles))}"
    else:
        more = ", qid=qid" if account.outcomes == "queries" else ""
        command = f"novikoff.verify(json.load(open({FILE!r})), X, y{more})  # [] where all is right"
    yield f"<pre><code>{escape(command)}</code></pre>"
    yield "<details>\n<summary>The certificate as JSON</summary>"
    yield f"<pre>{escape(_short(account.certificate.document))}</pre>\n</details>\n</section>"


def _short(document: dict[str, Any]) -> str:
    """As people read it: long texts, which are witnesses, cut short; the saved file has all of them."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cut(part) for name, part in value.items()}
        if isinstance(value, list):
            return [cut(part) for part in value]
        return f"{value[:60]}… ({len(value):,} letters)" if isinstance(value, str) and len(value) > 120 else value

    return json.dumps(cut(document), ensure_ascii=False, indent=1)
