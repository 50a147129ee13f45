"""Multiclass schemes: the same bytes for all ways to learn, invalid input, and edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import (
    SGD,
    AllVsAll,
    BalancedWinnow,
    Elimination,
    Halving,
    Hierarchical,
    InputError,
    Kesler,
    LabelError,
    LabelRanking,
    MarginPerceptron,
    MultiLabel,
    OneVsAll,
    OutputCode,
    Perceptron,
    PNormPerceptron,
    VotedPerceptron,
    WeightOverflowError,
    Winnow,
)
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.multiclass_schemes import (
    PATHS,
    SCHEMES,
    SINGLE_LABEL_SCHEMES,
    WORDS,
    draw_examples,
    draw_labelled,
    make_scheme,
    slow_unless,
    slow_with_jit,
)
from tests.helpers.streams import csr

EVERY = pytest.mark.parametrize("name", SCHEMES)
ALSO_DENSE = ("one-vs-all", "kesler", "multi-label")
"""Tried with dense rows each time; the others where Numba is off, and in the slow set."""
DENSE_TOO = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=slow_unless(name in ALSO_DENSE)) for name in SCHEMES]
)


def chunks(model: Any, X: Any, y: Any, cuts: list[int], **how: Any) -> Any:
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if stop > start:
            model.partial_fit(X[start:stop], y[start:stop], **how)
    return model


def one_by_one(model: Any, X: Any, y: Any) -> Any:
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    return model


# --- Sameness ---


@EVERY
@settings(max_examples=5)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted))
def test_batches_and_single_examples_learn_new_classes_alike(name: str, seed: int, cuts: list[int]) -> None:
    X, y = draw_labelled(name, seed)
    batch = make_scheme(name).partial_fit(csr(X), y)
    assert to_bytes(chunks(make_scheme(name), csr(X), y, cuts)) == to_bytes(batch)
    assert to_bytes(one_by_one(make_scheme(name), X, y)) == to_bytes(batch)
    dicts = make_scheme(name).learn_one(X[0], y[0])  # which says how many features there are
    one_by_one(dicts, (dict(enumerate(x.tolist())) for x in X[1:]), y[1:])
    assert to_bytes(dicts) == to_bytes(batch)


@DENSE_TOO
def test_dense_and_sparse_rows_give_the_same_model(name: str) -> None:
    X, y = draw_labelled(name, 1)
    X[::2] += 0.01 * (X[::2] == 0)
    dense, sparse = make_scheme(name).partial_fit(X, y), make_scheme(name).partial_fit(csr(X), y)
    assert to_bytes(dense) == to_bytes(sparse)
    assert (dense.decision_function(X) == dense.decision_function(csr(X))).all()


def all_labels(name: str, y: Any) -> list[Any]:
    return sorted(make_scheme(name).partial_fit(csr(np.ones((len(y), 1))), y).classes_.tolist())


@EVERY
def test_declared_classes_give_the_same_model(name: str) -> None:
    X, y = draw_labelled(name, 2)
    fitted = make_scheme(name).fit(csr(X), y)
    assert fitted.classes_.tolist() == all_labels(name, y)
    named = chunks(make_scheme(name), csr(X), y, [7, 30], classes=all_labels(name, y))
    assert to_bytes(named) == to_bytes(fitted)
    twice = make_scheme(name, Perceptron(passes=2)).fit(csr(X), y)
    assert twice.ledger_.examples == 2 * fitted.ledger_.examples


def test_classes_declared_later_are_known_from_then_on() -> None:
    X, y = draw_labelled("kesler", 3)
    model = make_scheme("kesler").partial_fit(csr(X[:9]), y[:9])
    before = model.classes_.tolist()
    model.partial_fit(csr(X[9:]), y[9:], classes=["zebra", "ant", *y])
    assert model.classes_.tolist() == [*before, *sorted({*y, "zebra"} - set(before))]
    assert model._state.new == len(before)  # no class that was named was a surprise
    assert model.predict_one(X[0]) in y


@EVERY
def test_a_named_growing_stream_resumed_at_every_example(name: str) -> None:
    X, y = draw_labelled(name, 4, rows=30)
    straight, resumed = make_scheme(name), make_scheme(name)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        terms = {f"f{j}": float(v) for j, v in enumerate(x[: 2 + t // 4]) if v}
        straight.learn_one(terms, label)
        resumed = from_bytes(to_bytes(resumed.learn_one(terms, label)), "m")
        assert resumed.predict_one(terms) == straight.predict_one(terms)
    assert to_bytes(straight) == to_bytes(resumed)


# --- Predicting ---


def plain(predicted: Any) -> Any:
    return predicted.tolist() if isinstance(predicted, np.ndarray) else predicted


@EVERY
def test_predictions_agree_with_each_other(name: str) -> None:
    X, y = draw_labelled(name, 5)
    model = make_scheme(name).fit(csr(X), y)
    predicted, scores = plain(model.predict(X)), model.decision_function(X)
    assert predicted == plain(model.predict(csr(X)))
    assert predicted == [model.predict_one(x) for x in X]
    named = [{j: float(v) for j, v in enumerate(x) if v} | {99: 5.0} for x in X]
    assert predicted == [model.predict_one(x) for x in named]  # what was never learned weighs nothing
    assert scores.tolist() == [list(model.score_one(x).values()) for x in X]
    known = model.classes_.tolist()
    if name.startswith("label-ranking"):
        assert predicted == [[known[c] for c in np.argsort(-row, kind="stable")] for row in scores]
    elif name.startswith("multi-label"):
        tie = name == "multi-label"
        assert predicted == [[known[c] for c, s in enumerate(row) if s > 0 or (tie and s == 0)] for row in scores]
    else:
        assert predicted == [known[c] for c in scores.argmax(axis=1)]


@pytest.mark.parametrize("name", SINGLE_LABEL_SCHEMES)
def test_two_classes_have_one_score(name: str) -> None:
    X, y = draw_examples(6, classes=2)
    model = make_scheme(name).fit(csr(X), y)
    scores = model.decision_function(X)
    assert scores.shape == (len(X),)
    assert (model.predict(X) == (scores > 0)).all()


@pytest.mark.parametrize("name", [*SINGLE_LABEL_SCHEMES, "hierarchical"])
def test_a_single_class_is_always_predicted(name: str) -> None:
    X = csr(np.eye(3))
    model = make_scheme(name).fit(X, ["only"] * 3)
    assert model.predict(X).tolist() == ["only"] * 3
    assert model.decision_function(X).shape == (3, 1)
    assert model.ledger_.mistakes == 0
    assert make_scheme(name).partial_fit(X, ["only"] * 3).ledger_.mistakes == 1  # which could not be known in advance
    again = from_bytes(to_bytes(model), "m").partial_fit(X, ["only", "other", "third"])
    assert to_bytes(again) == to_bytes(model.partial_fit(X, ["only", "other", "third"]))
    assert again.classes_.tolist() == ["only", "other", "third"]


@EVERY
def test_unknown_labels_count_as_errors_and_change_nothing(name: str) -> None:
    X, y = draw_labelled(name, 7)
    model = make_scheme(name).fit(csr(X), y)
    before = to_bytes(model)
    strange = {"label": ["x", "y"], "multi": ["x", "y"], "hierarchical": "x/y"}.get(name.split("-", 1)[0], "x")
    assert model.score(X, [strange] * len(y)) == 0.0
    assert to_bytes(model) == before


def test_scores_are_shares_of_correct_predictions() -> None:
    X, y = draw_labelled("multi-label", 8)
    model = make_scheme("multi-label").fit(csr(X), y)
    right = [set(a) == set(b) for a, b in zip(model.predict(X), y, strict=True)]
    assert model.score(X, y) == np.mean(right)
    assert model.score(X, y, sample_weight=[1.0] + [0.0] * 59) == right[0]
    ranks = LabelRanking(Perceptron(passes=30)).fit(csr(np.eye(2)), [["a", "b", "c"], ["c", "b", "a"]])
    assert ranks.score(np.eye(2), [["a", "b"], {"b": 2, "c": 1}]) == 0.5
    assert ranks.score(np.eye(2), [["a", "b"], []]) == 1.0
    assert ranks.score(np.eye(2), [["a", "z"], ["z", "a"]]) == 0.5  # what is not known comes last
    assert np.isnan(ranks.score(np.eye(2), [[], {}]))


# --- Labels ---


@pytest.mark.parametrize("name", ["multi-label", "multi-label-uniform", "label-ranking"])
def test_empty_label_sets_and_rankings_are_accepted(name: str) -> None:
    X = csr(np.eye(4))
    model = make_scheme(name).fit(X, [[]] * 4)
    assert model.classes_.size == 0
    assert model.predict(X) == [[]] * 4
    assert (model.ledger_.examples, model.ledger_.mistakes, model.ledger_.updates) == (4, 0, 0)
    again = from_bytes(to_bytes(model), "m")
    both = [["a", "b"], [], ["b"], []]
    assert to_bytes(again.partial_fit(X, both)) == to_bytes(model.partial_fit(X, both))
    X, y = np.eye(4).repeat(2, axis=0), [[], [], [], [], *both]
    assert to_bytes(one_by_one(make_scheme(name), X, y)) == to_bytes(chunks(make_scheme(name), csr(X), y, [1, 5]))


@slow_with_jit
def test_examples_without_preferences_advance_the_schedule() -> None:
    """Averages are over all examples, those before the first label included."""
    X = csr(np.ones((4, 1)))
    model = LabelRanking(Perceptron(average=True)).partial_fit(X, [[], [], ["a", "b"], []])
    assert model.coef_.tolist() == [[0.5], [-0.5]]
    assert to_bytes(from_bytes(to_bytes(model), "m")) == to_bytes(model)
    half = LabelRanking(Perceptron(average=True)).partial_fit(X[:2], [[], []])
    assert to_bytes(from_bytes(to_bytes(half), "m").partial_fit(X[2:], [["a", "b"], []])) == to_bytes(model)


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        (["b", "a", "c"], ["a", "b", "c"]),
        ([5, 300, -2], [-2, 5, 300]),
        ([2.0, 1.0, 3.0], [1, 2, 3]),
        ([True, False, True], [False, True]),
        (np.array(["b", "a", "c"], object), ["a", "b", "c"]),
        (np.array([3, 1, 2], np.int8), [1, 2, 3]),
    ],
)
def test_labels_of_every_type_are_accepted(labels: Any, known: Any) -> None:
    model = Kesler(Perceptron(passes=5)).fit(csr(np.eye(3)), labels)
    assert model.classes_.tolist() == known
    assert [type(v) for v in model.classes_.tolist()] == [type(v) for v in known]
    assert (model.predict(np.eye(3)) == np.asarray(labels)).all()
    assert model.predict_one({0: 1.0}) == labels[0]


BAD_LABELS: list[tuple[str, Any, Any, str]] = [
    ("kesler", ["a", "b"], ..., "inconsistent numbers of samples"),
    ("kesler", None, None, "requires y|Unknown label type"),
    ("kesler", [1.0, np.nan, 2.0], np.nan, "NaN"),
    ("kesler", [0.5, 1.5, 2.5], 0.5, "continuous"),
    ("kesler", np.array([1, "a", 2], object), 1, "of one type"),
    ("kesler", np.ones((3, 2)), [1, 2], "1d array|A label must be"),
    ("kesler", np.array([1j, 2, 3]), 1j, "complex|Unknown label type"),
    ("multi-label", ["ant", "bee", "cow"], "ant", "got 'ant'"),
    ("multi-label", [1, 2, 3], 1, "got 1"),
    ("multi-label", [["ant"], ["bee"]], None, "inconsistent numbers|got None"),
    ("multi-label", np.array([[0, 2], [1, 1], [0, 0]]), [np.nan], "matrix of 0 and 1|NaN"),
    ("multi-label", [{1, "a"}, [], []], {1, "a"}, "of one type"),
    ("label-ranking", [["ant", "bee"]], "ant", "inconsistent numbers|got 'ant'"),
    ("label-ranking", ["ant", "bee", "cow"], 5, "got 'ant'|got 5"),
    ("label-ranking", [["ant", "bee", "ant"], [], []], ["ant", "ant"], "twice"),
    ("label-ranking", [{("ant", "bee"), ("bee", "ant")}, [], []], [("ant", "ant")], "both ways"),
    ("label-ranking", [[["ant"], ["bee"]], [], []], [["ant"], ["bee"]], "Preferences are"),
    ("label-ranking", [{"ant", "bee"}, [], []], {"ant", "bee"}, "a ranking is a list"),
    ("label-ranking", [{"ant": 1, "bee": "x"}, [], []], {"ant": 1, "bee": None}, "Preferences are"),
    ("hierarchical", ["a//b", "e", "e"], "a//b", "a name on every level"),
    ("hierarchical", ["a", "e", "/e"], "", "a name on every level"),
]
"""For a batch of three, and for one example; numbers after texts are refused for that reason, too."""


@pytest.mark.parametrize(("name", "batch", "one", "message"), BAD_LABELS)
def test_bad_labels_change_nothing(name: str, batch: Any, one: Any, message: str) -> None:
    X, y = draw_labelled(name, 9)
    model, never = (make_scheme(name).partial_fit(csr(X), y) for _ in range(2))
    expected = f"{message}|of one type"
    with pytest.raises(InputError, match=expected):
        model.partial_fit(csr(X[:3]), batch)
    with pytest.raises(InputError, match=expected):
        model.partial_fit(csr(X[:3]), batch, classes=["new", "and", "newer"])
    with pytest.raises(InputError, match=expected):
        model.fit(csr(X[:3]), batch)
    for x in (X[0], {0: 1.0, 77: 2.0}) if one is not ... else ():
        with pytest.raises(InputError, match=expected):
            model.learn_one(x, one)
    assert to_bytes(model) == to_bytes(never)
    assert to_bytes(model.partial_fit(csr(X), y)) == to_bytes(never.partial_fit(csr(X), y))


@pytest.mark.parametrize("name", ["kesler", "multi-label", "label-ranking"])
def test_numeric_labels_after_text_labels_are_refused(name: str) -> None:
    X, y = draw_labelled(name, 9)
    model = make_scheme(name).partial_fit(csr(X), y)
    before = to_bytes(model)
    other: Any = 1 if name == "kesler" else [1, 2]
    with pytest.raises(LabelError, match="all texts or all numbers"):
        model.partial_fit(csr(X[:2]), [other, other])
    with pytest.raises(LabelError, match="all texts or all numbers"):
        model.partial_fit(csr(X), y, classes=[1, 2])
    with pytest.raises(LabelError, match="all texts or all numbers"):
        model.learn_one(X[0], other)
    assert to_bytes(model) == before


OVERFLOWS = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # plain Python tells of them, compiled code does not


@EVERY
@OVERFLOWS
def test_bad_examples_change_nothing(name: str) -> None:
    """… neither classes nor features nor weights, wherever the bad value is and however new the label."""
    X, y = draw_labelled(name, 10)
    model, never = (make_scheme(name).partial_fit(csr(X), y) for _ in range(2))
    new = draw_labelled(name, 11, classes=7)[1][-1:] if name != "hierarchical" else ["new/one"]
    for bad in (np.nan, np.inf, 1e200):
        worse = np.vstack([X, X, X])
        worse[-1, 2] = bad
        for rows in (worse, worse[-3:]):  # more than the model has weights, and fewer
            labels = [*y, *y, *y][-len(rows) :]
            with pytest.raises(InputError, match="NaN, infinity or a value too large to square"):
                model.partial_fit(csr(rows), [*labels[:-1], *new])
            with pytest.raises(InputError, match="NaN, infinity or a value too large to square"):
                model.predict(csr(rows))
        for x in (worse[-1], {0: 1.0, 1000: bad}):
            with pytest.raises(InputError, match="nothing was learned"):
                model.learn_one(x, new[0])
            with pytest.raises(InputError, match="nothing to predict"):
                model.predict_one(x)
    with pytest.raises(InputError, match="7 features"):
        model.partial_fit(csr(X[:, :3]), y)
    assert to_bytes(model) == to_bytes(never)
    for one in (model, never):
        one_by_one(one.partial_fit(csr(X), y), X[:5], y[:5])
    assert to_bytes(model) == to_bytes(never)


def test_a_refused_first_example_leaves_the_model_unfitted() -> None:
    model = Kesler()
    with pytest.raises(InputError):
        model.learn_one({"a": np.nan}, "x")
    with pytest.raises(LabelError):
        model.learn_one({"a": 1.0}, 0.5)
    assert not hasattr(model, "classes_")
    assert model.learn_one({3: 1.0}, 7).classes_.tolist() == [7]


@OVERFLOWS
@slow_with_jit
def test_diverging_weights_are_refused() -> None:
    model = Kesler(SGD(loss="squared", schedule="constant", learning_rate=1e9))
    X = csr(np.full((60, 2), 1e20))
    with pytest.raises(WeightOverflowError, match="out of range"):
        model.partial_fit(X, [0] * 60, classes=[0, 1, 2])


def test_label_matrices_are_accepted() -> None:
    import scipy.sparse as sp

    X, matrix = csr(np.eye(3)), np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])
    lists = MultiLabel(Perceptron()).fit(X, [[0, 2], [], [1, 2]])
    first = MultiLabel(Perceptron()).fit(X, matrix)
    assert (first.decision_function(X) == lists.decision_function(X)).all()
    assert (first.ledger_.examples, first.ledger_.mistakes) == (lists.ledger_.examples, lists.ledger_.mistakes)
    for form in (matrix.astype(bool), sp.csr_matrix(matrix)):
        assert to_bytes(MultiLabel(Perceptron()).fit(X, form)) == to_bytes(first)


def test_sample_weights_are_supported() -> None:
    X, y = draw_examples(12)
    weights = np.random.default_rng(12).choice([0.0, 0.5, 1.0, 2.0], len(y))
    for name in ("one-vs-all", "kesler", "kesler-uniform"):
        all_rows = make_scheme(name).partial_fit(
            csr(X), y, classes=range(5), sample_weight=np.where(weights > 0, 1.0, 0.0)
        )
        some_rows = make_scheme(name).partial_fit(csr(X[weights > 0]), y[weights > 0], classes=range(5))
        assert to_bytes(all_rows) == to_bytes(some_rows)
        weighed = make_scheme(name).fit(csr(X), y, sample_weight=weights)
        assert weighed.ledger_.weighted == ((weights != 0) & (weights != 1)).sum()
        single = make_scheme(name)
        for x, label, weight in zip(X, y, weights, strict=True):
            if weight:
                single.partial_fit(csr(x[None]), [label], classes=range(5), sample_weight=[weight])
        assert to_bytes(single) == to_bytes(weighed)
    double = Kesler(Perceptron(shuffle=False)).fit(csr([[1.0, 2.0], [3.0, 1.0]]), [0, 1], sample_weight=[2.0, 1.0])
    assert double.coef_.tolist() == [[2.0 - 3.0, 4.0 - 1.0], [-2.0 + 3.0, -4.0 + 1.0]]
    zero = Kesler(Perceptron()).partial_fit(csr(np.eye(2)), ["a", "b"], sample_weight=[1.0, 0.0])
    assert (zero.classes_.tolist(), zero._state.known) == (["a", "b"], 1)  # it has a number, and nothing was learned
    assert to_bytes(from_bytes(to_bytes(zero), "m").learn_one({0: 1.0}, "b")) == to_bytes(zero.learn_one({0: 1.0}, "b"))
    assert zero.ledger_.mistakes == 2


# --- What fits into what ---


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Kesler(Winnow(threshold=2.0)), "examples of either sign"),
        (Kesler(BalancedWinnow(threshold=1.0)), "without a threshold"),
        (Kesler(VotedPerceptron()), "Kesler takes learners"),
        (Kesler(Elimination()), "Kesler takes learners"),
        (Kesler(SGD(), update="proportional"), "content at some score"),
        (Kesler(MarginPerceptron(), update="proportional"), "content at some score"),
        (Kesler(update="most"), "update must be one of"),
        (Kesler(Perceptron(learning_rate=-1.0)), "learning_rate must be"),
        (Kesler(Perceptron(passes=0)), "passes must be"),
        (OneVsAll(MarginPerceptron()), "nothing but their own examples"),
        (OneVsAll(VotedPerceptron()), "nothing but their own examples"),
        (OneVsAll(Elimination()), "nothing but their own examples"),
        (OneVsAll(Halving()), "nothing but their own examples"),
        (OneVsAll(Winnow(negations=True)), "nothing but their own examples"),
        (AllVsAll(SGD(l2=0.1)), "leave l1 and l2 out"),
        (AllVsAll(decision="fight"), "decision must be one of"),
        (OutputCode(SGD(l2=0.1), code="sparse"), "leave l1 and l2 out"),
        (OutputCode(SGD(l1=0.1), code=[[1, 0], [0, 1], [1, 1]]), "leave l1 and l2 out"),
        (OutputCode(code="thin"), "code must be one of"),
        (OutputCode(code=[[1, 2], [0, 1], [1, 1]]), "matrix of −1, 0 and 1"),
        (OutputCode(code=[[1], [1, -1]]), "matrix of −1, 0 and 1"),
        (OutputCode(code=[[1, -1], [1, -1]]), "two rows are equal"),
        (OutputCode(code=[[1, -1], [-1, 1]]), "2 classes, but there are 3 classes"),
        (OutputCode(code_length=1), "too short"),
        (OutputCode(code="sparse", code_length=1), "too short"),
        (OutputCode(code_length=0), "length must be"),
        (OutputCode(random_state=-1), "random_state must be"),
        (MultiLabel(VotedPerceptron()), "nothing but their own examples"),
        (MultiLabel(Winnow(threshold=2.0), update="top"), "examples of either sign"),
        (LabelRanking(Elimination()), "LabelRanking takes learners"),
        (Hierarchical(Winnow()), "Hierarchical takes learners"),
        (Hierarchical(separator=""), "separator must be"),
    ],
)
def test_unsupported_learners_are_refused_with_a_message(model: Any, message: str) -> None:
    y: Any = [["a"], ["b"], ["a", "c"]] if isinstance(model, MultiLabel | LabelRanking) else ["a", "b", "c"]
    for refused in (
        lambda: model.fit(csr(np.eye(3)), y),
        lambda: model.partial_fit(csr(np.eye(3)), y, classes=["a", "b", "c"]),
        lambda: model.learn_one(np.ones(3), y[0]) and model.partial_fit(csr(np.eye(3)), y, classes=["a", "b", "c"]),
    ):
        with pytest.raises(InputError, match=message):
            refused()


@pytest.mark.parametrize("scheme", [Kesler, OneVsAll, AllVsAll, OutputCode, MultiLabel, LabelRanking, Hierarchical])
@pytest.mark.parametrize("learner", [Perceptron, OneVsAll(), "perceptron"], ids=["class", "stack", "text"])
def test_nested_schemes_are_refused_before_learning(scheme: Any, learner: Any) -> None:
    with pytest.raises(InputError, match="such as Perceptron"):
        scheme(learner).fit([[1.0], [2.0]], ["a", "b"])


def test_an_exhaustive_code_supports_eleven_classes() -> None:
    model = OutputCode(code="exhaustive").fit(csr(np.eye(11)), range(11))
    assert model.coef_.shape == (1023, 11)
    before = to_bytes(model)
    for refused in (
        lambda: model.learn_one({0: 1.0}, 11),
        lambda: model.partial_fit(csr(np.eye(11)), [*range(10), 11]),
        lambda: model.partial_fit(csr(np.eye(11)), range(11), classes=[50]),
    ):
        with pytest.raises(InputError, match="up to 11 classes"):
            refused()
    assert to_bytes(model) == before


@slow_with_jit
def test_values_out_of_range_are_named() -> None:
    model = OneVsAll(BalancedWinnow()).partial_fit(csr(np.eye(3)), ["a", "b", "c"])
    with pytest.raises(InputError, match="row 1, column 2 has 3"):
        model.partial_fit(csr([[1.0, 0, 0], [0, 0, 3.0]]), ["a", "b"])
    named = OneVsAll(BalancedWinnow()).learn_one({"red": 1.0, "big": 0.5}, "a")
    for refused in (named.learn_one, lambda x, _: named.predict_one(x)):
        with pytest.raises(InputError, match="feature 'big' has -2"):
            refused({"red": 0.5, "big": -2.0}, "a")


def test_a_run_continues_with_its_first_learner() -> None:
    model = Kesler(Perceptron()).learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    before = to_bytes(model)
    for changes in ({"estimator__margin": 3.0}, {"estimator": SGD()}, {"estimator": None, "update": "uniform"}):
        changed = from_bytes(before, "m").set_params(**changes)
        with pytest.raises(InputError, match="have changed since this run began"):
            changed.learn_one({"a": 1.0}, "x")
    assert from_bytes(before, "m").set_params(estimator__passes=4).learn_one({"a": 1.0}, "x").ledger_.examples == 3


@pytest.mark.skipif(JIT_DISABLED, reason="minutes without Numba")
def test_hundreds_of_classes_are_learned() -> None:
    k = 128
    X, y = csr(np.eye(k)), [f"class {c:03}" for c in range(k)]
    for name in ("one-vs-all", "kesler", "code-dense"):
        model = make_scheme(
            name, Perceptron(fit_intercept=False, passes=2), **({"code_length": 64} if name == "code-dense" else {})
        )
        assert (model.fit(X, y).predict(X) == np.array(y)).mean() > 0.95
        stream = make_scheme(
            name, Perceptron(fit_intercept=False), **({"code_length": 64} if name == "code-dense" else {})
        )
        one_by_one(stream, np.eye(k)[:, ::-1][:40], y[:40])
        assert stream.partial_fit(X, y).classes_.tolist() == y
        assert stream._state.new == k


@pytest.mark.slow
def test_hundreds_of_classes_are_learned_in_pairs() -> None:
    model = AllVsAll(Perceptron(fit_intercept=False)).fit(csr(np.eye(120)), range(120))
    assert model.coef_.shape == (120 * 119 // 2, 120)
    assert (model.predict(csr(np.eye(120))) == np.arange(120)).mean() > 0.9


def test_label_trees_are_learned() -> None:
    model = Hierarchical(Perceptron(passes=30), separator=":").fit(csr(np.eye(4)), ["A:x", "A:y", "B", "B:x"])
    assert model._column_names() == ["A", "A:x", "A:y", "B", "B:x"]
    assert model.predict(csr(np.eye(4))).tolist() == ["A:x", "A:y", "B", "B:x"]
    assert model.tree_loss(np.eye(4), ["A:x", "A:x", "B", "never:seen"]) == (0 + 2 + 0 + 4) / 4
    with pytest.raises(LabelError, match="a name on every level"):
        model.tree_loss(np.eye(4), ["A:", "A", "B", "B"])
    numbers = Hierarchical().fit(csr(np.eye(2)), [5, 7])
    assert numbers.predict(csr(np.eye(2))).tolist() == [5, 7]
    assert set(PATHS) >= set(
        make_scheme("hierarchical").fit(*draw_labelled("hierarchical", 0, classes=7)).classes_.tolist()
    )


@slow_with_jit
@pytest.mark.parametrize("p", [None, 4.0])
def test_p_norm_learners_work_in_schemes(p: float | None) -> None:
    if p is None:
        with pytest.raises(InputError, match="p must be given"):
            Kesler(PNormPerceptron()).learn_one({"a": 1.0}, "x")
    assert Kesler(PNormPerceptron(p=p)).partial_fit(csr(np.eye(3)), WORDS[:3]).classes_.tolist() == WORDS[:3]
