"""The reader: from file names to batches of examples in order, each with its file and line.

file names → text sources of blocks, or spans → parsers in threads → batches in order
"""

from __future__ import annotations

import math
import os
import select
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat, takewhile
from typing import TYPE_CHECKING, Any

from novikoff._compiled import buffers
from novikoff._compiled.buffers import Buffer, as_numpy, buffers_in_use
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data import datasets, formats
from novikoff.data.formats.base import BadLine, Format, ParsedBlock, Parser, ReadOptions, check_options_apply
from novikoff.data.formats.class_count import MANY_CLASSES, describe_many_classes
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.names.hashing import DEFAULT_HASH_BITS
from novikoff.data.names.name_collection import ColumnDictionary, SlotNames
from novikoff.data.parallel import run_in_order
from novikoff.data.rows import Dense, Rows, Sparse, slice_rows
from novikoff.data.text_source import BLOCK_BYTES, MIN_SPAN_BYTES, TextBlock, TextSource, open_source
from novikoff.errors import InputError, LabelError, TooManyNamesError

if TYPE_CHECKING:
    from novikoff.data import cache
    from novikoff.data.feature_maps import Mapper, MapSpec
    from novikoff.data.holdout import RowFilter
    from novikoff.data.shuffle.external import Shuffler

MAX_THREADS = 8
MAX_COUNTED_LABELS = 1000
MAX_DICTIONARY_NAMES = 1 << 16
"""Limit for a dictionary that --hash-bits 0 has not asked for."""
EXTRA_SLOTS = 2  # worker slots beside one per thread


@dataclass
class FileBatch:
    """Some examples, in order. Rows and keys may be overwritten when the next batch is requested."""

    rows: Rows
    parsed: ParsedBlock
    title: str
    lines_before: int
    features: int
    size: int = 0
    """Bytes of text."""
    table: bool = False
    """Whether every row has exactly these columns."""

    def __len__(self) -> int:
        return len(self.parsed.keys)

    def part(self, start: int, stop: int, rows: Rows | None = None) -> FileBatch:
        """Return examples start … stop − 1, with their own rows or with `rows` in place of them."""
        if (start, stop, rows) == (0, len(self), None):
            return self
        parsed, some = self.parsed, slice(start, stop)
        rows = slice_rows(self.rows, start, stop) if rows is None else rows
        of_some = parsed._replace(
            rows=rows,
            keys=parsed.keys[some],
            label=lambda i: parsed.label(i + start),
            weights=parsed.weights[some],
            line_of=parsed.line_of[some],
            sets=None if parsed.sets is None else (parsed.sets[0][start : stop + 1], parsed.sets[1]),
            numbers=None if parsed.numbers is None else parsed.numbers[some],
            groups=None if parsed.groups is None else parsed.groups[some],
        )
        return replace(self, rows=rows, parsed=of_some)

    def to_numpy(self) -> FileBatch:
        """Return the batch with NumPy arrays, if NumPy is imported (see `_compiled/buffers.py`)."""
        keys: Any = self.parsed.keys
        if type(keys) is not Buffer or buffers_in_use():
            return self
        return replace(self, rows=as_numpy(self.rows), parsed=as_numpy(self.parsed))

    def get_location(self, i: int) -> str:
        """Return file:line of example i."""
        return f"{self.title}:{self.lines_before + int(self.parsed.line_of[i]) + 1}"


class WorkerSlot:
    """A block with a parser for it, for one thread at a time."""

    def __init__(self, parser: Parser, size: int) -> None:
        self.block = TextBlock(size)
        self.parser = parser


