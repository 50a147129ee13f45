"""The dashboard: static files that get all of their data from the API.

The files need no build step and no other server, and work under a strict Content-Security-Policy.
"""

from __future__ import annotations

from importlib.resources import files

from novikoff import learner_registry

DASHBOARD_FILES = (
    "index.html",
    "style.css",
    "page.js",
    "api.js",
    "certify.js",
    "chart.js",
    "curve.js",
    "dom.js",
    "events.js",
    "explain.js",
    "forms.js",
    "list.js",
    "model_view.js",
    "text.js",
)
"""Each file is served under its own name, the first one also as /."""

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
PAGE = DASHBOARD_FILES[0]
LEARNER_LIST = b'<datalist id="learners">'
"""The list of names that the form for a new model suggests."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of the page."""


def read_dashboard_file(name: str) -> tuple[bytes, str]:
    """Return the content and the media type of a file; raise KeyError for an unknown name.

    >>> read_dashboard_file("page.js")[1]
    'text/javascript; charset=utf-8'
    """
    if name not in DASHBOARD_FILES:
        raise KeyError(name)
    content = files(__name__).joinpath(name).read_bytes()
    return _suggest_learners(content) if name == PAGE else content, MEDIA_TYPES[name.rpartition(".")[2]]


def _suggest_learners(page: bytes) -> bytes:
    """Return the page with the names of all learners in the list of suggestions, which has schemes already."""
    options = "".join(f'<option value="{name}"></option>' for name in learner_registry.names())
    return page.replace(LEARNER_LIST, LEARNER_LIST + options.encode())
