"""The dashboard: static files, which know nothing; what they show they ask the server for.

No file needs a build, another server, or anything inside a tag that a strict policy would forbid.
"""

from __future__ import annotations

from importlib.resources import files

DASHBOARD_FILES = (
    "index.html",
    "style.css",
    "page.js",
    "api.js",
    "certify.js",
    "chart.js",
    "chosen.js",
    "curve.js",
    "elements.js",
    "forms.js",
    "list.js",
    "live.js",
    "words.js",
)
"""Each is served under its own name, the first one also as /."""

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy that the page lives under."""


def read_dashboard_file(name: str) -> tuple[bytes, str]:
    """A file's bytes and media type; KeyError where there is none of that name.

    >>> read_dashboard_file("page.js")[1]
    'text/javascript; charset=utf-8'
    """
    if name not in DASHBOARD_FILES:
        raise KeyError(name)
    return files(__name__).joinpath(name).read_bytes(), MEDIA_TYPES[name.rpartition(".")[2]]