@dataclass
class DataReader:
    """The examples of some files in order. The format is determined by the first file, or by a model."""

    titles: list[str]
    options: ReadOptions
    format: Format | None = None
    names: FeatureNames | None = None
    """Dictionary columns, in order of first appearance."""
    bad: Counter[str] = field(default_factory=Counter)
    """Number of lines that could not be parsed, by reason."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of examples that were parsed but not learned, by reason."""
    notes: list[str] = field(default_factory=list)
    """Notes on the files that were opened, such as ignored columns."""
    description: dict[str, Any] | None = None
    """The result of `describe`."""
    doubts: list[str] = field(default_factory=list)
    """Warnings about the first file."""
    shuffler: Shuffler | None = None
    """Puts the examples into a new random order in each pass; None keeps their order."""
    row_filter: RowFilter | None = None
    """Yields one side of a split into learned and held-out rows; None yields all rows."""
    _made: list[WorkerSlot] = field(default_factory=list)
    _used: list[NDArray[np.uint64]] = field(default_factory=list)
    _slot_names: SlotNames | None = None
    _columns: ColumnDictionary | None = None
    _cache_slots: list[cache.RecordBuffer] = field(default_factory=list)
    _mapper: Mapper | None = None
    format_from_this_run: bool = False
    """Whether the format comes from a file of this run, not from a model."""
    _source: TextSource | None = None
    """The file that is being read."""
    _bytes_before: int = 0
    """The size of the files that this pass has read."""
    _rows_yielded: int = 0
    """The number of examples of this pass so far."""
    _total_bytes: int | None = None
    _verified_caches: set[tuple[int, ...]] = field(default_factory=set)
    """Caches whose checksums have been verified."""

    def __post_init__(self) -> None:
        if self.options.keep_names:
            self.keep({})

    def batches(self) -> Iterator[FileBatch]:
        """Yield all examples from the start; counters are reset."""
        self.bad.clear()
        self.left_out.clear()
        self._source, self._bytes_before, self._rows_yielded = None, 0, 0
        batches = self._read_files()
        if self.row_filter is not None:
            batches = self.row_filter.select(self, batches)
        if self.shuffler is not None:  # before the map, which makes rows many times as long
            batches = self.shuffler.reorder(self, batches)
        for batch in batches if self.options.feature_map is None else self._map_batches(batches):
            self._rows_yielded += len(batch)
            yield batch.to_numpy()

    def fraction_read(self) -> float | None:
        """Return the fraction of the data that this pass has read, by bytes; by rows if they are shuffled. Return None
        for pipes and built-in streams."""
        if self.shuffler is not None:
            return min(1.0, self._rows_yielded / self.shuffler.rows) if self.shuffler.rows else None
        if self._total_bytes is None:
            self._total_bytes = sum(_measure_file(title) for title in self.titles)
        current = 0.0 if self._source is None else self._source.fraction_read()
        if self._total_bytes == 0 or current is None:
            return None
        size = 0 if self._source is None or self._source.status is None else self._source.status.st_size
        return min(1.0, (self._bytes_before + current * size) / self._total_bytes)

    def _read_files(self) -> Iterator[FileBatch]:
        """Yield all examples with their own features, in file order."""
        for title in self.titles:
            yield from [_load_builtin(title)] if is_builtin(title) else self._file(title)

    def columns(self, title: str) -> list[str] | None:
        """Return the column names of a table, where it has any."""
        file_columns = self.format.columns if self.format is not None else None
        names = datasets.DATASETS[title].names if is_builtin(title) else file_columns
        chosen = self.map()
        if chosen is None or names is None:
            return names
        return None if chosen.bits else [chosen.name(j, names) for j in range(chosen.columns(len(names)))]

    def shuffle_record(self) -> dict[str, Any] | None:
        """Return the permutation of the examples for the model file, once a pass has begun."""
        return None if self.shuffler is None else self.shuffler.record()

    def settings(self) -> dict[str, Any] | None:
        """Return how to read other data in the same way, for the model file, once the format is known."""
        found = {} if self.format is None else self.format.settings()
        if self.options.feature_map is not None:
            found |= {"feature_map": self.options.feature_map, "feature_map_bits": self.options.feature_map_bits}
        if self._get_foreign_encoding() is not None and found:
            found |= {"encoding": self._get_foreign_encoding()}
        return found or None

    def _get_foreign_encoding(self) -> str | None:
        """Return the encoding of the text, unless it is UTF-8."""
        return None if self.options.encoding in ("utf-8", "ascii") else self.options.encoding

    def map(self) -> MapSpec | None:
        """Return the feature map, once the format is known; None without one."""
        if self.options.feature_map is None:
            return None
        bits = self.format.bits_used if self.format is not None else None
        if bits == 0 or self.options.keep_names:
            raise InputError("--feature-map can't name its products: leave out --hash-bits 0 and --keep-names.")
        from novikoff.data.feature_maps import MapSpec

        return MapSpec.parse(self.options.feature_map, self.options.feature_map_bits or bits)

    def _map_batches(self, batches: Iterable[FileBatch]) -> Iterator[FileBatch]:
        from novikoff.data.feature_maps import Mapper

        for batch in batches:
            if self._mapper is None:
                chosen = self.map()
                assert chosen is not None  # noqa: S101 - called only with a feature map
                self._mapper = Mapper(chosen)
            yield from self._mapper.batches(batch, self.bad if self.options.bad_lines == "skip" else None)

    def keep(self, names: dict[int, str]) -> None:
        """Start from the names of slots that a model has kept."""
        self._slot_names = SlotNames(dict(names), self.options.keep_names << 20)

    @property
    def kept(self) -> dict[int, str]:
        """The first name of each hashed slot."""
        return {} if self._slot_names is None else self._slot_names.kept

    def describe(self, first: FileBatch) -> None:
        """Describe the format, the columns and the first labels in `description`; warn in `doubts` of many classes."""
        about: dict[str, Any] = {"files": list(self.titles)}
        about |= self.format.describe() if self.format is not None else {"format": "built-in"}
        labels = read_first_labels(first)
        about["label"] = count_labels(labels)
        named = getattr(self.format, "label", None)
        if named is not None:
            about["label_column"] = named
        counted = self.format is not None and self.format.counts_classes
        if not counted and not _has_queries(first):  # their labels are grades, not classes
            classes = list(count_classes(labels))
            if len(classes) > MANY_CLASSES:
                self.doubts.append(describe_many_classes(classes, len(labels), named))
        self.description = about

    def report(self) -> dict[str, Any]:
        """Return counts for the user: bad lines by reason, and slots that names share."""
        bad = self.bad + self.left_out
        about: dict[str, Any] = {"bad_lines": dict(bad)} if bad else {}
        bits = self.format.bits_used if self.format is not None else None
        if bits:
            slots = 1 << bits
            used = int.from_bytes(self._list_used_slots().tobytes(), "little").bit_count()
            counted = self._slot_names is not None
            # The estimate stays finite where every slot is used: half a slot counts as free.
            expected = slots * math.log(slots / max(slots - used, 0.5)) - used
            about |= {"slots": slots, "slots_used": used, "collisions_counted": counted}
            about["collisions"] = round(expected) if self._slot_names is None else self._slot_names.collisions
        return about

    def _file(self, title: str) -> Iterator[FileBatch]:
        with open_source(title, self._get_foreign_encoding()) as feed:
            before = self._open(feed)
            fmt, self._source = self.format, feed
            assert fmt is not None  # noqa: S101 - _open sets it
            examples = 0
            for batch in (
                self._iter_cached(feed, fmt, before) if self.options.cache else self._iter_text(feed, fmt, before)
            ):
                examples += len(batch)
                yield batch
            self._source = None
            self._bytes_before += 0 if feed.status is None else feed.status.st_size
        if examples == 0:
            raise InputError(f"{feed.title}: is empty, or has comments only: there are no examples in it.")

    def _iter_text(self, feed: TextSource, fmt: Format, lines: int) -> Iterator[FileBatch]:
        """Yield batches of the text; `lines` is the number of lines that were skipped at the beginning."""
        pieces = fmt.pieces(feed, self.options.block)

        def take(place: WorkerSlot) -> bool:
            place.parser.piece = None if pieces is None else next(pieces, None)
            return (
                feed.fill(place.block, fmt.find_last_record_end) if pieces is None else place.parser.piece is not None
            )

        def do(place: WorkerSlot) -> tuple[TextBlock, ParsedBlock]:
            return place.block, place.parser.parse(place.block)

        places = self._places(fmt, feed.size)
        if len(places) == 1:
            results: Iterator[tuple[TextBlock, ParsedBlock]] = map(do, takewhile(take, repeat(places[0])))
        else:
            results = run_in_order(places, take, do, spare=EXTRA_SLOTS, consumer_waits=feed.status is None)
        for block, parsed in results:
            self._judge(parsed.problems, feed.title, lines)
            if len(parsed.keys):
                yield self._build_batch(fmt, block, parsed, feed.title, lines)
            lines += parsed.lines

    def _iter_cached(self, feed: TextSource, fmt: Format, lines: int) -> Iterator[FileBatch]:
        """Yield batches from the cache, or from the text while a cache is written."""
        from novikoff.data import cache

        if fmt.bits_used == 0 and self.options.hash_bits is None:
            note = (
                "--cache is not used: the features of this file have a dictionary of names; --hash-bits 18 hashes them"
            )
            self.notes += [] if note in self.notes else [note]
            yield from self._iter_text(feed, fmt, lines)
            return
        named = fmt.bits_used == 0 or self.options.keep_names > 0
        if named or self.options.multilabel or feed.status is None:
            raise InputError(
                "--cache needs features that are hashed or numbered: leave it out for standard input, with"
                " --hash-bits 0 or --keep-names, and with label sets."
            )
        if getattr(fmt, "several", False):  # detected, not requested: caches hold one label per example
            yield from self._iter_text(feed, fmt, lines)
            return
        how = {**fmt.settings(), "unlabelled": self.options.unlabelled}
        how |= {} if self._get_foreign_encoding() is None else {"encoding": self._get_foreign_encoding()}
        stamp = cache.CacheKey.from_status(feed.status, how)
        already = 0
        with cache.open_cache(feed.title, stamp, lenient=self.options.bad_lines == "skip") as found:
            try:
                if found is not None:
                    for batch in self._from_cache(found, feed.title, lines):
                        feed.fraction = found.at / found.stop
                        yield batch
                        already += len(batch)
                    return
            except cache.CacheDamagedError:
                feed.fraction = None
        yield from self._write_cache(feed, fmt, lines, stamp, already)

    def _from_cache(self, found: cache.CacheReader, title: str, lines: int) -> Iterator[FileBatch]:
        known = found.state in self._verified_caches

        def do(place: cache.RecordBuffer) -> ParsedBlock:
            return found.parse_record(place, known=known)

        for parsed in run_in_order(self._get_cache_slots(), found.take, do):
            table = isinstance(parsed.rows, Dense)
            yield FileBatch(parsed.rows, parsed, title, lines, parsed.features, table=table)
            lines += parsed.lines
        self._verified_caches.add(found.state)
        self.bad.update(found.bad)
        self._used.append(found.used)

    def _get_cache_slots(self) -> list[cache.RecordBuffer]:
        """Return the buffers for records, made once. One thread reads: more would only wait for memory."""
        from novikoff.data import cache

        if not self._cache_slots:
            self._cache_slots = [cache.RecordBuffer() for _ in range(3 if self._threads() > 1 else 1)]
        return self._cache_slots

    def _write_cache(
        self, feed: TextSource, fmt: Format, lines: int, stamp: cache.CacheKey, already: int
    ) -> Iterator[FileBatch]:
        """Yield batches of the text while a cache is written, but not the `already` examples from a damaged cache."""
        from novikoff.data import cache

        bad = self.bad.copy()
        self._used.append(self._list_used_slots())
        for place in self._places(fmt, feed.size):
            place.parser.used[:] = 0  # collect the slots of this file only
        writer = cache.CacheWriter(feed.title, stamp)
        complete = False
        try:
            for batch in self._iter_text(feed, fmt, lines):
                # Lines of blocks without examples, which make no record, are counted with the next record.
                parsed, skipped = batch.parsed, batch.lines_before - lines
                late = parsed._replace(line_of=parsed.line_of + skipped, lines=parsed.lines + skipped)
                writer.add(batch.rows, late, batch.features)
                lines += late.lines
                if already < len(batch):
                    yield batch.part(already, len(batch))
                already = max(0, already - len(batch))
            complete = True
        finally:
            if complete:
                writer.close(dict(self.bad - bad), _merge_bitsets(place.parser.used for place in self._made))
            else:
                writer.drop()

    def _places(self, fmt: Format, file_bytes: int | None = None) -> list[WorkerSlot]:
        """Return the worker slots, made once and used for all files; one for a file that is parsed in one piece."""
        size = self.options.block or fmt.default_block_bytes
        size = min(size, fmt.max_block_bytes or size)
        is_one_piece = fmt.is_text and 0 < (file_bytes or 0) <= min(size, MIN_SPAN_BYTES)
        threads = 1 if is_one_piece else self._threads()
        count = threads + EXTRA_SLOTS if threads > 1 else 1
        while len(self._made) < count:
            parser = fmt.parser(named=self.options.keep_names > 0, unlabelled=self.options.unlabelled)
            self._made.append(WorkerSlot(parser, size))
        return self._made[:count]

    def _threads(self) -> int:
        return self.options.threads or min(len(os.sched_getaffinity(0)), MAX_THREADS)

    def _list_used_slots(self) -> NDArray[np.uint64]:
        return _merge_bitsets([*(place.parser.used for place in self._made), *self._used])

    def _open(self, feed: TextSource) -> int:
        """Determine the format from the first file; return the number of lines to skip at the beginning."""
        head = feed.head()
        if self.format is None:
            name = self.options.format or formats.detect_format(feed.title, _read_head(feed, head, Format))
            kind: type[Format] = formats.get_format_class(name)
            head = _read_head(feed, head, kind)
            check_options_apply(self.options, kind, name)
            prefers_max = self.options.prefer_largest and "collisions" in kind.options
            collisions = "max" if prefers_max else self.options.collisions
            self.format = kind.from_options(replace(self.options, collisions=collisions), head, feed.title)
            self.format_from_this_run = not self.options.unlabelled
            self.doubts += [
                *formats.find_format_doubts(feed.title, name, self.options.format),
                *self.format.find_doubts(),
            ]
        else:
            head = _read_head(feed, head, type(self.format))
        doubt = f"{feed.title} is not UTF-8 text: it may be --encoding latin-1."
        if self.format.is_text and not formats.is_utf8(head) and doubt not in self.doubts:
            self.doubts.append(doubt)
        size, lines = self.format.find_data_start(
            head, feed.title, header=self.options.header, same_run=self.format_from_this_run
        )
        self.notes += [note for note in self.format.notes if note not in self.notes]
        feed.skip(size)
        return lines

    def _judge(self, problems: list[BadLine], title: str, lines: int) -> None:
        if problems and self.options.bad_lines != "skip":
            first = problems[0]
            raise InputError(f"{title}:{lines + first.line + 1}: {first.sentence}")
        self.bad.update(p.reason for p in problems)

    def _build_batch(self, fmt: Format, block: TextBlock, parsed: ParsedBlock, title: str, lines: int) -> FileBatch:
        rows, features = parsed.rows, parsed.features
        if len(parsed.hashes) and isinstance(rows, Sparse):
            used = parsed.hashes[: int(rows.starts[-1])]

            def name_of(at: int) -> str:
                return fmt.feature_name(block, parsed.spans[at])

            if fmt.bits_used != 0:
                if self._slot_names is not None:
                    self._slot_names.keep_names(rows, used, name_of)
            else:
                if self._columns is None:
                    self.names = FeatureNames() if self.names is None else self.names
                    self._columns = ColumnDictionary(self.names)
                rows = self._columns.number_columns(rows, used, name_of)
                features = len(self._columns.names)
                if features > MAX_DICTIONARY_NAMES and self.options.hash_bits is None and self.format_from_this_run:
                    raise TooManyNamesError(
                        f"{title}: has more than {MAX_DICTIONARY_NAMES:,} different categories: --hash-bits"
                        f" {DEFAULT_HASH_BITS} hashes them"
                        " into a model of fixed size, --hash-bits 0 keeps all of their names."
                    )
        return FileBatch(rows, parsed, title, lines, features, block.text_bytes_read, isinstance(rows, Dense))


