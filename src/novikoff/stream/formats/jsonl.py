"""JSON lines: one object a line, flattened to features as the head of `json_lines.py` tells.

The label is the field that --label names, by a path with points for one within another (`user.kind`); without it the
first of label, class, target and y that the first object has. It is a number, a string, true or false, or a list of
these for learners of several labels; a line without it, or with null, is no example but a problem, unless examples may
be without a label. --text declares fields, with commas between them, whose strings are texts: their words are the
features, as with labelled text (see `words.py`); --scale looks at each text by itself. --numeric reads the strings of
fields as numbers, --weight names the field with the example's weight. null is no feature; with --missing indicator or
error, null and the strings that are missing values in tables are missing. A field that an object lacks never is:
objects have no fixed set of fields.

Lines are held to RFC 8259, strings to UTF-8. Beyond that: no half surrogate pairs (\\ud800), objects and lists up to 64
deep, paths of up to 1000 bytes, numbers of size up to 1e15, one label. What comes twice is added up, and so is what has
the same path ({"a.b": 1} and {"a": {"b": 1}}). Empty lines are no examples.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from novikoff._bytes import PADDING
from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import InputError
from novikoff.stream.bag import slots
from novikoff.stream.feed import Block
from novikoff.stream.formats.column_survey import Column, doubts_about_features, doubts_about_label, predicts_alone
from novikoff.stream.formats.contract import Format, Parsed, Parser, Problem, shown
from novikoff.stream.formats.json_fields import NoFields
from novikoff.stream.formats.json_lines import (
    IS_ABSENT,
    IS_FALSE,
    IS_LIST,
    IS_NUMBER,
    IS_STRING,
    IS_TRUE,
    Machine,
    Out,
    parse,
)
from novikoff.stream.formats.json_names import names_of
from novikoff.stream.formats.json_tokens import DEEPEST, LONGEST_PATH, NO_LABEL, NO_WEIGHT, REASONS
from novikoff.stream.formats.words import DEFAULT_SCALE, NoWords, Words, check, letters_seed, refuse, room_for, terms_in
from novikoff.stream.hashing import DEFAULT_BITS, hashed
from novikoff.stream.labels import plain
from novikoff.stream.options import check_roles
from novikoff.stream.rows import Sparse

USUAL_LABELS = ("label", "class", "target", "y")
FIELDS_LOOKED_AT = 100  # lines
CAME = 24  # bytes shown from where a line is wrong
OTHERS = {IS_TRUE: True, IS_FALSE: False, IS_ABSENT: None}


class JsonParser(Parser):
    def __init__(self, settled: JsonLines, named: bool, unlabelled: bool) -> None:
        self.settled, self.unlabelled = settled, unlabelled
        self.named = named or settled.bits == 0
        self.used = slots(0, bits=settled.bits, signed=settled.signed, named=False).used
        self.size = 0
        self.room: NoWords | Words

    def _make_room(self, size: int) -> None:
        """For a block of so many bytes: a value and what separates it have two bytes or more."""
        self.size = size
        fmt = self.settled
        lines, terms = size // 2 + 2, terms_in(size, fmt.words + 1, fmt.letters)
        texts = [hashed(path.encode()) for path in fmt.texts]
        self.to = slots(terms, bits=fmt.bits, signed=fmt.signed, named=self.named, largest=fmt.largest)._replace(
            used=self.used
        )
        self.room = NoWords(0)
        if texts:
            self.room = room_for(size, fmt.words, fmt.letters, fmt.lower, fmt.scale)
        self.machine = Machine(
            label=uint64(hashed(fmt.label.encode())),
            texts=buffers.array(texts, "uint64"),
            letters=buffers.array([letters_seed(h) for h in texts], "uint64"),
            fields=self._fields(),
            plain=buffers.zeros(size + 2 * PADDING, "uint8"),
            path=buffers.zeros(LONGEST_PATH + PADDING, "uint8"),
            kinds=buffers.zeros(DEEPEST + 1, "int64"),
            lengths=buffers.zeros(DEEPEST + 1, "int64"),
            counts=buffers.zeros(DEEPEST + 1, "int64"),
            hashes=buffers.zeros(DEEPEST + 1, "uint64"),
        )
        keys = buffers.zeros(lines, "uint64")
        self.out = Out(
            starts=buffers.zeros(lines + 1, "int64"),
            keys=keys,
            numbers=keys.view("float64"),
            labels=buffers.zeros((lines, 3), "int64"),
            line_of=buffers.zeros(lines, "int64"),
            weights=buffers.zeros(lines if self.weighs else 0),
            problems=buffers.zeros((lines, 5), "int64"),
        )

    @property
    def weighs(self) -> bool:
        """Whether examples have weights, which only learners need."""
        return self.settled.weight is not None and not self.unlabelled

    def _fields(self) -> Any:
        fmt = self.settled
        chosen = fmt.ignore or fmt.only or fmt.categorical or fmt.numeric
        if not chosen and fmt.weight is None and fmt.missing == "absent":
            return NoFields(0)
        from novikoff.stream.formats.json_field_values import make_fields

        return make_fields(fmt, weighs=self.weighs)

    def parse(self, block: Block) -> Parsed:
        if block.size > self.size:
            self._make_room(block.size)
        out, to, bits = self.out, self.to, self.settled.bits
        rows, lines, wrong = parse(block.text, block.stop, self.machine, self.room, self.unlabelled, to, out)
        return Parsed(
            rows=Sparse(out.starts[: rows + 1], to.indices, to.values),
            keys=out.keys[:rows],
            label=json_label(block, out),
            weights=out.weights[:rows],
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << bits if bits else 0,
            problems=[self._problem(block, *problem) for problem in out.problems[:wrong].tolist()],
            hashes=to.hashes if self.named else to.hashes[:0],
            spans=to.spans,
        )

    def _problem(self, block: Block, line: int, reason: int, where: int, stop: int, start: int) -> Problem:
        kind, rule = REASONS[reason]
        if reason == NO_LABEL:
            return Problem(line, kind, f"has no field {self.settled.label!r} with a label, or it is null.")
        if reason == NO_WEIGHT:
            return Problem(line, kind, f"has no field {self.settled.weight!r} with a weight, or it is null.")
        while stop > where and block.text[stop - 1] <= 32:
            stop -= 1
        came = shown(block, where, min(stop, where + CAME)) if stop > where else "the end of the line"
        return Problem(line, kind, f"{rule}, but {came} came at byte {where - start + 1} of the line.")


def json_label(block: Block, out: Out) -> Callable[[int], Any]:
    """Labels by their kind: numbers are their own keys, strings are read again."""

    def label(i: int) -> Any:
        kind, start, stop = out.labels[i].tolist()
        if kind in (IS_STRING, IS_LIST):
            told = json.loads(block.text[start:stop].tobytes())
            return [plain(one) for one in told] if kind == IS_LIST else told
        return plain(float(out.numbers[i])) if kind == IS_NUMBER else OTHERS[kind]

    return label


@dataclass(frozen=True)
class JsonLines(Format):
    label: str
    text: str | None = None
    words: int = 1
    letters: int = 0
    lower: bool = True
    scale: str = DEFAULT_SCALE
    bits: int = DEFAULT_BITS
    signed: bool = False
    largest: bool = False
    ignore: tuple[str, ...] = ()
    """Fields that are no features."""
    only: tuple[str, ...] = ()
    """The only fields that are features, where any are named."""
    categorical: tuple[str, ...] = ()
    """Fields, by their paths, whose numbers are categories."""
    numeric: tuple[str, ...] = ()
    """Fields, by their paths, whose strings are numbers."""
    weight: str | None = None
    """The field, by its path, with the weights of the examples."""
    missing: str = "absent"

    name: ClassVar[str] = "jsonl"
    options: ClassVar[tuple[str, ...]] = (
        "label", "text", "signed", "largest", "words", "letters", "scale", "ignore", "columns", "categorical",
        "numeric", "weight", "missing",
    )  # fmt: skip

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> JsonLines:
        refuse(options, "jsonl", ("delimiter", "header", "several_labels", "interactions"))
        if options.text is None:
            refuse(options, "jsonl without --text", ("words", "letters", "scale"))
        bits = DEFAULT_BITS if options.bits is None else options.bits
        label = options.label if options.label is not None else usual_label(head, title)
        how: dict[str, Any] = {"bits": bits, "signed": bool(options.signed), "largest": bool(options.largest)}
        chosen = {"ignore": options.ignore, "only": options.columns, "categorical": options.categorical}
        said = {"numeric": options.numeric, "weight": options.weight, "missing": options.missing}
        deep = next((name for name in (*options.ignore, *options.columns) if "." in name), None)
        if deep is not None:
            raise InputError(f"{title}: --ignore and --columns are for fields at the top, not for a path as {deep!r}.")
        texts = () if options.text is None else tuple(options.text.split(","))
        roles: dict[str, tuple[str, ...]] = {
            "the label": (label,),
            "--weight": () if options.weight is None else (options.weight,),
            "--text": texts,
            "--categorical": options.categorical,
            "--numeric": options.numeric,
        }
        check_roles(roles, title, "field")
        for option, paths in roles.items():
            check_roles({option: [path.split(".")[0] for path in paths], "--ignore": options.ignore}, title, "field")
        made = cls(label, options.text, **how, **check(options), **chosen, **said)
        made.survey.extend(fields_of(head, made.nested))
        return made

    def settings(self) -> dict[str, Any]:
        """For the model file. What most files don't have is left out."""
        usual: dict[str, Any] = {"ignore": (), "only": (), "categorical": (), "numeric": ()}
        usual |= {"weight": None, "missing": "absent"}
        own = super().settings()
        return {name: value for name, value in own.items() if name not in usual or value != usual[name]}

    @cached_property
    def survey(self) -> list[Column]:
        """A first look at the fields of the first file."""
        return []

    @cached_property
    def nested(self) -> set[str]:
        """Fields of the first objects with lists or objects in them."""
        return set()

    @property
    def fields_read(self) -> tuple[str, ...]:
        """The only fields at the top that are read, where any are named."""
        if not self.only:
            return ()
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys(path.split(".")[0] for path in (*self.only, *self.texts, self.label, *weight)))

    def _kind(self, column: Column) -> str | None:
        """What a field is read as; None where it is no feature."""
        name = column.name
        if name in (self.label, self.weight) or name in self.ignore or (self.only and name not in self.fields_read):
            return None
        if name in self.texts:
            return "text"
        if name in self.numeric:
            return "numeric"
        return "numeric" if column.is_numeric and name not in self.categorical else "categorical"

    def describe(self) -> dict[str, Any]:
        found: dict[str, list[str]] = {"numeric": [], "categorical": [], "text": []}
        for column in self.survey:
            kind = self._kind(column)
            if kind is not None:
                found[kind].append(column.name)
        others: dict[str, Any] = {"weight": self.weight, "ignored": list(self.ignore)}
        about = {**super().describe(), **found, **others}
        return {title: value for title, value in about.items() if value not in (None, [])}

    def doubts(self) -> list[str]:
        read = [(column, self._kind(column)) for column in self.survey]
        features = [(column, kind) for column, kind in read if kind is not None]
        label = next((column for column in self.survey if column.name == self.label), None)
        found = [] if label is None else doubts_about_label(label)
        found += doubts_about_features(features)
        if label is not None:
            found += [
                f"field {column.name!r} alone tells the label of all {len(label.values):,} lines that were looked at:"
                " --ignore it if it is known only after the label is."
                for column, _ in features
                if len(column.values) == len(label.values) and predicts_alone(column, label)
            ]
        known = {column.name for column in self.survey} | self.nested
        chosen = (*self.ignore, *self.only, *self.texts, *self.categorical, *self.numeric)
        said = dict.fromkeys(path.split(".")[0] for path in chosen)
        return found + [f"no line that was looked at has the field {name!r}." for name in said if name not in known]

    def parser(self, *, named: bool, unlabelled: bool = False) -> JsonParser:
        return JsonParser(self, named, unlabelled)

    def feature_name(self, block: Block, span: NDArray[np.int64]) -> str:
        start, stop, number, _ = (int(n) for n in span)
        line = block.text[start:stop].tobytes()
        chosen = self.ignore, self.fields_read, self.categorical, self.numeric, self.weight, self.missing
        return names_of(line, self.label, self.texts, self.words, self.letters, self.lower, *chosen)[number]

    @property
    def texts(self) -> tuple[str, ...]:
        return () if self.text is None else tuple(self.text.split(","))

    @property
    def bits_used(self) -> int:
        return self.bits


