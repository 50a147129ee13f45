"""`python -m benchmarks.publish`: write the tables of `benchmarks/results` into docs/, between the markers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tables import RESULTS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"benchmarks.md": "speed.md", "accuracy.md": "accuracy.md"}
BEGIN, END = "<!-- tables: made by python -m benchmarks.publish -->", "<!-- end of the tables -->"


def insert_tables(page: str, tables: str) -> str:
    """Return the page with these tables between its markers.

    >>> inserted(f"before\\n{BEGIN}\\nold\\n{END}\\nafter\\n", "new\\n").splitlines()[2:5]
    ['', 'new', '']
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "the page has no markers"
    assert end, "the tables of the page have no end"
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{after}"


def main() -> None:
    for page, tables in PAGES.items():
        made = RESULTS / tables
        if made.exists():
            (DOCS / page).write_text(insert_tables((DOCS / page).read_text(), made.read_text()))
            print(f"{DOCS / page}: the tables of {made}")


if __name__ == "__main__":
    main()