def _read_head(feed: TextSource, head: bytes, kind: Any) -> bytes:
    """Return the first bytes, whole lines if possible; of a pipe those that are there without a long wait."""
    if feed.size is not None:  # a file: `head` returned all that is needed
        return head
    while len(head) < BLOCK_BYTES:
        if (
            feed.waits is not None
            and kind.is_sufficient(head)
            and not select.select([feed.waits], [], [], kind.pipe_wait_seconds)[0]
        ):
            break
        longer = feed.head()
        if len(longer) == len(head):
            return head
        head = longer
    return head[: head.rfind(b"\n") + 1] or head


def _merge_bitsets(used: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Return the union of bitsets, some of which may be empty."""
    together, size = 0, 0
    for words in used:
        together |= int.from_bytes(words.tobytes(), "little")
        size = max(size, words.nbytes)
    return buffers.frombuffer(together.to_bytes(size, "little"), "uint64")


def _measure_file(title: str) -> int:
    """Return the size of a regular file; 0 for others, and for built-in streams."""
    return os.path.getsize(title) if os.path.isfile(title) else 0


def is_builtin(title: str) -> bool:
    return title in datasets.DATASETS and not os.path.exists(title)


def check_sources(titles: list[str]) -> None:
    """Raise InputError for a name that is neither a file nor a built-in stream."""
    for title in titles:
        if title != "-" and not is_builtin(title) and not os.path.exists(title):
            known = ", ".join(datasets.DATASETS)
            raise InputError(f"{title}: no such file, and no built-in stream of that name (there are {known}).")


def _load_builtin(title: str) -> FileBatch:
    rows, labels, width = datasets.load_builtin_dataset(title)
    codes = {label: k for k, label in enumerate(dict.fromkeys(labels.tolist()))}
    parsed = ParsedBlock(
        rows=rows,
        keys=buffers.array([codes[label] for label in labels.tolist()], "uint64"),
        label=lambda i: labels[i].item(),
        weights=buffers.zeros(0),
        line_of=np.arange(len(labels)),
        lines=len(labels),
        features=width,
        problems=[],
        hashes=buffers.zeros(0, "uint64"),
        spans=buffers.zeros((0, 4), "int64"),
    )
    return FileBatch(rows, parsed, title, 0, width, table=True)


def _has_queries(batch: FileBatch) -> bool:
    return batch.parsed.groups is not None and bool(batch.parsed.groups.max() >= 0)


def read_first_labels(batch: FileBatch) -> list[Any]:
    """Return the labels of the first examples that have one; those of several labels are lists, or left out."""
    found: list[Any] = []
    for i in range(min(len(batch), MAX_COUNTED_LABELS)):
        try:
            label = batch.parsed.label(i)
        except LabelError:
            continue
        if label is not None and batch.parsed.sets is None:
            found.append(label)
    return found


def count_labels(labels: Iterable[Any]) -> dict[str, int]:
    """Return how many examples have each label, or each list of labels."""
    names = (", ".join(map(str, label)) if isinstance(label, list) else str(label) for label in labels)
    return dict(Counter(names).most_common())


def count_classes(labels: Iterable[Any]) -> dict[str, int]:
    """Return how many examples have each class, also as one of several."""
    return count_labels(label for some in labels for label in (some if isinstance(some, list) else [some]))