def fields_of(head: bytes, nested: set[str]) -> list[Column]:
    """The fields at the top of the first objects that are numbers or strings; the names of others go to `nested`."""
    found: dict[str, list[bytes]] = {}
    for line in head.split(b"\n", FIELDS_LOOKED_AT)[:FIELDS_LOOKED_AT]:
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for name, value in one.items() if isinstance(one, dict) else ():
            if isinstance(value, list | dict) or value is None:
                nested.add(name)
            elif isinstance(value, str | int | float):
                text = str(int(value)) if isinstance(value, bool) else str(value)
                found.setdefault(name, []).append(text.encode("utf-8", "replace"))
    return [Column(name, tuple(values)) for name, values in found.items()]


def usual_label(head: bytes, title: str) -> str:
    """The name of the label, by the first object."""
    for line in head.split(b"\n"):
        try:
            first = json.loads(line)
        except (ValueError, RecursionError):  # an empty line, or one that is wrong: it is told when it is read
            continue
        if isinstance(first, dict):
            for name in USUAL_LABELS:
                if name in first:
                    return name
            raise InputError(
                f"{title}: has no field {', '.join(USUAL_LABELS[:-1])} or {USUAL_LABELS[-1]}: say --label FIELD;"
                f" its fields are {', '.join(list(first)[:8])}{', …' if len(first) > 8 else ''}."
            )
    raise InputError(f"{title}: has no JSON object in its first lines: is it JSON, with one object a line?")
