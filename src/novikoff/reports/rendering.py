"""Render report pages from the Jinja2 templates in `templates/`."""

from __future__ import annotations

import json
import shlex
from functools import cache
from typing import Any

from novikoff.errors import import_optional
from novikoff.reports import plot_theme
from novikoff.reports.formatting import format_count, format_error_bound, format_number, format_percent, format_slack


def render_page(template: str, numbers: str, values: dict[str, Any], *, package: str = "novikoff.reports") -> str:
    """Render a template of `package` with `values`, and embed the JSON text `numbers`."""
    text: str = (
        _load_environment(package)
        .get_template(template)
        .render(values, numbers=numbers.replace("<", "\\u003c"), plotly_script=plot_theme.plotly_script())
    )
    return text.encode("utf-8", "replace").decode()  # names from data may contain lone surrogates


@cache
def _load_environment(package: str) -> Any:
    jinja2 = import_optional("jinja2", "report", "A report")
    packages = dict.fromkeys((package, "novikoff.reports"))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in packages]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "count": format_count,
        "error_bound": format_error_bound,
        "number": format_number,
        "percent": format_percent,
        "plain": _format_setting,
        "shell_quote": shlex.quote,
        "slack": format_slack,
        "thousands": "{:,}".format,
    }
    return environment


def _format_setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
