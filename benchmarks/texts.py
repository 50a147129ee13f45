"""Generate seeded synthetic text files: `python -m benchmarks.texts [name ...]` generates the named ones, or all.

The folder is the one that NOVIKOFF_BENCH names, or `novikoff-bench` in the user's cache:

- rcv: rows × 47,236 features, 75 non-zeros with the frequencies of words, six digits; as svmlight, and as VW text for
  vw, which reads no svmlight. `wide` is the same with ten times the features; `small` its first 1,000 rows; `rcv-test`
  the next 50,000 rows; `rcv10` is rcv ten times, 5.7 GB.
- thin-N: N rows as rcv, of 30 non-zeros; broad-D and broad-quick-D: a million, and 100,000, rows of ten among D
  features.
- click: rows × 25 tokens of eight hexadecimal digits, drawn with skew; in one namespace, each token after its column
  (`-1 | a=3f09c1d2 b=...`), or in 25 (`-1 |a 3f09c1d2 |b ...`), or as JSON (`{"_label":-1,"a":"3f09c1d2",...}`).
- mc20: rows × 60,000 features, 89 non-zeros, labels from 1 to 20; a class has words of its own, a tenth of labels is
  noise.
- dense: rows × 100 numbers as CSV without a header, the label first.

Labels are noisy planes. Rows come in blocks, each with a seed of its own: a shorter file is the beginning of a longer.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BLOCK = 10_000  # rows made at a time
TERMS, FEATURES = 75, 47_236
COLUMNS, VOCABULARY = 25, 20_000
DENSE = 100
WORDS, WORDS_IN_ROW, CLASSES = 60_000, 89, 20


class Text(NamedTuple):
    """A file of `rows` rows: each block yields the bytes of its rows, one array for each row; unused bytes are zero."""

    rows: int
    block: Callable[[int], Any]
    first: int = 0  # its first block


class Layout(NamedTuple):
    """The text around the label and around each token of a row."""

    before: bytes
    between: bytes
    mark: bytes = b""
    after: bytes = b""
    first: bytes = b""
    last: bytes = b""


def folder() -> Path:
    named = os.environ.get("NOVIKOFF_BENCH")
    if named:
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (cache if os.access(cache, os.W_OK) else Path(tempfile.gettempdir())) / "novikoff-bench"


def path(name: str) -> Path:
    """Return the file of that name; generate it if it does not exist."""
    file = folder() / name
    if not file.exists():
        folder().mkdir(parents=True, exist_ok=True)
        print(f"making {file}", file=sys.stderr, flush=True)
        unfinished = file.with_name(f"{name}.{os.getpid()}")
        with unfinished.open("wb") as out:
            if name in REPEATED:
                _repeat(path(REPEATED[name]), out)
            else:
                for lines in _blocks(TEXTS[name]):
                    out.write(lines[lines != 0].data)
        unfinished.rename(file)
    return file


def _blocks(text: Text) -> Iterator[Any]:
    for block in range(-(-text.rows // BLOCK)):
        yield text.block(text.first + block)[: text.rows - block * BLOCK]


def _repeat(file: Path, out: Any, times: int = 10) -> None:
    for _ in range(times):
        with file.open("rb") as lines:
            shutil.copyfileobj(lines, out, 1 << 24)


def _ranks(rng: Any, share: Any, shape: tuple[int, ...]) -> Any:
    """Draw numbers from 0 on with these probabilities."""
    return _between(rng, np.cumsum(share / share.sum()), shape)


def _between(rng: Any, edges: Any, shape: tuple[int, ...]) -> Any:
    return np.searchsorted(edges[:-1], rng.random(shape, dtype=np.float32))


@cache
def _words_of(features: int, terms: int) -> tuple[Any, Any, Any]:
    """Return the plane, the column of each word, and the cumulative probabilities."""
    fixed = np.random.default_rng(0)
    plane, places = fixed.standard_normal(features), fixed.permutation(features)
    share = np.arange(1, features - terms + 1) ** -0.9
    return plane, places, np.cumsum(share / share.sum())


def _rcv(block: int, mark: bytes, features: int = FEATURES, terms: int = TERMS) -> Any:
    """Generate rows of unit length over distinct, increasing features. The plane and the labels depend on the number of
    features, not on the format.
    """
    plane, places, edges = _words_of(features, terms)
    rng = np.random.default_rng([1, block])
    step = np.arange(terms)
    drawn = np.sort(_between(rng, edges, (BLOCK, terms)), axis=1)
    distinct = np.maximum.accumulate(drawn - step, axis=1) + step  # replace duplicates by the next feature
    indices = np.sort(places[distinct], axis=1)
    values = rng.random((BLOCK, terms)) + 1e-4
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    scores = np.einsum("ij,ij->i", plane[indices], values) + 0.3 * rng.standard_normal(BLOCK)
    tokens = np.concatenate(
        [
            _constant(b" ", indices.shape),
            _decimal(indices + 1, len(str(features))),
            _constant(b":", indices.shape),
            format_six_digits(values),
        ],
        axis=2,
    )
    return _lines(_labels(scores), _constant(mark, (BLOCK,)), tokens)


def _mc20(block: int, mark: bytes) -> Any:
    """Generate words of all classes and of one class: every 20th word belongs to a class."""
    places = np.random.default_rng(6).permutation(WORDS)
    rng = np.random.default_rng([7, block])
    step = np.arange(WORDS_IN_ROW)
    y = rng.integers(0, CLASSES, BLOCK)
    drawn = _ranks(rng, np.arange(1, WORDS - 2 * WORDS_IN_ROW + 1) ** -0.9, (BLOCK, WORDS_IN_ROW))
    own = rng.random((BLOCK, WORDS_IN_ROW)) < 0.2
    drawn = np.sort(np.where(own, drawn // CLASSES * CLASSES + y[:, None], drawn), axis=1)
    distinct = np.maximum.accumulate(drawn - step, axis=1) + step
    indices = np.sort(places[distinct.clip(max=WORDS - 1)], axis=1)
    values = rng.random((BLOCK, WORDS_IN_ROW)) + 1e-4
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    labels = np.where(rng.random(BLOCK) < 0.1, rng.integers(0, CLASSES, BLOCK), y) + 1
    shape = indices.shape
    tokens = np.concatenate(
        [_constant(b" ", shape), _whole(WORDS + 1)[indices + 1], _constant(b":", shape), format_six_digits(values)],
        axis=2,
    )
    return _lines(_whole(CLASSES + 1)[labels], _constant(mark, (BLOCK,)), tokens)


def _click(block: int, layout: Layout) -> Any:
    """Generate rows whose columns have their own tokens; a plane over all tokens gives the label."""
    fixed = np.random.default_rng(2)
    plane = fixed.standard_normal((COLUMNS, VOCABULARY))
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[fixed.integers(0, 16, (COLUMNS, VOCABULARY, 8))]
    rng = np.random.default_rng([3, block])
    column = np.arange(COLUMNS)
    ranks = _ranks(rng, np.arange(1, VOCABULARY + 1) ** -1.3, (BLOCK, COLUMNS))
    scores = plane[column, ranks].sum(axis=1) + 1.0 * rng.standard_normal(BLOCK)
    letters = np.broadcast_to((ord("a") + column).astype(np.uint8)[:, None], (BLOCK, COLUMNS, 1))
    tokens = np.concatenate(
        [
            _constant(layout.before, ranks.shape),
            letters,
            _constant(layout.between, ranks.shape),
            digits[column, ranks],
            _constant(layout.after, ranks.shape),
        ],
        axis=2,
    )
    first, mark, last = (_constant(text, (BLOCK,)) for text in (layout.first, layout.mark, layout.last))
    return _lines(first, _labels(scores), mark, tokens, last)


def _dense(block: int) -> Any:
    plane = np.random.default_rng(4).standard_normal(DENSE)
    rng = np.random.default_rng([5, block])
    numbers = rng.standard_normal((BLOCK, DENSE))
    scores = numbers @ plane + 3.0 * rng.standard_normal(BLOCK)
    return _lines(_labels(scores), np.concatenate([_constant(b",", numbers.shape), format_six_digits(numbers)], axis=2))


def _lines(*parts: Any) -> Any:
    return np.concatenate([*(part.reshape(len(part), -1) for part in parts), _constant(b"\n", parts[0].shape[:1])], 1)


def _labels(scores: Any) -> Any:
    return np.where((scores > 0)[:, None], np.array([0, ord("1")], np.uint8), np.frombuffer(b"-1", np.uint8))


def _constant(text: bytes, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(np.frombuffer(text, np.uint8), (*shape, len(text)))


def _decimal(numbers: Any, width: int) -> Any:
    """Return the decimal digits of numbers above 0 in `width` bytes, without leading zeros."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    shown = (numbers[..., None] // powers % 10 + ord("0")).astype(np.uint8)
    shown[numbers[..., None] < powers] = 0
    return shown


