"""Store measurements as JSON with every round, and as Markdown."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Entry, Failed, Limit, Row, Slope

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("novikoff", "numpy", "numba", "scikit-learn", "river", "vowpalwabbit", "liblinear-official", "polars")
KINDS: dict[str, type[Entry]] = {kind.__name__: kind for kind in (Row, Limit, Slope, Failed)}


class Table(NamedTuple):
    name: str
    heading: str
    left: str
    right: str
    rows: Sequence[Entry]
    on: dict[str, str]  # machine, date, load and versions


def describe_machine() -> dict[str, str]:
    """Return the machine in general terms, the date, the load and the versions."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    versions = (f"{name} {_version(name)}" for name in PACKAGES)
    return {
        "machine": f"{model}, {os.cpu_count()} processors, {platform.system()}, Python {platform.python_version()}",
        "date": time.strftime("%Y-%m-%d"),
        "load": f"{os.getloadavg()[0]:.1f}",
        "versions": ", ".join(versions),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


# --- JSON ---


def encode_tables(tables: Sequence[Table]) -> str:
    return json.dumps([_as_dict(table) for table in tables], indent=1, ensure_ascii=False)


def decode_tables(text: str) -> list[Table]:
    """Decode tables that `encode_tables` has encoded."""
    return [Table(**{**each, "rows": [_entry(row) for row in each["rows"]]}) for each in json.loads(text)]


def _as_dict(table: Table) -> dict[str, Any]:
    return {**table._asdict(), "rows": [{"kind": type(row).__name__, **row._asdict()} for row in table.rows]}


def _entry(fields: dict[str, Any]) -> Entry:
    fields = {name: _tuples(value) for name, value in fields.items()}
    return KINDS[fields.pop("kind")](**fields)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


# --- Markdown ---


def describe_conditions(table: Table) -> str:
    return f"Measured {table.on['date']}: {table.on['machine']}, load before it {table.on['load']}."


def render_markdown(tables: Sequence[Table]) -> str:
    return "\n".join(line for table in tables for line in _lines(table)) + "\n"


def _lines(table: Table) -> Iterator[str]:
    yield f"## {table.heading}\n"
    yield f"{describe_conditions(table)}\n"
    yield f"| | {table.left} | {table.right} | found | of the rounds | target | |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for row in table.rows:
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row.cells())} |"
    yield ""


def load_tables(folder: Path = RESULTS) -> list[Table]:
    file = folder / "speed.json"
    return decode_tables(file.read_text()) if file.exists() else []


def save_tables(tables: Sequence[Table], folder: Path = RESULTS) -> None:
    """Write the numbers, the tables and the page."""
    from benchmarks.page import render_results

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speed.json").write_text(encode_tables(tables))
    (folder / "speed.md").write_text(render_markdown(tables))
    (folder / "speed.html").write_text(render_results(tables))
