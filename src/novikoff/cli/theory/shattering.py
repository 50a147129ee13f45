"""`novikoff theory shatter | growth | dimension`: computed on points, or on a table of a finite class."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

from novikoff.cli.output.model_output import check_writable
from novikoff.cli.theory.common import add_topic, print_answer
from novikoff.errors import InputError

CLASS_NAMES = ("half-lines", "intervals", "half-spaces", "rectangles")
SHATTER_EXAMPLES = """\
  novikoff theory shatter half-spaces --points "0,0 1,0 0,1"
  novikoff theory shatter half-spaces --points "0,0 1,0 0,1 1,1" --plot square.html
  novikoff theory shatter rectangles --points "1,0 -1,0 0,1 0,-1"
  novikoff theory shatter intervals --points "1 2 3" --json
"""
GROWTH_EXAMPLES = """\
  novikoff theory growth half-spaces --points "0,0 1,0 0,1 1,1 2,3"
  novikoff theory growth intervals --points "1 2 3 4"
"""
DIMENSION_EXAMPLES = """\
  novikoff theory dimension --rows "000 010 110 100"
  novikoff theory dimension --from table.txt
"""


def add_topics(topics: Any) -> None:
    about = "whether a class shatters points: a set for every labelling, or a labelling without one"
    parser = add_topic(topics, "shatter", about, _answer_shatter, SHATTER_EXAMPLES)
    _add_points(parser)
    parser.add_argument("--plot", metavar="FILE.html", help="draw the labellings of points in the plane as a page")
    about = "the number of labellings of points by a class, and the VC dimension on them"
    _add_points(add_topic(topics, "growth", about, _answer_growth, GROWTH_EXAMPLES))
    about = "the VC dimension of a finite class: a row for each hypothesis, 0 or 1 for each element"
    parser = add_topic(topics, "dimension", about, _answer_dimension, DIMENSION_EXAMPLES)
    parser.add_argument("--rows", metavar="ROWS", help='rows such as "000 010 110 100"')
    parser.add_argument("--from", dest="file", metavar="FILE", help="file with one row per line, instead of --rows")


def _add_points(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("concepts", metavar="CLASS", choices=CLASS_NAMES, help=", ".join(CLASS_NAMES))
    parser.add_argument("--points", metavar="POINTS", help='points such as "0,0 1,0 1/3,0.5", used exactly')
    parser.add_argument("--from", dest="file", metavar="FILE", help="file with one point per line, instead of --points")


def _read_words(options: argparse.Namespace, given: str | None, what: str) -> list[str]:
    if (given is None) == (options.file is None):
        raise InputError(f"Give {what.lower()} once: by --{what.lower()}, or by --from FILE.")
    if given is not None:
        return given.replace(";", " ").split()
    try:
        text = Path(options.file).read_text()
    except UnicodeDecodeError:
        raise InputError(f"{options.file}: is not text: write {what.lower()} as text, one per line.") from None
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [",".join(line.replace(",", " ").split()) for line in lines if line]


def _read_points(options: argparse.Namespace) -> list[tuple[Fraction, ...]]:
    points = []
    for word in _read_words(options, options.points, "Points"):
        try:
            points.append(tuple(Fraction(part) for part in word.split(",")))
        except (ValueError, ZeroDivisionError):
            raise InputError(
                f"A point must be numbers with commas between, as 0.5,-1 or 1/3,2, but is {word!r}."
            ) from None
    return points


def _answer_shatter(options: argparse.Namespace) -> int:
    from novikoff.theory.vc import GEOMETRIC, shattering

    points = _read_points(options)
    if options.plot:
        check_writable(Path(options.plot))
    found = shattering(GEOMETRIC[options.concepts], points)
    if options.plot:
        _write_picture(options, found)
    signs = "".join("+" if label else "−" for label in found.missing or ())
    if found.shattered:
        sentence = f"Shattered: {options.concepts} have all {len(found.hypotheses):,} labellings of these points."
        lines = [f"{_format_signs(labels)}   {hypothesis}" for labels, hypothesis in found.hypotheses.items()]
    else:
        sentence = f"Not shattered: {options.concepts} have no set with the labelling {signs} (+ inside, − outside)."
        lines = [f"because     {found.why}"] if found.why else []
    lines += [f"plot        {Path(options.plot)}"] if options.plot else []
    about = {
        "class": options.concepts,
        "points": [[str(v) for v in point] for point in found.points],
        "shattered": found.shattered,
        "missing": None if found.missing is None else list(found.missing),
        "reason": found.why or None,
        "hypotheses": {_format_signs(labels): str(hypothesis) for labels, hypothesis in found.hypotheses.items()},
    }
    print_answer(options, "\n".join([sentence, *lines]), about)
    return 0 if found.shattered else 1


def _format_signs(labels: tuple[bool, ...]) -> str:
    return "".join("+" if label else "−" for label in labels)


def _write_picture(options: argparse.Namespace, found: Any) -> None:
    from novikoff.model_file import write_atomically
    from novikoff.reports.shattering_page import build_page

    write_atomically(Path(options.plot), build_page(options.concepts, found).encode())


def _answer_growth(options: argparse.Namespace) -> int:
    from novikoff.theory.vc import GEOMETRIC, dimension, labellings, sauer

    points = _read_points(options)
    found = labellings(GEOMETRIC[options.concepts], points)
    on_these = dimension(found)
    most = sauer(dimension=on_these.dimension, points=len(points))
    places = ", ".join(str(i + 1) for i in on_these.shattered)
    sentence = f"{options.concepts} have {len(found):,} of the {2 ** len(points):,} labellings of these points."
    lines = (
        f"{sentence[0].upper()}{sentence[1:]}",
        f"dimension   {on_these.dimension} on these points: points {places or 'none'} are shattered, and no more",
        f"sauer       at most {most:,} = Σ_{{i≤d}} C(m, i), d = {on_these.dimension}, m = {len(points)}",
    )
    about = {"class": options.concepts, "points": len(points), "labellings": len(found), "sauer": most}
    more = {"dimension": on_these.dimension, "shattered": [i + 1 for i in on_these.shattered]}
    print_answer(options, "\n".join(lines), {**about, **more})
    return 0


def _answer_dimension(options: argparse.Namespace) -> int:
    from novikoff.theory.vc import dimension

    given = None if options.rows is None else options.rows.replace(",", " ")
    rows = [word.replace(",", "") for word in _read_words(options, given, "Rows")]
    strange = next((row for row in rows if set(row) - {"0", "1"}), None)
    if strange is not None:
        raise InputError(f"A row must be zeros and ones, as 0110, but is {strange!r}.")
    found = dimension([[letter == "1" for letter in row] for row in rows])
    places = ", ".join(str(i + 1) for i in found.shattered)
    sentence = f"The VC dimension is {found.dimension}: elements {places or 'none'} are shattered, and no more."
    about = {"hypotheses": len(set(rows)), "dimension": found.dimension, "shattered": [i + 1 for i in found.shattered]}
    print_answer(options, sentence, {**about, "sentence": sentence})
    return 0
