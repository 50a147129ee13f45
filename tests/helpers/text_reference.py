"""A plain reference of the words of a text, and readers of one block and of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from novikoff._compiled.simd.byte_scan import PADDING_BYTES, fold_multiply
from novikoff.cli.main import main
from novikoff.data.formats.base import Format, ParsedBlock
from novikoff.data.names.hashing import K0, K1, hash_name
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.data.text_source import TextBlock

WORD = re.compile("[0-9A-Za-z_\u0080-\U0010ffff]+(?:'[0-9A-Za-z_\u0080-\U0010ffff]+)*")
Row = list[tuple[int, float]]


def to_lower(text: str) -> str:
    def lower_one(c: str) -> str:
        small = c.lower()
        return small if len(small) == 1 and len(small.encode()) == len(c.encode()) <= 2 else c

    return "".join(map(lower_one, text))


def iter_names(text: str, fmt: Any, seed: int) -> Iterator[tuple[str, int]]:
    """Yield every name in a text with its hash, once for each occurrence."""
    text = to_lower(text) if fmt.lowercase else text
    found = WORD.findall(text)
    for k in range(len(found)):
        for n in range(1, min(fmt.word_ngrams, k + 1) + 1):
            run = found[k + 1 - n : k + 1]
            h = hash_name(run[0].encode(), seed)
            for word in run[1:]:
                h = fold_multiply(h ^ K0, hash_name(word.encode(), seed) ^ K1)
            yield " ".join(run), h
    if fmt.char_ngrams:
        flat = re.sub("[\x00-\x20]+", " ", text).strip(" ")
        for k in range(len(flat) - fmt.char_ngrams + 1):
            run = flat[k : k + fmt.char_ngrams]
            yield f'"{run}"', hash_name(run.encode(), hash_name(b"\x01letters", seed))


def weigh_names(text: str, fmt: Any, seed: int = 0) -> dict[int, float]:
    """Return the value of each name, by its hash."""
    counts: dict[int, int] = {}
    for _, h in iter_names(text, fmt, seed):
        counts[h] = counts.get(h, 0) + 1
    length = math.sqrt(sum(n * n for n in counts.values()))
    worth = {"count": float, "binary": lambda _: 1.0, "log": lambda n: 1.0 + math.log(n), "unit": lambda n: n / length}
    return {h: worth[fmt.term_weighting](n) for h, n in counts.items()}


def to_slots(terms: list[tuple[int, float]], fmt: Any) -> Row:
    """Return slots in order of first occurrence with values in single precision, without zeros."""
    row: dict[int, Any] = {}
    for h, value in terms:
        slot = h & ((1 << fmt.hash_bits) - 1)
        signed = -value if fmt.signed_hash and h >> 63 else value
        row[slot] = np.float32(row[slot] + np.float32(signed)) if slot in row else np.float32(signed)
    return [(slot, float(value)) for slot, value in row.items() if value != 0.0]


def parse_block(data: bytes, fmt: Format, named: bool = False) -> tuple[TextBlock, ParsedBlock]:
    """Parse a text as one block."""
    block = TextBlock(len(data) + 1)
    block.text[PADDING_BYTES : PADDING_BYTES + len(data)] = np.frombuffer(data, np.uint8)
    block.text[PADDING_BYTES + len(data)] = 10
    block.stop = PADDING_BYTES + len(data) + (not data.endswith(b"\n"))
    return block, fmt.parser(named=named).parse(block)


def list_rows(parsed: ParsedBlock) -> list[Row]:
    starts, indices, values = parsed.rows.starts, parsed.rows.indices, parsed.rows.values
    return [
        list(zip(indices[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]


def read_texts(path: Path, **options: Any) -> tuple[list[Any], DataReader]:
    """Return label, terms and place of all examples of a file, and the reader."""
    reading = DataReader([str(path)], ReadOptions(**options))
    found: list[Any] = []
    for batch in reading.batches():
        parsed = batch.parsed._replace(rows=batch.rows)
        found += [(parsed.label(i), row, batch.get_location(i)) for i, row in enumerate(list_rows(parsed))]
    return found, reading


def learn_model_bytes(folder: Path, name: str, *arguments: str) -> bytes:
    path = folder / name
    assert main(["learn", *arguments, "--save", str(path), "--quiet"]) == 0
    return path.read_bytes()