def _whole(end: int) -> Any:
    """Return the decimal digits of 0, 1, ..., end − 1, without leading zeros."""
    width = len(str(end - 1))
    return np.array([list(str(n).encode().rjust(width, b"\0")) for n in range(end)], np.uint8)


def format_six_digits(values: Any) -> Any:
    """Format 0 and numbers from 1e-9 to ten as %.6g, one byte for each entry of the last axis; unused bytes are zero.

    >>> shown = six(np.array([0.0123456789, -1.5, 0.0, 9.9999999e-1, 2.5e-5, 0.1]))
    >>> [bytes(s[s != 0]).decode() for s in shown]
    ['0.0123457', '-1.5', '0', '1', '2.5e-05', '0.1']
    """
    size = np.abs(values)
    assert size.max() < 9.9999
    exponent = np.floor(np.log10(np.maximum(size, 1e-9))).astype(np.int64)
    number = np.rint(size * 10.0 ** (5 - exponent)).astype(np.int64)
    exponent += number >= 1_000_000
    exponent[number == 0] = 0
    number = np.where(number >= 1_000_000, number // 10, number)
    first, rest = np.divmod(number, 100_000)
    small, tiny = (exponent < 0) & (exponent >= -4), exponent < -4
    shown = np.zeros((*values.shape, 17), np.uint8)
    shown[..., 0] = (values < 0) * ord("-")
    shown[..., 1] = small * ord("0")
    shown[..., 2] = small * ord(".")
    for place in range(3):
        shown[..., 3 + place] = (small & (exponent < -1 - place)) * ord("0")
    shown[..., 6] = first + ord("0")
    shown[..., 7] = (~small & (rest > 0)) * ord(".")
    shown[..., 8:13] = _FRACTIONS[rest]
    shown[..., 13:16] = tiny[..., None] * np.frombuffer(b"e-0", np.uint8)
    shown[..., 16] = np.where(tiny, ord("0") - exponent, 0)
    return shown


_FRACTIONS = np.array([list(f"{n:05}".rstrip("0").encode().ljust(5, b"\0")) for n in range(100_000)], np.uint8)

_SVM, _VW = partial(_rcv, mark=b""), partial(_rcv, mark=b" |")
_ONE = partial(_click, layout=Layout(b" ", b"=", mark=b" |"))
_MANY = partial(_click, layout=Layout(b" |", b" "))
_JSON = partial(_click, layout=Layout(b',"', b'":"', after=b'"', first=b'{"_label":', last=b"}"))
THIN, BROAD = 30, 10  # non-zeros of a row
FEW, ROWS = 10_000, (20_000, 100_000, 1_000_000, 10_000_000)
SOME, LATER = 100_000, (200_000, 1_000_000, 10_000_000)
WIDTHS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)

