"""Draw one picture for the page of each learner, with the learner itself.

To add one, write a function in a module of this folder with the name of the page and the decorator `@picture`. It
learns a small stream and returns a plot and a caption. The same code gives the same bytes.
"""

from __future__ import annotations

from html import escape
from importlib import import_module

from docs.builder.pictures.shared import PICTURES

for module in ("two_classes", "many_outcomes", "ensembles"):
    import_module(f"{__name__}.{module}")


def render_figure(name: str) -> str:
    """Return the HTML figure for the page of this name."""
    plot, says = PICTURES[name]()
    return f'<figure class="picture">{plot.svg(says)}<figcaption>{escape(says)}</figcaption></figure>\n'
