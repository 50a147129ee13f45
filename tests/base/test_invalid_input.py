"""Invalid input is refused with a message, and the learner does not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from novikoff import AROW, SGD, InputError, LabelError, Perceptron, PNormPerceptron, WeightOverflowError
from novikoff.model_file import to_bytes
from tests.helpers.learners import ADDITIVE_LEARNERS, ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.streams import csr, real

EVERYONE = pytest.mark.parametrize("name", ADDITIVE_LEARNERS)
GOOD = np.arange(12.0).reshape(4, 3)


def with_value(value: Any, row: int = 2, column: int = 1) -> Any:
    X = GOOD.copy()
    X[row, column] = value
    return X


def malformed(value: float = 1.0) -> Any:
    X = sp.csr_matrix(GOOD)
    X.indices = X.indices.copy()
    X.indices[4] = 77
    X.data[4] = value
    return X


def full(X: Any) -> Any:
    """A CSR matrix that leaves nothing out, its columns in no order."""
    rows, columns = X.shape
    backwards = np.tile(np.arange(columns)[::-1], rows)
    return sp.csr_matrix((X[:, ::-1].ravel(), backwards, np.arange(0, X.size + 1, columns)), X.shape)


BAD_X = {
    "nan": (with_value(np.nan), r"NaN.*row 2, column 1"),
    "inf": (with_value(np.inf), r"infinity.*row 2, column 1"),
    "-inf": (with_value(-np.inf), r"infinity.*row 2, column 1"),
    "too large to square": (with_value(1e200), r"too large to square.*row 2"),
    "sparse nan": (csr(with_value(np.nan)), r"NaN.*row 2, column 1"),
    "texts": ([["a", "b", "c"]] * 4, r"must hold numbers only"),
    "numbers as texts": ([["1", "2", "3"]] * 4, r"must hold numbers only"),
    "numbers and texts": (np.array([[1.0, 2.0, "3"]] * 4, object), r"must hold numbers only"),
    "dates": (np.full((4, 3), np.datetime64("2020-01-01")), r"must hold numbers only"),
    "ragged": ([[1, 2, 3], [1, 2]], r"one length|numbers"),
    "one-dimensional": (np.ones(4), r"Reshape your data"),
    "no rows": (np.empty((0, 3)), r"0 sample"),
    "no columns": (np.empty((4, 0)), r"0 feature"),
    "complex": (GOOD + 1j, r"Complex data not supported"),
    "index past the columns": (malformed(), r"row 1 names 77"),
    "zero past the columns": (malformed(0.0), r"row 1 names 77"),
    "nan beside stored zeros": (full(with_value(np.nan)), r"NaN.*row 2, column 1"),
}
BAD_Y = {
    "too few": ([0, 1, 0], r"inconsistent numbers of samples"),
    "nan": ([0.0, 1.0, np.nan, 1.0], r"y contains NaN"),
    "fractions": ([0.5, 1.5, 0.5, 1.5], r"Unknown label type: continuous"),
    "three classes": ([0, 1, 2, 1], r"Only binary classification is supported: the data has 3 classes \(0, 1, 2\)"),
    "none": (None, r"requires y"),
    "mixed": (np.array([0, "a", 1, "b"], object), r"of one type|Labels must"),
    "none inside": (np.array([None, "a", "a", None], object), r"Labels must|label"),
}


def trained(name: str) -> Any:
    return make_learner(name).fit(GOOD, [0, 1, 0, 1])


@EVERYONE
@pytest.mark.parametrize("case", BAD_X)
def test_bad_examples_change_nothing(name: str, case: str) -> None:
    X, message = BAD_X[case]
    model = trained(name)
    before = to_bytes(model)
    with pytest.raises((InputError, TypeError), match=message):
        model.partial_fit(X, [0, 1, 0, 1])
    with pytest.raises((InputError, TypeError), match=message):
        model.fit(X, [0, 1, 0, 1])
    with pytest.raises((InputError, TypeError), match=message):
        model.predict(X)
    assert to_bytes(model) == before


@pytest.mark.parametrize("case", BAD_Y)
def test_bad_labels_change_nothing(case: str) -> None:
    y, message = BAD_Y[case]
    model = trained("perceptron")
    before = to_bytes(model)
    with pytest.raises(InputError, match=message):
        model.partial_fit(GOOD, y)
    with pytest.raises(InputError, match=message):
        model.fit(GOOD, y)
    assert to_bytes(model) == before


def test_a_bad_row_late_in_a_large_batch_rolls_back_the_batch() -> None:
    table, y = real(0, rows=3000)
    for name in ALL_LEARNERS:
        X = clip_to_range(name, table)
        model = make_learner(name).fit(X, y)
        before = to_bytes(model)
        worse = X.copy()
        worse[2999, 12] = np.nan
        with pytest.raises(InputError, match=r"row 2999, column 12"):
            model.partial_fit(worse, y)
        assert to_bytes(model) == before


def test_single_examples_are_learned_after_a_refused_batch() -> None:
    table, y = real(1, rows=80)
    for name in ALL_LEARNERS:
        X = clip_to_range(name, table)
        refused, never = make_learner(name), make_learner(name)
        for model in (refused, never):
            for x, label in zip(X[:6], y[:6].tolist(), strict=True):
                model.learn_one(x, label)
        worse = X.copy()
        worse[70, 3] = np.nan
        with pytest.raises(InputError, match="row 70, column 3"):
            refused.partial_fit(worse, y)
        for model in (refused, never):
            for x, label in zip(X[6:30], y[6:30].tolist(), strict=True):
                model.learn_one(x, label)
        assert to_bytes(refused) == to_bytes(never)


@pytest.mark.parametrize(("x", "y"), [({50: np.nan}, 1), ({50: 10**400}, 1), ({50: 1.0}, [1]), ({50: 1.0}, "x")])
def test_a_refused_example_that_would_have_grown_the_model_costs_nothing(x: Any, y: Any) -> None:
    for name in ADDITIVE_LEARNERS:
        refused, never = make_learner(name), make_learner(name)
        for model in (refused, never):
            for t in range(4):
                model.learn_one({0: 1.0, 1: float(t)}, t % 2)
        with pytest.raises(InputError):
            refused.learn_one(x, y)
        for model in (refused, never):
            for t in range(6):
                model.learn_one({0: -1.0, 1: 2.0}, t % 2)
        assert to_bytes(refused) == to_bytes(never)


def test_a_refused_first_example_does_not_fix_the_kind_of_rows() -> None:
    model = Perceptron()
    with pytest.raises(InputError, match="NaN"):
        model.learn_one(np.array([np.nan, 1.0], np.float32), 1)
    assert model.learn_one(np.ones(3), 0).learn_one(np.ones(3), 1).ledger_.examples == 2


def test_a_row_of_one_strided_number_is_accepted() -> None:
    model = Perceptron()
    for t, x in enumerate(np.arange(5.0).reshape(1, 5).T):
        model.learn_one(x, t % 2)
    assert model.ledger_.examples == 5


def test_labels_of_the_learned_part_of_a_batch_are_remembered() -> None:
    model = SGD(loss="squared", schedule="constant").partial_fit(np.zeros((1, 100)), [0])
    batch = sp.csr_matrix(([1e100, 1e100], [0, 0], [0, 1, 2]), (2, 100))
    with pytest.raises(WeightOverflowError, match="what was learned up to there stands"):
        model.partial_fit(batch, [1, 1])
    assert model.ledger_.examples == 2
    assert model.classes_.tolist() == [0, 1]


def test_steps_that_would_overflow_the_weights_are_refused() -> None:
    X, y = np.ones((2, 3), np.float32), [0, 1]
    model = SGD(loss="hinge", schedule="constant")
    with pytest.raises(WeightOverflowError):
        model.fit(X, y, sample_weight=[1e39, 1.0])
    with pytest.raises(InputError, match="learning_rate must be at most"):
        SGD(learning_rate=1e200).fit(X, y)


def test_duplicate_columns_are_summed_and_sorted() -> None:
    """A feature named twice has the sum as its value; else ‖x‖, and every bound with it, would be wrong."""
    rng = np.random.default_rng(0)
    indices, values = rng.integers(0, 6, 400), rng.integers(-3, 4, 400).astype(float)
    untidy = sp.csr_matrix((values, indices, np.arange(0, 401, 8)), (50, 6))
    y = rng.integers(0, 2, 50)
    tidy = untidy.copy()
    tidy.sum_duplicates()
    for name in ADDITIVE_LEARNERS:
        for rows in (50, 2):  # larger and smaller than the model
            a, b = make_learner(name).fit(untidy[:50], y), make_learner(name).fit(tidy[:50], y)
            a.partial_fit(untidy[:rows], y[:rows])
            b.partial_fit(tidy[:rows], y[:rows])
            assert to_bytes(a) == to_bytes(b)
        assert (a.decision_function(untidy) == b.decision_function(tidy)).all()
    cancelled = sp.csr_matrix(([2.0, 1.0, -1.0], [2, 0, 0], [0, 3]), (1, 3))
    assert (
        make_learner(name).partial_fit(cancelled, [1]).coef_ == make_learner(name).partial_fit([[0, 0, 2.0]], [1]).coef_
    ).all()
    hundred = sp.csr_matrix((np.ones(100), np.zeros(100, int), [0, 100]), (1, 1))
    assert Perceptron(fit_intercept=False).partial_fit(hundred, [-1], classes=[-1, 1]).ledger_.radius == 100.0
    assert Perceptron(fit_intercept=False).learn_one(["a"] * 9, -1).ledger_.radius == 9.0


def test_matrices_of_different_shapes_are_refused() -> None:
    X = sp.csr_matrix(GOOD)
    X.data = X.data[:3]
    with pytest.raises(InputError, match="don't fit together"):
        Perceptron().fit(X, [0, 1, 0, 1])
    grown = Perceptron().learn_one({0: 1.0}, 0)  # has room for more features than it has
    wide = sp.csr_matrix(np.ones((1, 1)))
    wide.indices = np.array([3], np.int32)
    with pytest.raises(InputError, match="row 0 names 3"):
        grown.partial_fit(wide, [1])


def test_data_frames_with_duplicate_names_are_refused() -> None:
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    with pytest.raises(InputError, match="both named 'a'"):
        Perceptron().fit(pd.DataFrame(GOOD, columns=["a", "a", "b"]), [0, 1, 0, 1])


@pytest.mark.parametrize("label", [[1], {}, None, 1.5, float("nan"), b"x"])
def test_missing_labels_are_refused(label: Any) -> None:
    model = make_learner("sgd-logistic-adagrad").learn_one({"a": 1.0}, "yes")
    before = to_bytes(model)
    with pytest.raises(LabelError):
        model.learn_one({"a": 1.0, "new": 2.0}, label)
    assert to_bytes(model) == before


def test_keys_must_be_names_or_column_numbers() -> None:
    model = trained("perceptron")
    for key in ("1", 1.7, None):
        with pytest.raises(InputError, match="named by strings, or all by column numbers"):
            model.learn_one({key: 1.0}, 1)


def test_a_refused_name_does_not_decide_that_features_have_names() -> None:
    model = Perceptron().learn_one({}, 1)
    with pytest.raises(InputError, match="NaN"):
        model.learn_one({"a": np.nan}, 1)
    assert model.learn_one({3: 1.0}, 0).n_features_in_ == 4


def test_numbers_whose_squares_underflow_are_accepted() -> None:
    model = SGD().learn_one({"a": 1.0, "t": 1e-170}, 0)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(SGD().fit([[1e-200], [1.0]], [0, 1]).coef_).all()
    tiny = np.array([[1e-30], [1.0], [1e-30]], np.float32)
    assert np.isfinite(SGD(l1=0.01).fit(tiny, [0, 1, 0]).coef_).all()


def test_a_row_of_weight_zero_is_checked_too() -> None:
    for rows in (2, 40):
        X, weights = np.ones((rows, 5)), np.ones(rows)
        X[1, 1], weights[1] = np.nan, 0.0
        for model in (Perceptron(), SGD()):
            with pytest.raises(InputError, match="row 1, column 1"):
                model.fit(X, np.arange(rows) % 2, sample_weight=weights)


def test_numbers_too_large_for_float32_are_refused() -> None:
    model = Perceptron().fit(GOOD.astype(np.float32), [0, 1, 0, 1])
    for call in (
        lambda: model.partial_fit(with_value(1e300), [0, 1, 0, 1]),
        lambda: model.learn_one({0: 1e300}, 1),
        lambda: model.score_one({0: 1e100, 1: 1e100}),
        lambda: model.predict(with_value(1e300)),
    ):
        with pytest.raises(InputError, match="too large to square"):
            call()


def test_score_takes_a_column_of_labels() -> None:
    model = trained("perceptron")
    y = np.array([0, 1, 0, 1])
    with pytest.warns(Warning, match="column-vector"):
        assert model.score(GOOD, y.reshape(-1, 1)) == model.score(GOOD, y)


def test_fit_refuses_a_single_class() -> None:
    with pytest.raises(LabelError, match="two classes, but all labels are 1"):
        Perceptron().fit(GOOD, [1, 1, 1, 1])
    model = Perceptron().partial_fit(GOOD, ["a"] * 4)
    assert model.predict(GOOD).tolist() == ["a"] * 4


def test_a_wrong_number_of_features_is_refused() -> None:
    model = trained("perceptron")
    for call in (lambda: model.partial_fit(GOOD[:, :2], [0, 1, 0, 1]), lambda: model.predict(GOOD[:, :2])):
        with pytest.raises(InputError, match="X has 2 features, but Perceptron is expecting 3"):
            call()
    with pytest.raises(InputError, match="x has 2 features"):
        model.learn_one(np.ones(2), 1)
    with pytest.raises(InputError, match="x has 2 features"):
        model.predict_one(np.ones(2))


@EVERYONE
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"new": np.nan}, "contains NaN"),
        ({"a": 1.0, "new": np.inf}, "infinity"),
        ({"new": 1e200}, "too large to square"),
        ({"new": "red"}, "'new' has 'red'"),
        ({"new": "1.5"}, "'new' has '1.5'"),
        ({"b": 1e152, "new": 1e152}, "too large to square"),
        ({"a": 1.0, 7: 1.0}, "got the key 7 among keys of the other kind"),
        ("text", "must be a dict"),
        ([[1, 2], [3]], "names or column numbers"),
        (17, "must be a dict"),
        (np.ones(5), "x has 5 features"),
        (np.ones((2, 2)), "1-D array"),
    ],
)
def test_bad_single_examples_change_nothing(name: str, x: Any, message: str) -> None:
    model = make_learner(name).learn_one({"a": 1.0, "b": 2.0}, "yes")
    before = to_bytes(model)
    with pytest.raises(InputError, match=message):
        model.learn_one(x, "no")
    assert to_bytes(model) == before
    model.learn_one({"a": 2.0, "c": 1.0}, "no")
    assert model.n_features_in_ == 3


def test_a_third_label_is_refused_and_not_remembered() -> None:
    model = Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    before = to_bytes(model)
    with pytest.raises(LabelError, match="the data has 3 classes"):
        model.learn_one({"c": 1.0}, "z")
    assert to_bytes(model) == before


def test_a_refused_first_example_leaves_the_learner_unfitted() -> None:
    model = Perceptron()
    with pytest.raises(InputError, match="NaN"):
        model.learn_one({"a": np.nan}, 1)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Perceptron(learning_rate=0.0), "learning_rate must be a number above 0, but is 0.0"),
        (Perceptron(learning_rate=np.nan), "learning_rate must be"),
        (Perceptron(margin=-1.0), "margin must be a number of at least 0"),
        (Perceptron(tie="both"), "tie must be one of positive, negative, but is 'both'"),  # type: ignore[arg-type]
        (Perceptron(passes=0), "passes must be a whole number of at least 1"),
        (Perceptron(passes=np.inf), "passes must be"),  # type: ignore[arg-type]
        (Perceptron(passes=1.5), "passes must be"),  # type: ignore[arg-type]
        (make_learner("margin-perceptron", gamma=0.0), "gamma must be"),
        (make_learner("margin-perceptron", epsilon=2.0), "epsilon must be at most 1"),
        (PNormPerceptron(p=1.0), "p must be from 2"),
        (SGD(loss="l0"), "loss must be one of hinge, logistic, squared"),  # type: ignore[arg-type]
        (SGD(schedule="never"), "schedule must be one of"),  # type: ignore[arg-type]
        (SGD(average=True, l1=0.1), "average and l1 exclude each other"),
        (SGD(average=True, l2=0.1, averaging_power=2.0), "averaging_power must be 1 with average and l2, but is 2.0"),
        (SGD(l2=-1.0), "l2 must be"),
        (Perceptron(averaging_power=0.5), "averaging_power must be a number from 1 to 20, but is 0.5"),
        (AROW(averaging_power=21.0), "averaging_power must be a number from 1 to 20"),
        (AROW(r=0.0), "r must be a number from 1e-09 to 1e\\+09, but is 0.0"),
        (PNormPerceptron(p="3"), "p must be a number"),  # type: ignore[arg-type]
        (Perceptron(fit_intercept="no"), "fit_intercept must be True or False"),  # type: ignore[arg-type]
        (SGD(average="no"), "average must be True or False"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings_are_refused(model: Any, message: str) -> None:
    for call in (
        lambda: model.fit(GOOD, [0, 1, 0, 1]),
        lambda: model.partial_fit(GOOD, [0, 1, 0, 1]),
        lambda: model.learn_one({0: 1.0}, 1),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_bad_sample_weights_are_refused() -> None:
    for weights, message in [
        ([1.0, 2.0], "one number per row"),
        ([1.0, np.nan, 1.0, 1.0], "finite and not negative"),
        ([1.0, -1.0, 1.0, 1.0], "finite and not negative"),
        (np.ones((4, 1)), "1D array"),
        (np.zeros(4), "zero for every row"),
    ]:
        with pytest.raises(InputError, match=message):
            Perceptron().fit(GOOD, [0, 1, 0, 1], sample_weight=weights)


def learn_all(model: Any, X: Any, y: Any) -> None:
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)


def test_diverging_weights_stop_learning_with_an_error() -> None:
    X, y = np.array([[1e6], [2e6]] * 400), [0, 1] * 400
    model = SGD(loss="squared", schedule="constant", learning_rate=1.0)
    with pytest.raises(WeightOverflowError, match="grew out of range"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(WeightOverflowError, match="grew out of range"):
        learn_all(model, X, y)
    assert np.isfinite(model.coef_).all()
    single = SGD(loss="squared", schedule="constant", learning_rate=1.0).partial_fit(X[:1].astype(np.float32), [0])
    with pytest.raises(WeightOverflowError, match="grew out of range"):
        learn_all(single, X, y)
    assert np.isfinite(single.coef_).all()


def test_the_default_p_needs_the_number_of_features() -> None:
    with pytest.raises(InputError, match="p must be given"):
        PNormPerceptron().learn_one({"a": 1.0}, 1)
    assert PNormPerceptron().fit(GOOD, [0, 1, 0, 1])._state.updater.scalars[1] == pytest.approx(2 * np.log(4))


def test_classes_that_contradict_the_stream_are_refused() -> None:
    model = Perceptron().partial_fit(GOOD, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(LabelError, match="classes must contain the known labels"):
        model.partial_fit(GOOD, [0, 1, 0, 1], classes=[1, 2])
