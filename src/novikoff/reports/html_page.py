"""What all pages share: one HTML file that needs nothing else, whose own policy forbids it to load anything."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from novikoff.reports import plot_theme
from novikoff.reports.style import PAGE_CSS

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
)
SAVE_SCRIPT = """\
const numbers = document.getElementById("numbers").textContent;
document.getElementById("save").href = URL.createObjectURL(new Blob([numbers], {type: "application/json"}));
"""
NO_SCRIPT_NOTICE = "<noscript><p>The plots need JavaScript, which is in this file; the tables do not.</p></noscript>"


def render_head(title: str) -> Iterator[str]:
    """From the first letter of the page to the beginning of what is read."""
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>\n{PAGE_CSS}</style>\n<script>{plot_theme.plotly_script()}</script>\n</head>\n<body>\n<main>"


def render_figure(number: int, title: str, description: str, figure: str, note: str) -> Iterator[str]:
    """A drawing with its title, what it shows for those who can't see it, and a caption; all but `drawn` are plain."""
    yield f'<figure aria-labelledby="title-{number}">\n<h2 id="title-{number}">{escape(title)}</h2>'
    yield f'<div class="plot" role="img" aria-label="{escape(description)}">'
    yield figure
    yield f"</div>\n<figcaption>{escape(note)}</figcaption>\n</figure>"


def render_save_link(text: str, name: str) -> str:
    """The link that saves the embedded numbers as a file of this name."""
    return f'<a id="save" href="#numbers" download="{escape(name)}">{escape(text)}</a>'


def render_foot(numbers: str) -> Iterator[str]:
    """The numbers, a JSON text, and the end of the page."""
    inside = numbers.replace("<", "\\u003c")
    yield f'<script type="application/json" id="numbers">{inside}</script>\n<script>{SAVE_SCRIPT}</script>'
    yield "</main>\n</body>\n</html>\n"