REPEATED = {"rcv10.svm": "rcv.svm", "rcv10.vw": "rcv.vw"}
TEXTS = {
    "rcv.svm": Text(500_000, _SVM),
    "rcv.vw": Text(500_000, _VW),
    "click.vw": Text(1_000_000, _ONE),
    "click25.vw": Text(1_000_000, _MANY),
    "mc20.svm": Text(200_000, partial(_mc20, mark=b"")),
    "mc20.vw": Text(200_000, partial(_mc20, mark=b" |")),
    "mc20-20k.svm": Text(20_000, partial(_mc20, mark=b"")),
    "mc20-20k.vw": Text(20_000, partial(_mc20, mark=b" |")),
    "dense.csv": Text(1_000_000, _dense),
    "wide.svm": Text(500_000, partial(_rcv, mark=b"", features=10 * FEATURES)),
    "rcv-100MB.svm": Text(90_000, _SVM),
    "rcv-50k.svm": Text(50_000, _SVM),
    "rcv-50k.vw": Text(50_000, _VW),
    "click-100k.vw": Text(100_000, _ONE),
    "click25-100k.vw": Text(100_000, _MANY),
    "small.svm": Text(1_000, _SVM),
    "small.vw": Text(1_000, _VW),
    "small-click.vw": Text(1_000, _ONE),
    "small.csv": Text(1_000, _dense),
    "ten.svm": Text(10, _SVM),
    "ten20.svm": Text(10, partial(_mc20, mark=b"")),
    "one20.vw": Text(1, partial(_mc20, mark=b" |")),
    "ten.vw": Text(10, _ONE),
    "ten.csv": Text(10, _dense),
    "one.vw": Text(1, _VW),
    "rcv-test.svm": Text(50_000, _SVM, first=50),
    "click.jsonl": Text(1_000_000, _JSON),
    "click-100k.jsonl": Text(100_000, _JSON),
    "ten.jsonl": Text(10, _JSON),
    "one.jsonl": Text(1, _JSON),
    "dense-100k.csv": Text(100_000, _dense),
    **{f"thin-{rows}.svm": Text(rows, partial(_SVM, terms=THIN)) for rows in (FEW, *ROWS, *LATER)},
    **{f"broad-{width}.svm": Text(1_000_000, partial(_SVM, terms=BROAD, features=width)) for width in WIDTHS},
    **{f"broad-quick-{width}.svm": Text(100_000, partial(_SVM, terms=BROAD, features=width)) for width in WIDTHS},
}

if __name__ == "__main__":
    for named in sys.argv[1:] or [*TEXTS, *REPEATED]:
        print(path(named))
