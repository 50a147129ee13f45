"""JSON lines: one object per line, flattened to features as `json/parser.py` describes.

The label is the field that --label names, by a path with points for nested fields (`user.kind`); by default the field
named label, class, target or y, as in tables. It is a number, a string, true or false, or a list of these for
multi-label learners; where the first lines mix strings and others, all labels become strings. A line without a label,
or with null, is a bad line unless labels are optional. --text declares fields, separated by commas, whose words are
features, as in labelled text (see `ngrams.py`); --term-weighting applies to each text by itself. --numeric reads the
strings of fields as numbers; --weight names the field with the example's weight. null makes no feature; with --missing
indicator or error, null and the strings that are missing values in tables are missing. An absent field is never
missing: objects have no fixed set of fields.

Feature names get a dictionary where the first lines of a file make few of them, as in tables; otherwise they are
hashed. Streams that can be read only once are hashed, too, since their later features are unknown.

Lines must follow RFC 8259, in UTF-8. Further limits: no unpaired surrogates (\\ud800), nesting up to 64, paths up to
1000 bytes, numbers of size up to 1e15, one label. Duplicate features are summed, and so are those with equal paths
({"a.b": 1} and {"a": {"b": 1}}). Empty lines are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats import json_survey, ngrams
from novikoff.data.formats.base import BadLine, Format, ParsedBlock, Parser, check_roles, format_excerpt
from novikoff.data.formats.column_survey import build_feature_notes, determines_label, find_feature_doubts
from novikoff.data.formats.json import parser
from novikoff.data.formats.json.fields import NoFieldRoles
from novikoff.data.formats.json.names import list_feature_names
from novikoff.data.formats.json.tokens import MAX_DEPTH, MAX_PATH_BYTES, NO_LABEL, NO_WEIGHT, REASONS
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.data.merge_terms import allocate_terms
from novikoff.data.names.hashing import DEFAULT_HASH_BITS, hash_name
from novikoff.data.rows import Sparse
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError, suggest

EXCERPT_BYTES = 24  # shown from the position of an error
LITERAL_LABELS = {parser.IS_TRUE: True, parser.IS_FALSE: False, parser.IS_ABSENT: None}


class JsonParser(Parser):
    """Parser of JSON lines."""

    def __init__(self, fmt: JsonLines, named: bool, unlabelled: bool) -> None:
        self.format, self.unlabelled = fmt, unlabelled
        self.named = named or fmt.hash_bits == 0
        self.used = allocate_terms(0, bits=fmt.hash_bits, signed=fmt.signed_hash, named=False).used
        self.size = 0
        self.ngrams: ngrams.NoNgrams | ngrams.NgramWorkspace

    def _ensure_capacity(self, size: int) -> None:
        """Allocate buffers for blocks of `size` bytes: a value and its separator have at least two."""
        self.size = size
        fmt = self.format
        lines, terms = size // 2 + 2, ngrams.count_max_terms(size, fmt.word_ngrams + 1, fmt.char_ngrams)
        texts = [hash_name(path.encode()) for path in fmt.texts]
        self.to = allocate_terms(
            terms, bits=fmt.hash_bits, signed=fmt.signed_hash, named=self.named, largest=fmt.collisions == "max"
        )._replace(used=self.used)
        self.ngrams = ngrams.NoNgrams(0)
        if texts:
            self.ngrams = ngrams.allocate_workspace(
                size, fmt.word_ngrams, fmt.char_ngrams, fmt.lowercase, fmt.term_weighting
            )
        self.state = parser.JsonParserState(
            label=uint64(hash_name(fmt.label.encode())),
            texts=buffers.array(texts, "uint64"),
            letters=buffers.array([ngrams.derive_char_seed(h) for h in texts], "uint64"),
            fields=self._fields(),
            plain=buffers.zeros(size + 2 * PADDING_BYTES, "uint8"),
            path=buffers.zeros(MAX_PATH_BYTES + PADDING_BYTES, "uint8"),
            kinds=buffers.zeros(MAX_DEPTH + 1, "int64"),
            lengths=buffers.zeros(MAX_DEPTH + 1, "int64"),
            counts=buffers.zeros(MAX_DEPTH + 1, "int64"),
            hashes=buffers.zeros(MAX_DEPTH + 1, "uint64"),
        )
        keys = buffers.zeros(lines, "uint64")
        self.out = parser.JsonOutput(
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
        return self.format.weight is not None and not self.unlabelled

    def _fields(self) -> Any:
        fmt = self.format
        chosen = fmt.ignore or fmt.only or fmt.categorical or fmt.numeric
        if not chosen and fmt.weight is None and fmt.missing == "absent":
            return NoFieldRoles(0)
        from novikoff.data.formats.json.field_values import build_field_roles

        return build_field_roles(fmt, weighs=self.weighs)

    def parse(self, block: TextBlock) -> ParsedBlock:
        if block.size > self.size:
            self._ensure_capacity(block.size)
        out, to, bits = self.out, self.to, self.format.hash_bits
        rows, lines, wrong = parser.parse_json_block(
            block.text, block.stop, self.state, self.ngrams, self.unlabelled, to, out
        )
        keys, label = out.keys[:rows], build_json_decoder(block, out)
        if self.format.label_texts:
            keys, label = convert_labels_to_text(keys, label)
        return ParsedBlock(
            rows=Sparse(out.starts[: rows + 1], to.indices, to.values),
            keys=keys,
            label=label,
            weights=out.weights[:rows],
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << bits if bits else 0,
            problems=[self._problem(block, *problem) for problem in out.problems[:wrong].tolist()],
            hashes=to.hashes if self.named else to.hashes[:0],
            spans=to.spans,
        )

    def _problem(self, block: TextBlock, line: int, reason: int, where: int, stop: int, start: int) -> BadLine:
        kind, rule = REASONS[reason]
        if reason == NO_LABEL:
            return BadLine(line, kind, f"has no field {self.format.label!r} with a label, or it is null.")
        if reason == NO_WEIGHT:
            return BadLine(line, kind, f"has no field {self.format.weight!r} with a weight, or it is null.")
        while stop > where and block.text[stop - 1] <= 32:
            stop -= 1
        text = format_excerpt(block, where, min(stop, where + EXCERPT_BYTES)) if stop > where else "the end of the line"
        return BadLine(line, kind, f"{rule}, got {text} at byte {where - start + 1} of the line.")


def build_json_decoder(block: TextBlock, out: parser.JsonOutput) -> Callable[[int], Any]:
    """Return a decoder of labels by their kind: numbers from their keys, strings from the text."""

    def label(i: int) -> Any:
        kind, start, stop = out.labels[i].tolist()
        if kind in (parser.IS_STRING, parser.IS_LIST):
            label_value = json.loads(block.text[start:stop].tobytes())
            return [to_plain_label(one) for one in label_value] if kind == parser.IS_LIST else label_value
        return to_plain_label(float(out.numbers[i])) if kind == parser.IS_NUMBER else LITERAL_LABELS[kind]

    return label


def convert_labels_to_text(
    keys: NDArray[np.uint64], label: Callable[[int], Any]
) -> tuple[NDArray[np.uint64], Callable[[int], Any]]:
    """Return keys and labels with all labels as strings: numbers and truth values as JSON writes them."""

    def text(i: int) -> Any:
        label_value = label(i)
        return (
            [_format_label(one) for one in label_value] if isinstance(label_value, list) else _format_label(label_value)
        )

    found = [text(i) for i in range(len(keys))]
    own = [hash_name(label.encode()) if isinstance(label, str) else int(keys[i]) for i, label in enumerate(found)]
    return buffers.array(own, "uint64"), found.__getitem__


def _format_label(label: Any) -> Any:
    return label if label is None or isinstance(label, str) else json.dumps(label)


@dataclass(frozen=True)
class JsonLines(Format):
    """JSON lines with the settings that the data of one model shares."""

    label: str
    text: str | None = None
    word_ngrams: int = 1
    char_ngrams: int = 0
    lowercase: bool = True
    term_weighting: str = ngrams.DEFAULT_SCALE
    hash_bits: int = DEFAULT_HASH_BITS
    signed_hash: bool = False
    collisions: str = "sum"
    ignore: tuple[str, ...] = ()
    """Fields that are ignored."""
    only: tuple[str, ...] = ()
    """The only fields that are features, where any are named."""
    categorical: tuple[str, ...] = ()
    """Paths of fields whose numbers are categories."""
    numeric: tuple[str, ...] = ()
    """Paths of fields whose strings are numbers."""
    weight: str | None = None
    """The path of the field with the weights of the examples."""
    missing: str = "absent"
    label_texts: bool = False
    """Whether labels that are not strings are read as strings, too."""

    name: ClassVar[str] = "jsonl"
    options: ClassVar[tuple[str, ...]] = (
        "label", "text", "signed_hash", "collisions", "word_ngrams", "char_ngrams", "term_weighting", "ignore",
        "columns", "categorical", "numeric", "weight", "missing",
    )  # fmt: skip

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> JsonLines:
        ngrams.reject_options(options, "jsonl", ("delimiter", "header", "multilabel", "interactions"))
        if options.text is None:
            ngrams.reject_options(options, "jsonl without --text", ("word_ngrams", "char_ngrams", "term_weighting"))
        survey = json_survey.survey_objects(head)
        for option in ("label", "weight"):
            survey.check_field(getattr(options, option), title, f"--{option}")
        label = options.label if options.label is not None else json_survey.find_label_field(survey, title)
        how: dict[str, Any] = {"signed_hash": bool(options.signed_hash), "collisions": options.collisions}
        chosen = {"ignore": options.ignore, "only": options.columns, "categorical": options.categorical}
        said = {"numeric": options.numeric, "weight": options.weight, "missing": options.missing}
        deep = next((name for name in (*options.ignore, *options.columns) if "." in name), None)
        if deep is not None:
            raise InputError(f"{title}: --ignore and --columns take top-level fields, got the path {deep!r}.")
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
        how["label_texts"] = json_survey.LabelField(label, survey.values_at(label)).is_mixed
        made = cls(label, options.text, **how, **ngrams.resolve_ngram_options(options), **chosen, **said)
        made = replace(made, hash_bits=made._bits(options, survey, title))
        made.__dict__["survey"] = survey
        return made

    def _bits(self, options: Any, survey: json_survey.JsonSurvey, title: str) -> int:
        """Return the number of bits of hashed features; 0 where a dictionary suffices."""
        if options.hash_bits is not None:
            return int(options.hash_bits)
        hashes = self.texts or options.hashes_names or options.signed_hash or options.feature_map is not None
        if hashes or not os.path.isfile(title):
            return DEFAULT_HASH_BITS
        return 0 if json_survey.has_few_names(survey, self._is_left_out, self.categorical) else DEFAULT_HASH_BITS

    def settings(self) -> dict[str, Any]:
        """Return the settings for the model file, without defaults that most files have."""
        usual: dict[str, Any] = {"ignore": (), "only": (), "categorical": (), "numeric": ()}
        usual |= {"weight": None, "missing": "absent", "label_texts": False}
        own = super().settings()
        return {name: value for name, value in own.items() if name not in usual or value != usual[name]}

    @cached_property
    def survey(self) -> json_survey.JsonSurvey:
        """The survey of the first file."""
        return json_survey.JsonSurvey()

    @property
    def fields_read(self) -> tuple[str, ...]:
        """The only top-level fields that are read, where any are named."""
        if not self.only:
            return ()
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys(path.split(".")[0] for path in (*self.only, *self.texts, self.label, *weight)))

    def _is_left_out(self, name: str) -> bool:
        """Return whether a top-level field is ignored."""
        return name in (self.label, self.weight, *self.ignore) or bool(self.only and name not in self.fields_read)

    def _kind(self, column: json_survey.SurveyedField) -> str | None:
        """Return how a field is read: numeric, categorical or text; None where it is ignored."""
        name = column.name
        if self._is_left_out(name):
            return None
        if name in self.texts:
            return "text"
        if name in self.numeric:
            return "numeric"
        return "categorical" if column.has_strings or name in self.categorical else "numeric"

    @property
    def _features(self) -> list[tuple[json_survey.SurveyedField, str]]:
        """The surveyed fields that are features, and how they are read."""
        read = [(column, self._kind(column)) for column in self.survey.fields]
        return [(column, kind) for column, kind in read if kind is not None]

    def describe(self) -> dict[str, Any]:
        found: dict[str, list[str]] = {"numeric": [], "categorical": [], "text": []}
        for column, kind in self._features:
            found[kind].append(column.name)
        counts = {column.name: len(column.distinct) for column, kind in self._features if kind == "categorical"}
        deep = [path for path in self.texts if path.split(".")[0] in self.survey.nested]
        found["text"] += [path for path in deep if path not in found["text"]]
        nested = {
            name: how
            for name, how in self.survey.nested.items()
            if not self._is_left_out(name) and name not in self.texts
        }
        others: dict[str, Any] = {"categories": counts, "nested": nested, "weight": self.weight}
        about = {**super().describe(), **found, **others, "ignored": list(self.ignore)}
        return {title: value for title, value in about.items() if value not in (None, [], {})}

    @property
    def notes(self) -> list[str]:
        seen = [column for column, _ in self._features if self.survey.is_in_all_objects(column)]
        gaps = [column.name for column, _ in self._features if column.has_nulls]
        return build_feature_notes(seen, gaps, len(self.survey.objects), self.missing)

    def find_doubts(self) -> list[str]:
        label = json_survey.LabelField(self.label, self.survey.values_at(self.label))
        found = label.find_doubts() + find_feature_doubts(self._features)
        lines = len(self.survey.objects)
        found += [
            f"field {column.name!r} alone determines the label of all {lines:,} sampled lines:"
            " --ignore it if it is known only after the label is."
            for column, _ in self._features
            if self.survey.is_in_all_objects(column) and determines_label(column, label.column)
        ]
        chosen = (*self.ignore, *self.only, *self.texts, *self.categorical, *self.numeric)
        said = dict.fromkeys(path.split(".")[0] for path in chosen)
        known = self.survey.names
        missing = [name for name in said if name not in known]
        return found + [f"no sampled line has the field {name!r}{suggest(name, known) or '.'}" for name in missing]

    def parser(self, *, named: bool, unlabelled: bool = False) -> JsonParser:
        return JsonParser(self, named, unlabelled)

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        start, stop, number, _ = (int(n) for n in span)
        line = block.text[start:stop].tobytes()
        chosen = self.ignore, self.fields_read, self.categorical, self.numeric, self.weight, self.missing
        return list_feature_names(
            line, self.label, self.texts, self.word_ngrams, self.char_ngrams, self.lowercase, *chosen
        )[number]

    @property
    def texts(self) -> tuple[str, ...]:
        return () if self.text is None else tuple(self.text.split(","))

    @property
    def bits_used(self) -> int:
        return self.hash_bits
