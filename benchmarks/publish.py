"""`python -m benchmarks.publish`: puts the tables of `benchmarks/results` into docs/, between the marks there."""

from __future__ import annotations

from pathlib import Path

from benchmarks.tables import RESULTS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {"benchmarks.md": "speed.md", "accuracy.md": "accuracy.md"}
BEGIN, END = "<!-- tables: made by python -m benchmarks.publish -->", "<!-- end of the tables -->"


def inserted(page: str, tables: str) -> str:
    """The page with these tables between its marks.

    >>> inserted(f"before\\n{BEGIN}\\nold\\n{END}\\nafter\\n", "new\\n").splitlines()[2:5]
    ['', 'new', '']
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin, "the page has no marks"
    assert end, "the tables of the page have no end"
    return f"{before}{BEGIN}\n\n{tables.strip()}\n\n{END}{after}"


def main() -> None:
    for page, tables in PAGES.items():
        made = RESULTS / tables
        if made.exists():
            (DOCS / page).write_text(inserted((DOCS / page).read_text(), made.read_text()))
            print(f"{DOCS / page}: the tables of {made}")


if __name__ == "__main__":
    main()
