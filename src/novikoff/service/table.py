"""From the path of a request to its route, by look-ups alone. Who asks for what is not here gets no further: what the
gate did not find, no other reading of the path can find behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from novikoff.service import page
from novikoff.service.routes import Route

OPEN = {
    "/": "page",
    **{f"/{name}": "page" for name in page.FILES},
    "/healthz": "healthz",
    "/readyz": "readyz",
    "/v1/openapi.json": "openapi",
}
"""Paths that are open to everybody, and what they count as."""


class Found(NamedTuple):
    """What is known about a route before any request."""

    name: str
    scope: str | None
    """None: open to everybody."""
    route: Route | None
    media: dict[bytes, str]
    """Content-Type as it comes → media type."""
    private: bool
    """Whether answers must not be kept by browsers and proxies."""


class Table:
    """Methods and paths → what is found there."""

    def __init__(self, routes: Iterable[Route], pages: dict[str, str]) -> None:
        self._exact: dict[str, dict[str, Found]] = {}
        self._holes: dict[int, set[int]] = {}
        """Number of segments → where a name may stand."""
        self._with_hole: dict[str, dict[str, Found]] = {}
        for path, name in pages.items():
            found = Found(name, None, None, {}, path.startswith("/v1/"))
            self._exact[path] = {"GET": found, "HEAD": found}
        for route in routes:
            found = Found(route.name, route.scope, route, _spellings(route.takes), True)
            parts = route.path.split("/")
            holes = [k for k, part in enumerate(parts) if part.startswith("{")]
            if len(holes) > 1:
                raise ValueError(f"{route.path} must have at most one name in it.")
            if holes:
                self._holes.setdefault(len(parts), set()).add(holes[0])
                parts[holes[0]] = ""
            methods = (self._with_hole if holes else self._exact).setdefault("/".join(parts), {})
            methods[route.method] = found
            if route.method == "GET":
                methods["HEAD"] = found

    def find(self, path: str) -> tuple[dict[str, Found], str | None]:
        """The methods of a path, none where there is no such path, and the name in it."""
        methods = self._exact.get(path)
        if methods is not None:
            return methods, None
        parts = path.split("/")
        for hole in self._holes.get(len(parts), ()):
            name = parts[hole]
            if name:
                parts[hole] = ""
                methods = self._with_hole.get("/".join(parts))
                if methods is not None:
                    return methods, name
                parts[hole] = name
        return {}, None


def _spellings(takes: Iterable[str]) -> dict[bytes, str]:
    """The ways in which clients usually write a media type: others are read letter by letter."""
    plain = {media.encode(): media for media in takes}
    return plain | {f"{media}{end}".encode(): media for media in takes for end in ("; charset=utf-8", ";charset=utf-8")}


def media_type(header: bytes, takes: Iterable[str]) -> str | None:
    """The media type of a Content-Type header, if it is one of those taken. Text is UTF-8 and nothing else.

    >>> from novikoff.service.routes import JSON, NDJSON
    >>> media_type(b'Application/JSON ; charset="UTF-8"', [JSON, NDJSON])
    'application/json'
    >>> media_type(b"application/json; charset=utf-16", [JSON])
    """
    kind, *parameters = header.decode("latin-1").lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name == "charset" and value.strip('"') not in {"utf-8", "utf8", "us-ascii"}:
            return None
    return next((media for media in takes if media == kind.strip()), None)
