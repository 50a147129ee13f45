"""The API page at /docs: one HTML file, rendered from the OpenAPI document, without scripts or other files."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

PAGE_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f3f3f3; }
pre { padding: .6rem; overflow: auto; } summary { cursor: pointer; padding: .4rem 0; }
details { border-top: 1px solid #ddd; } table { border-collapse: collapse; } td { padding: .1rem .8rem .1rem 0; }
.method { display: inline-block; min-width: 4.5rem; font-weight: bold; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(PAGE_STYLE.encode()).digest()).decode()
DOCS_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of the page: it allows only the page's own style."""


def render_docs(document: dict[str, Any]) -> bytes:
    """Return the page for an OpenAPI document.

    >>> from novikoff.server.http.openapi import build_document
    >>> b"/v1/models/{name}/predict" in render_docs(build_document())
    True
    """
    info = document["info"]
    operations = "".join(
        _render_operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    schemas = "".join(
        f'<details id="{escape(name)}"><summary><code>{escape(name)}</code> {escape(schema.get("description", ""))}'
        f"</summary>{_render_json(schema)}</details>"
        for name, schema in document["components"]["schemas"].items()
    )
    tokens = escape(document["components"]["securitySchemes"]["bearer"]["description"])
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{PAGE_STYLE}</style>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['summary'])}</p>"
        f"<p>{tokens} Errors are problem details (RFC 9457) with a stable <code>code</code>. Machine-readable:"
        f' <a href="v1/openapi.json">OpenAPI document</a>.</p><h2>Operations</h2>{operations}'
        f"<h2>Bodies</h2>{schemas}</html>"
    ).encode()


def _render_operation(path: str, method: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(one['name'])}</code><td>{one['in']}<td>{escape(one.get('description', ''))}"
        for one in operation.get("parameters", ())
    )
    statuses = "".join(
        f"<tr><td>{status}<td>{escape(response['description'])}<td>{_render_content(response.get('content', {}))}"
        for status, response in operation["responses"].items()
    )
    body = _render_content(operation.get("requestBody", {}).get("content", {}))
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code>'
        f" {escape(operation['summary'])}</summary><p>{escape(operation.get('description', ''))}</p>"
        + (f"<p>Body: {body}</p>" if body else "")
        + (f"<table>{parameters}</table>" if parameters else "")
        + f"<table>{statuses}</table></details>"
    )


def _render_content(content: dict[str, Any]) -> str:
    """Return the media types with links to the schemas of their bodies."""
    return ", ".join(
        f"<code>{escape(media)}</code>{_render_links(about['schema'])}" for media, about in content.items()
    )


def _render_links(schema: dict[str, Any]) -> str:
    schema = schema.get("contentSchema", schema)
    names = [one["$ref"].rpartition("/")[2] for one in schema.get("anyOf", [schema]) if "$ref" in one]
    return "".join(f' <a href="#{escape(name)}">{escape(name)}</a>' for name in names)


def _render_json(schema: dict[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(schema, indent=2))}</pre>"
