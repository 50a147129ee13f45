"""Batches of NDJSON lines: read as json.loads reads them, learned and predicted as single examples."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import SGD, Kesler, OneVsAll, Perceptron, Winnow
from novikoff._compiled.jit import JIT_DISABLED
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats.json.ndjson_events import EventLimits, EventRows, EventTerms, parse_events
from novikoff.data.names.hashing import hash_name
from novikoff.data.names.string_table import HASH_SEED, StringTable
from novikoff.errors import InputError
from novikoff.model_file import from_bytes, to_bytes
from novikoff.server.models.batch_engine import BatchEngine
from novikoff.server.models.features import get_encoder, predict_with_score
from novikoff.server.models.line_runs import ExampleError, IrregularLine, LineRun
from tests.helpers.guard_pages import GuardedMemory, has_guard_pages
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.multiclass_schemes import SCHEMES, SINGLE_LABEL_SCHEMES, draw_labelled, make_scheme, slow_unless

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),  # without Numba
    pytest.mark.plain_python_coverage,
]
QUICK = ("perceptron", "winnow")
NAMES = [f"name{j}" for j in range(12)]


def line(features: Any, label: Any = None, **how: Any) -> bytes:
    event = {"features": features} | ({} if label is None else {"label": label})
    return json.dumps(event, **how).encode()


def examples_of(data: bytes, bulk: BatchEngine | None = None) -> tuple[dict[int, Any], dict[int, bytes]]:
    """Return the regular lines by their number, and the irregular ones."""
    usual: dict[int, Any] = {}
    odd: dict[int, bytes] = {}
    for part in (bulk or BatchEngine(most_features=50, longest_name=40)).runs(data):
        if isinstance(part, IrregularLine):
            odd[part.line] = part.data
        else:
            for i in range(len(part)):
                label = part.label(i) if part.has_label(i) else None
                usual[part.line(i)] = part.features(i), label, part.data(i)
    return usual, odd


def check(data: bytes) -> tuple[dict[int, Any], dict[int, bytes]]:
    """Check that each line is parsed, with the result of json.loads."""
    usual, odd = examples_of(data)
    for number, text_line in enumerate(data.split(b"\n"), 1):
        if number in usual:
            features, label, raw = usual.pop(number)
            assert raw == text_line
            pairs = json.loads(text_line, object_pairs_hook=list)
            assert all(isinstance(name, str) for name, _ in pairs)
            assert sorted(name for name, _ in pairs) in (["features"], ["features", "label"])
            meant = dict(pairs)
            assert list(features.items()) == [(name, float(value)) for name, value in meant["features"]]
            assert len({name for name, _ in meant["features"]}) == len(meant["features"])
            assert (type(label), label) == (type(meant.get("label")), meant.get("label"))
        elif number in odd:
            assert odd.pop(number) == text_line
        else:
            assert not text_line.strip(b" \t\r")
    assert not usual
    assert not odd
    return examples_of(data)


# --- Reading ---


def test_usual_lines_are_read_as_by_json() -> None:
    lines = [
        b'{"features":{"a":1,"b":-2.5},"label":"x"}',
        b' { "label" : 1 , "features" : { "a" : 1e3 , "b" : 0.1 } } \r',
        b"",
        b" \t\r",
        b'{"features":{},"label":true}',
        '{"features":{"Größe":1.5,"":0,"日本":-0.0},"label":"ä"}'.encode(),
        b'{"features":{"a":123456789012345678901234567890,"b":2.2250738585072011e-308,"c":1e-400},"label":false}',
        b'{"features":{"a":0.1234567890123456789,"b":9007199254740993,"c":1.7976931348623157e308}}',
        b'{"features":{"a":999999999999999.5,"b":0.000000000000001,"c":12345678901234.5,"d":-0}}',
        b'{"label":-12.0,"features":{"a b":1E+2}}',
    ]
    usual, odd = check(b"\n".join(lines))
    assert not odd
    assert list(usual) == [1, 2, 5, 6, 7, 8, 9, 10]
    assert check(b"\n".join(lines) + b"\n") == (usual, odd)
    assert examples_of(b"") == ({}, {})


ODD_LINES = [
    b'{"features":{"a":1},"label":"x"} 1',
    b'{"features":{"a":1,"a":2},"label":"x"}',
    b'{"features":{"a":1,"\\u0061":2},"label":"x"}',
    b'{"features":{"a\\n":1},"label":"x"}',
    b'{"features":{"a":1},"label":"x\\n"}',
    b'{"features":["a","b"],"label":"x"}',
    b'{"features":{"a":{"b":1}},"label":"x"}',
    b'{"features":{"a":true},"label":"x"}',
    b'{"features":{"a":null},"label":"x"}',
    b'{"features":{"a":"1"},"label":"x"}',
    b'{"features":{"a":NaN},"label":"x"}',
    b'{"features":{"a":Infinity},"label":"x"}',
    b'{"features":{"a":1e400},"label":"x"}',
    b'{"features":{"a":01},"label":"x"}',
    b'{"features":{"a":1.},"label":"x"}',
    b'{"features":{"a":.5},"label":"x"}',
    b'{"features":{"a":+1},"label":"x"}',
    b'{"features":{"a":1e},"label":"x"}',
    b'{"features":{"a":-},"label":"x"}',
    b'{"features":{"a":1,},"label":"x"}',
    b'{"features":{"a":1}"label":"x"}',
    b'{"features":{"a":1},"label":"x",}',
    b'{"features":{"a":1},"label":null}',
    b'{"features":{"a":1},"label":["x"]}',
    b'{"features":{"a":1},"label":12345678901234567}',
    b'{"features":{"a":1},"label":"x","label":"x"}',
    b'{"features":{"a":1},"features":{"b":1}}',
    b'{"label":"x"}',
    b"{}",
    b"[]",
    b'{"id":"7","label":"x"}',
    b'{"features":{"a":1},"label":"x","more":1}',
    b'{"features":{"\xff":1},"label":"x"}',
    b'{"features":{"a":1},"label":"\xc0\xaf"}',
    b'{"features":{"\xed\xa0\x80":1},"label":"x"}',
    b'{"features":{"a\x00b":1},"label":"x"}',
    b'{"features":{"a":1},"label":"x"',
    b'{"features":{"a":1',
    b'{"features":{"a',
    b'{"feat',
    b'{"features":{"a":1},"label":tru}',
    b'{"features":{"a":1},"label":trueish}',
    b'{"features":{"%s":1},"label":"x"}' % (b"n" * 41),
    line({f"f{j}": 1 for j in range(51)}, "x"),
    b"\xef\xbb\xbf" + line({"a": 1}, "x"),
]


def test_invalid_lines_are_reported_with_their_number() -> None:
    good = line({"a": 1}, "x")
    data = b"\n".join(part for odd in ODD_LINES for part in (good, odd))
    usual, odd = examples_of(data)
    assert odd == {2 * k + 2: text_line for k, text_line in enumerate(ODD_LINES)}
    assert list(usual) == list(range(1, 2 * len(ODD_LINES), 2))
    for text_line in ODD_LINES:  # the last line, without a line feed
        assert examples_of(text_line) == ({}, {1: text_line})


names = st.text(max_size=20).filter(lambda name: name.isprintable() and not set(name) & set('"\\'))
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**30), 10**30), st.integers(-99, 99)
)
labels = st.one_of(names, st.integers(-(10**9), 10**9), st.booleans(), st.none())


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.dictionaries(names, numbers, max_size=45), labels, st.booleans(), st.booleans()), max_size=6)
)
def test_generated_lines_are_read_as_by_json(made: list[Any]) -> None:
    lines = []
    for features, label, other_order, ascii_only in made:
        event = {"features": features} | ({} if label is None else {"label": label})
        members = reversed(event.items()) if other_order else event.items()
        separators = (", ", ": ") if other_order else (",", ":")
        escaped = ascii_only and all(map(str.isascii, [*features, str(label)]))
        lines.append(json.dumps(dict(members), separators=separators, ensure_ascii=escaped).encode())
    usual, odd = check(b"\n".join(lines))
    assert len(usual) == len(lines)
    assert not odd


def damage(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(out))
        kind = rng.randrange(5)
        piece = rng.choice(
            [b'"', b"\\", b"{", b"}", b",", b":", b"e", b"-", b".", b"0", b"1", b"\xc3", b"\n", b"\t", b"\0"]
        )
        if kind == 0:
            out[at : at + 1] = piece
        elif kind == 1:
            out[at:at] = piece
        elif kind == 2:
            del out[at : at + rng.randrange(1, 5)]
        elif kind == 3:
            other = rng.randrange(len(out))
            out[at:at] = out[other : other + rng.randrange(1, 30)]
        else:
            del out[at:]
        out = out or bytearray(b"{")
    return bytes(out)


GOOD = [
    line({"a": 1, "bcd": -2.5, "e f": 1e-7}, "spam"),
    line({"a": 12345678.125}, 1, separators=(",", ":")),
    b'{"label":true,"features":{"\xc3\xa4":0.5,"b":10}}',
    line({f"f{j}": j / 7 for j in range(30)}, "ham", separators=(",", ":")),
]


@pytest.mark.parametrize("seed", range(2))
def test_damaged_lines_are_reported(seed: int) -> None:
    """Each line that is parsed as regular is accepted by json.loads, with the same meaning."""
    rng = random.Random(seed)
    for _ in range(20 if JIT_DISABLED else 300):
        check(b"\n".join(damage(rng, rng.choice(GOOD)) for _ in range(4)))


@pytest.mark.skipif(not has_guard_pages(), reason="this system has no guard pages")
def test_nothing_is_read_past_the_text() -> None:
    rng = random.Random(5)
    limits, room = EventLimits(60, 50), 4
    memories: list[GuardedMemory] = []

    def guarded_array(size: int, kind: Any) -> Any:
        memories.append(GuardedMemory())
        return memories[-1].place((size,), kind, late=rng.random() < 0.8)

    for _ in range(10 if JIT_DISABLED else 200):
        data = b"\n".join(damage(rng, rng.choice(GOOD)) for _ in range(2))
        memories.clear()
        text = guarded_array(len(data) + 2 * PADDING_BYTES + 1, np.uint8)
        text[:] = 0
        text[PADDING_BYTES : PADDING_BYTES + len(data)] = np.frombuffer(data, np.uint8)
        text[PADDING_BYTES + len(data)] = 10
        terms = EventTerms(guarded_array(70, np.uint64), guarded_array(70, np.int64), guarded_array(70, np.float64))
        found = EventRows(
            starts=guarded_array(room + 1, np.int64),
            labels=guarded_array(room, np.int64),
            label_hashes=guarded_array(room, np.uint64),
            lines=guarded_array(room, np.int64),
            begins=guarded_array(room, np.int64),
        )
        marks = guarded_array(256, np.int64)
        start, line_number, stop = PADDING_BYTES, 0, PADDING_BYTES + len(data)
        while start < stop:
            _, start, line_number, what = parse_events(
                text, start, stop, line_number, HASH_SEED, limits, terms, marks, found
            )
            if what:
                start, line_number = int(text.tobytes().index(b"\n", start)) + 1, line_number + 1
        assert all(memory.is_intact() for memory in memories)
        assert line_number == data.count(b"\n") + (not data.endswith(b"\n"))


def test_batches_of_many_lines_are_read() -> None:
    bulk = BatchEngine()
    data = b"\n".join(line({f"n{j % 97}": j}, j % 2) for j in range(9000))
    parts = list(bulk.runs(data))
    assert [len(part) for part in parts if isinstance(part, LineRun)] == [4096, 4096, 808]
    assert [part.first for part in parts if isinstance(part, LineRun)] == [1, 4097, 8193]
    first = parts[0]
    assert isinstance(first, LineRun)
    assert first.features(5) == {"n5": 5.0}  # not written over by later ones
    assert first.after(4000).features(7) == first.features(4007)
    with pytest.raises(InputError, match="longest_name"):
        BatchEngine(longest_name=1 << 20)


def test_names_are_looked_up_exactly() -> None:
    table, words = StringTable(), [f"w{j}".encode() * (1 + j % 4) for j in range(3000)] + [b"", b"\0", b"\0\0"]
    table.add(words[:7])
    table.add(words[7:])
    text = np.zeros(PADDING_BYTES * 2 + 40, np.uint8)
    from novikoff.data.names.hashing import hash_bytes

    for number, text_line in [*enumerate(words[:50]), *enumerate(words[2990:], 2990), (9, b"w"), (9, b"\0\0\0")]:
        text[PADDING_BYTES : PADDING_BYTES + 40] = 65
        text[PADDING_BYTES : PADDING_BYTES + len(text_line)] = np.frombuffer(text_line, np.uint8)
        h = np.array([hash_bytes(text, PADDING_BYTES, PADDING_BYTES + len(text_line), HASH_SEED[0])], np.uint64)
        found, missing = table.find(h, text, np.array([PADDING_BYTES << 16 | len(text_line)]), 9)
        assert (int(found[0]), missing) == (number, int(text_line not in words))
        # Another text with the same hash is another text.
        text[PADDING_BYTES] ^= 1
        if len(text_line):
            assert table.find(h, text, np.array([PADDING_BYTES << 16 | len(text_line)]), 9)[1] == 1


# --- Learning and predicting ---


def stream(seed: int, name: str, rows: int = 60) -> list[tuple[dict[str, float], Any]]:
    rng = np.random.default_rng(seed)
    out = []
    for t in range(rows):
        known = NAMES[: 4 + t // 8]  # new names now and then
        chosen = rng.permutation(known)[: rng.integers(0, len(known) + 1)].tolist() if t else known
        values = clip_to_range(name, rng.standard_normal(len(chosen)) * (rng.random(len(chosen)) < 0.9))
        out.append((dict(zip(chosen, values.tolist(), strict=True)), ["no", "yes"][int(rng.integers(0, 2))]))
    return out


def learn_one_by_one(model: Any, examples: list[tuple[Any, Any]]) -> Any:
    for x, y in examples:
        model.learn_one(x, y)
    return model


def to_lines(examples: list[tuple[Any, Any]]) -> bytes:
    return b"\n".join(line(x, y) for x, y in examples)


def learn_lines(model: Any, bulk: BatchEngine, data: bytes) -> int:
    return sum(bulk.learn(model, part) for part in bulk.runs(data) if isinstance(part, LineRun))


def check_same_predictions(model: Any, bulk: BatchEngine, asked: list[dict[str, float]]) -> None:
    (run,) = bulk.runs(b"\n".join(map(line, asked)))
    assert isinstance(run, LineRun)
    before = to_bytes(model)
    predicted, scores = bulk.predict(model, run)
    assert to_bytes(model) == before
    one = [predict_with_score(model, x) for x in asked]
    assert predicted == [label for label, _ in one]
    assert [type(label) for label in predicted] == [type(label) for label, _ in one]
    assert np.array(scores).tobytes() == np.array([score for _, score in one]).tobytes()


@pytest.mark.parametrize("name", [pytest.param(n, marks=slow_unless(n in QUICK)) for n in ALL_LEARNERS])
def test_every_learner_learns_and_predicts_batches_as_single_examples(name: str) -> None:
    examples = stream(3, name)
    if ALL_LEARNERS[name]._spec().fixed_width_reason is not None:
        with pytest.raises(ExampleError):
            learn_lines(make_learner(name), BatchEngine(), to_lines(examples))
        return
    model, bulk = make_learner(name), BatchEngine()
    reference = learn_one_by_one(make_learner(name), examples)
    for start, stop in [(0, 1), (1, 30), (30, 31), (31, 60)]:
        assert learn_lines(model, bulk, to_lines(examples[start:stop])) == stop - start
    assert to_bytes(model) == to_bytes(reference)
    asked = [{**x, "unknown": 1.0, "other": 0.0} for x, _ in stream(4, name)]
    check_same_predictions(model, bulk, asked)
    again = from_bytes(to_bytes(model), "it")
    more = stream(5, name)
    assert learn_lines(again, BatchEngine(), to_lines(more)) == len(more)
    assert to_bytes(again) == to_bytes(learn_one_by_one(reference, more))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=slow_unless(n in ("kesler", "one-vs-all"))) for n in SINGLE_LABEL_SCHEMES]
)
def test_every_scheme_learns_and_predicts_batches_as_single_examples(name: str) -> None:
    X, y = draw_labelled(name, seed=2)
    examples = [({f"f{j}": float(v) for j, v in enumerate(x) if v or j % 2}, c) for x, c in zip(X, y, strict=True)]
    model, bulk, reference = make_scheme(name), BatchEngine(), learn_one_by_one(make_scheme(name), examples)
    assert learn_lines(model, bulk, to_lines(examples[:20])) == 20
    assert learn_lines(model, bulk, to_lines(examples[20:])) == len(examples) - 20
    assert to_bytes(model) == to_bytes(reference)
    check_same_predictions(model, bulk, [{**x, "unknown": 2.0} for x, _ in examples])
    check_same_predictions(model, bulk, [examples[0][0]])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=slow_unless(False)) for n in SCHEMES if n not in SINGLE_LABEL_SCHEMES]
)
def test_schemes_with_other_labels_predict_batches(name: str) -> None:
    X, y = draw_labelled(name, seed=2)
    model = make_scheme(name)
    for x, label in zip(X, y, strict=True):
        model.learn_one({f"f{j}": float(v) for j, v in enumerate(x)}, label)
    check_same_predictions(model, BatchEngine(), [{f"f{j}": float(v) for j, v in enumerate(x)} for x in X])


BAD: dict[str, tuple[Any, dict[str, float], Any]] = {
    "a third label": (Perceptron(), {"brand": 1.0, "new": 2.0}, "maybe"),
    "a label that is not a class": (Perceptron(), {"brand": 1.0}, 1.5),
    "out of range": (Winnow(threshold=3.0), {"brand": 1.0, "new": 2.0}, "yes"),
    "too large": (Perceptron(), {"brand": 1.0, "new": 1e200}, "no"),
    "a label of another kind": (Kesler(), {"brand": 1.0}, 7),
    "too large for many": (OneVsAll(), {"brand": 1e200}, "new label"),
    "no label": (Perceptron(), {"brand": 1.0}, None),
}


@pytest.mark.parametrize("why", BAD)
def test_a_refused_example_ends_the_batch_before_it(why: str) -> None:
    model, bad, label = BAD[why]
    name = "winnow" if isinstance(model, Winnow) else "perceptron"
    good, rest = stream(7, name, rows=40), stream(8, name, rows=20)
    for prefix in (0, 12, 25, 40):
        mine, other = (type(model)(**model.get_params(deep=False)) for _ in range(2))
        bulk = BatchEngine()
        learn_one_by_one(other, good[:prefix])
        (run,) = bulk.runs(to_lines([*good[:prefix], (bad, label), *rest]))
        assert isinstance(run, LineRun)
        if prefix == 0 and why not in ("too large", "out of range", "no label", "a label that is not a class"):
            continue
        with pytest.raises(ExampleError) as refused:
            bulk.learn(mine, run)
        assert refused.value.taken == prefix
        if label is not None:
            with pytest.raises(type(refused.value.problem)) as plain:
                other.learn_one(bad, label)
            assert str(plain.value) == str(refused.value)
        if prefix:
            assert to_bytes(mine) == to_bytes(other)
            assert "brand" not in mine.feature_names_in_
        # Later lines are learned as if this one were absent.
        assert bulk.learn(mine, run.after(prefix + 1)) == len(rest)
        assert to_bytes(mine) == to_bytes(learn_one_by_one(other, rest))


def test_diverging_weights_stop_the_batch() -> None:
    def model() -> Any:
        return SGD(loss="squared", schedule="constant", learning_rate=1e-15)

    examples = [({"a": 1e9, f"n{t}": 1.0}, t % 2) for t in range(60)]
    (run,) = BatchEngine().runs(to_lines(examples))
    assert isinstance(run, LineRun)
    mine, other = model(), model()
    with pytest.raises(ExampleError) as refused:
        BatchEngine().learn(mine, run)
    with pytest.raises(type(refused.value.problem)):
        learn_one_by_one(other, examples)
    assert refused.value.taken == other.ledger_.examples > 8
    assert to_bytes(mine) == to_bytes(other)


def test_changed_settings_are_refused() -> None:
    model, bulk, examples = Perceptron(), BatchEngine(), stream(1, "perceptron")
    learn_lines(model, bulk, to_lines(examples))
    model.set_params(margin=0.5)
    with pytest.raises(ExampleError, match="have changed"):
        learn_lines(model, bulk, to_lines(examples))


def test_an_unfitted_model_predicts_no_label() -> None:
    (run,) = BatchEngine().runs(line({"a": 1.0}))
    assert isinstance(run, LineRun)
    assert BatchEngine().predict(Perceptron(), run) == ([None], [0.0])


def test_features_that_overflow_are_refused_after_the_valid_ones() -> None:
    for model in (Winnow(threshold=3.0), Kesler(Perceptron())):
        bulk = BatchEngine()
        learn_lines(model, bulk, to_lines(stream(1, "winnow")))
        (run,) = bulk.runs(b"\n".join([*(line({"name1": 1.0}) for _ in range(20)), line({"name1": 1e200})]))
        assert isinstance(run, LineRun)
        with pytest.raises(ExampleError) as refused:
            bulk.predict(model, run)
        assert refused.value.taken == 20


def test_several_models_learn_from_one_batch() -> None:
    """Bulk and single examples take turns; several models learn from one run."""
    examples = stream(9, "perceptron", rows=60)
    one, other, reference = Perceptron(), Kesler(), Perceptron()
    first, second = BatchEngine(), BatchEngine()
    for start in range(0, 60, 20):
        (run,) = first.runs(to_lines(examples[start : start + 20]))
        assert isinstance(run, LineRun)
        first.learn(one, run)
        second.learn(other, run)
        for model in (one, other):
            model.predict_one({"single": 1.0, "name1": 1.0})
            model.learn_one({f"single{start}": 1.0, "name1": 1.0}, "yes")
        learn_one_by_one(reference, examples[start : start + 20])
        reference.learn_one({f"single{start}": 1.0, "name1": 1.0}, "yes")
    assert to_bytes(one) == to_bytes(reference)
    check_same_predictions(one, first, [x for x, _ in examples])
    check_same_predictions(other, second, [x for x, _ in examples])
    one.fit(np.eye(3), [0, 1, 1])  # a model of another kind: columns with numbers
    same_numbers = [{"0": 1.0, "2": 2.0}] * 12
    (run,) = first.runs(b"\n".join(map(line, same_numbers)))
    assert isinstance(run, LineRun)
    assert first.predict(one, run)[1] == [one.score_one({0: 1.0, 2: 2.0})] * 12


# --- Other ways to name features ---


def test_numbered_columns_are_accepted() -> None:
    model = Perceptron().fit(np.array([[1.0, 2.0], [-1.0, 0.5]]), [1, -1])
    assert get_encoder(model)({"1": 2.0, "0": 1.0}) == {1: 2.0, 0: 1.0}
    assert get_encoder(model)(["1", "7"]) == {1: 1.0, 7: 1.0}
    for bad in ("a", "-1", "1.0", "", "²", "9" * 11):
        with pytest.raises(InputError, match="column numbers"):
            get_encoder(model)({bad: 1.0})
    (run,) = BatchEngine().runs(b"\n".join([line({"0": 1.0, "1": 0.5}, -1)] * 12 + [line({"x": 1.0}, 1)]))
    assert isinstance(run, LineRun)
    reference = from_bytes(to_bytes(model), "it")
    with pytest.raises(ExampleError, match="column numbers") as refused:
        BatchEngine().learn(model, run)
    assert refused.value.taken == 12
    assert to_bytes(model) == to_bytes(learn_one_by_one(reference, [({0: 1.0, 1: 0.5}, -1)] * 12))


def test_hashed_features_are_accepted() -> None:
    model = Perceptron().fit(np.ones((2, 16)), [0, 1])
    model._state.reading = {"format": "jsonl", "label": "y", "hash_bits": 4, "signed_hash": True}
    h = hash_name(b"size")
    assert model.score_one(get_encoder(model)({"size": 2.0})) == model.score_one({h % 16: -2.0 if h >> 63 else 2.0})
    model._state.reading = {"format": "vw", "hash_bits": 4}
    with pytest.raises(InputError, match="trained from vw"):
        get_encoder(model)({"size": 2.0})
    model._state.reading = {"feature_map": "poly:2", "feature_map_bits": None}
    with pytest.raises(InputError, match="novikoff predict"):
        get_encoder(model)
