"""Run every documented combination of learner, precision, kind of rows, scheme and file format once.

`python -m tests.compiled.kernel_matrix` runs it in its own process. The compiled library must contain every kernel
that it calls. It needs novikoff with its extras, and no package that only tests need.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import novikoff
from novikoff import (
    AROW,
    SGD,
    AllVsAll,
    Auto,
    BalancedWinnow,
    Hierarchical,
    Kesler,
    LabelRanking,
    MarginPerceptron,
    MultiLabel,
    OneVsAll,
    OnlineBagging,
    OnlineBoosting,
    OnlineToBatch,
    OutputCode,
    Perceptron,
    PNormPerceptron,
    QueryRanking,
    VotedPerceptron,
    Winnow,
)
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.errors import InputError
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner

PRECISIONS = (np.float32, np.float64)
INSIDE: list[Any] = [
    Perceptron(),
    Perceptron(average=True),
    MarginPerceptron(gamma=0.05),
    PNormPerceptron(p=4.5),
    SGD(),
    SGD(loss="hinge", schedule="constant", learning_rate=0.25),
    SGD(loss="squared", schedule="sqrt", learning_rate=0.1, average=True),
    SGD(schedule="sqrt", l2=0.3),
    AROW(),
    BalancedWinnow(alpha=1.2),
    Winnow(threshold=3.0),
    VotedPerceptron(),
    Auto(),
]
"""Of each updater one: what the schemes are tried with; those that a scheme does not take are left out."""
SCHEMES: list[Any] = [
    OneVsAll(),
    AllVsAll(),
    OutputCode(code="sparse", code_length=5, decoding="loss"),
    Kesler(),
    Hierarchical(),
    MultiLabel(),
    MultiLabel(update="uniform"),
    LabelRanking(),
    OnlineBagging(n_estimators=3),
    OnlineBoosting(n_estimators=3),
]


def rows(kind: Any, count: int = 40, columns: int = 6) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((count, columns))
    X[:, ::3] *= rng.random((count, len(range(0, columns, 3)))) < 0.5
    return X.astype(kind)


def forms(X: Any, name: str = "perceptron") -> Iterator[Any]:
    """Yield the same rows dense without zeros, dense, sparse, and sparse with another column order."""
    yield clip_to_range(name, np.where(X == 0.0, np.asarray(1.0, X.dtype), X))
    yield X
    yield csr_matrix(X)
    yield csr_matrix(X[:, ::-1])[:, ::-1]


def learners() -> None:
    """Run all learners on two classes, in batches and one example at a time."""
    for name in ALL_LEARNERS:
        for kind in PRECISIONS:
            X = clip_to_range(name, rows(kind))
            y = np.where(np.arange(len(X)) % 3 > 0, 1, -1)
            weights = np.linspace(0.0, 2.0, len(y))
            for form in forms(X, name):
                model = make_learner(name).fit(form, y).partial_fit(form[:1], y[:1])
                model.decision_function(form), model.predict(form), getattr(model, "coef_", None)
                make_learner(name).set_params(shuffle=True, passes=2).fit(form, y) if hasattr(model, "passes") else None
                if isinstance(model, SampleWeightMixin):
                    make_learner(name).fit(form, y, sample_weight=weights)
            model.learn_one(clip_to_range(name, X[0] + 1), 1).learn_one(X[0], 1).learn_one({0: 1.0, 1: 0.0}, -1)
            model.predict_one(X[0]), model.predict_one(X[:, 0][:6]), model.predict_one({0: 1.0})
        by_name = make_learner(name)
        if by_name._spec().fixed_width_reason is None:
            for label in (1, -1, 1):
                by_name.learn_one({"a": 1.0, "b": 1.0}, label).predict_one({"a": 1.0})


def labels_for(scheme: Any, count: int) -> list[Any]:
    if isinstance(scheme, Hierarchical):
        return [["a/b", "a/c", "d"][t % 3] for t in range(count)]
    if isinstance(scheme, MultiLabel):
        return [[["x"], ["x", "y"], []][t % 3] for t in range(count)]
    if isinstance(scheme, LabelRanking):
        return [[["x", "y"], ["y", "z"], ["z", "x"]][t % 3] for t in range(count)]
    return [["x", "y", "z"][t % 3] for t in range(count)]


def schemes() -> None:
    """Run all multiclass schemes around all learners that they accept."""
    for scheme in SCHEMES:
        for inner in INSIDE:
            for kind in PRECISIONS:
                X = rows(kind)
                least, most = inner._spec().feature_range if hasattr(inner, "_spec") else (-np.inf, np.inf)
                X = X if least == -np.inf else np.clip(np.abs(X) if least >= 0 else X, least, most)
                y = labels_for(scheme, len(X))
                try:
                    for form in forms(X) if least == -np.inf else (X, csr_matrix(X)):
                        model = type(scheme)(**{**scheme.get_params(deep=False), "estimator": inner})
                        model.fit(form, y).predict(form)
                    model.partial_fit(X[:2], y[:2]).decision_function(X)
                    for _ in range(3):
                        model.learn_one({0: 1.0, 2: 0.5}, y[0]).predict_one({0: 1.0})
                    model.learn_one(X[0], y[1]).predict_one(X[0])
                except InputError as problem:
                    if type(inner).__name__ not in str(
                        problem
                    ):  # which says that the scheme does not take this learner
                        raise


def distributed() -> None:
    """Mix the models of two shards with all learners and schemes that distributed learning accepts."""
    from novikoff.distributed import DistributedLearner

    for kind in PRECISIONS:
        X = rows(kind)
        two = np.where(np.arange(len(X)) % 3 > 0, 1, -1)
        pairs = [(make_learner(name), clip_to_range(name, X), two) for name in ALL_LEARNERS]
        pairs += [(OneVsAll(inner), np.clip(np.abs(X), 0.0, 1.0), np.arange(len(X)) % 3) for inner in INSIDE]
        for model, data, y in pairs:
            with contextlib.suppress(InputError):  # which says why the model can't be mixed
                DistributedLearner(model, rounds=2).fit([(data, y), (csr_matrix(data), y)])


OUTPUT_METHODS: dict[str, dict[str, Any]] = {
    "random-stopping": {},
    "controlled-testing": {"epsilon": 0.6, "delta": 0.5},
    "next-stretch": {"max_mistakes": 9},
    "longest-survivor": {},
    "penalised": {},
    "average": {},
    "vote": {},
}


def output_hypotheses() -> None:
    """Run all online-to-batch methods around all learners that they accept."""
    for name in ALL_LEARNERS:
        for kind in PRECISIONS:
            X = clip_to_range(name, rows(kind))
            y = np.where(np.arange(len(X)) % 3 > 0, 1, -1)
            for form in (X, csr_matrix(X)):
                for method, settings in OUTPUT_METHODS.items():
                    output_hypothesis(OnlineToBatch(make_learner(name), method=method, **settings), form, y)


def output_hypothesis(model: Any, X: Any, y: Any) -> None:
    """Run one method around one learner, unless the learner is refused."""
    try:
        model.fit(X, y)
    except InputError as problem:
        if "OnlineToBatch" not in str(problem) and "method='average'" not in str(problem) and "l1" not in str(problem):
            raise
        return
    model._partial_fit(X[:2], y[:2], None, np.array([0.0, 1.0]))
    model.predict(X), model.predict(X[:1]), model.predict_one({0: 1.0}), model.learn_one({0: 1.0}, 1)
    if model.method != "vote":
        model.hypothesis_.predict(X)


def others() -> None:
    """Run all other learners: ranking, networks, kernels, trees, support vector machines, combinations."""
    from novikoff import (
        AdaBoost,
        Bagging,
        DecisionTree,
        KernelPerceptron,
        MulticlassSVM,
        MultilayerPerceptron,
        RandomForest,
    )

    for kind in PRECISIONS:
        X = rows(kind)
        y, two = np.arange(len(X)) % 3, np.where(X[:, 1] > 0, 1, -1)
        for form in forms(X):
            for model in (
                MulticlassSVM(tol=0.1),
                MultilayerPerceptron(hidden_layer_sizes=(3,)),
                KernelPerceptron(),
                KernelPerceptron(kernel="rbf:0.5", budget=5),
                DecisionTree(max_depth=3),
                Bagging(n_estimators=2),
                RandomForest(n_estimators=2),
                Auto(),
            ):
                try:
                    model.fit(form, y).predict(form)
                except InputError:
                    model.fit(form, two).predict(form)
                if isinstance(model, MultilayerPerceptron):
                    model.partial_fit(form[:1], y[:1])
            AdaBoost(n_estimators=3).fit(form, two).predict(form)
            for inner in (Perceptron(), Perceptron(average=True), SGD(), AROW()):
                try:
                    QueryRanking(inner).fit(form, y, qid=np.arange(len(X)) // 8)
                except InputError:
                    continue


def certificates() -> None:
    for kind in PRECISIONS:
        X = rows(kind)
        two, three = np.where(X[:, 1] + X[:, 2] > 0, 1, -1), np.arange(len(X)) % 3
        for form in (X, csr_matrix(X)):
            for name in ALL_LEARNERS:
                data = clip_to_range(name, form) if isinstance(form, np.ndarray) else csr_matrix(clip_to_range(name, X))
                certify(make_learner(name), data, two)
            for scheme in SCHEMES:
                certify(type(scheme)(**scheme.get_params(deep=False)), form, labels_for(scheme, len(X)))
            certify(Auto(), form, three)
            novikoff.separable(form, two)


def certify(model: Any, X: Any, y: Any) -> None:
    try:
        novikoff.verify(novikoff.certify(model.fit(X, y), X, y), X, y)
    except InputError as problem:
        if "OnlineToBatch" not in str(problem) and not getattr(model, "n_estimators", None):
            raise


FILES = {
    "data.svm": "1 1:1 2:1.5\n-1 1:1 3:1\n1 2:0.5 1:2\n",
    "data.vw": "1 |a x y:2 |b z\n-1 |a y |b u:0.5\n",
    "numbers.csv": "label,a,b\n1,1,1\n-1,1,0\n",
    "words.csv": "label,a,b\nyes,red,2\nno,blue,1\n",
    "text.csv": "label,a,t\nyes,1,some words\nno,2,other words\n",
    "data.jsonl": '{"label": 1, "a": "x", "b": 2}\n{"label": -1, "a": "y", "b": [1, 2]}\n',
    "data.txt": "spam\twin some money\nham\tsee you soon\n",
}
MORE = {"text.csv": ["--text", "t"], "data.txt": ["--format", "text"]}


def files() -> None:
    """Run the command line on every format, from files and from standard input."""
    from novikoff.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            path, model = Path(folder, name), Path(folder, f"{name}.model")
            path.write_text(content * 20)
            for more in (
                [],
                ["--shuffle"],
                ["--hash-bits", "8"],
                ["--passes", "2", "--cache"],
                ["--learner", "perceptron"],
            ):
                options = [*MORE.get(name, []), *more]
                main(["learn", str(path), *options, "--quiet", "--save", str(model)])
                main(["predict", str(model), str(path), "--quiet", "--scores", "--output", str(Path(folder, "out"))])
                main(["certify", str(model), str(path), "--quiet", "--output", str(Path(folder, "c.json"))])
            main(["inspect", str(model)])


def main() -> None:
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or [
        "learners",
        "schemes",
        "distributed",
        "output_hypotheses",
        "others",
        "certificates",
        "files",
    ]
    for name in chosen:
        globals()[name]()
        print(name, "done", file=sys.stderr)


if __name__ == "__main__":
    main()
