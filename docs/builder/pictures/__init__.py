"""One picture for each learner's page, drawn by the learner itself.

A new one is a function in a module of this folder, with the name of the page and `@picture` before it. It learns a
small stream and gives a plot and a sentence. The same code gives the same bytes.
"""

from __future__ import annotations

from html import escape
from importlib import import_module

from docs.builder.pictures.shared import PICTURES

for module in ("two_classes", "many_outcomes", "ensembles"):
    import_module(f"{__name__}.{module}")


def figure(name: str) -> str:
    """A piece of HTML for the page of this name."""
    plot, says = PICTURES[name]()
    return f'<figure class="picture">{plot.svg(says)}<figcaption>{escape(says)}</figcaption></figure>\n'
