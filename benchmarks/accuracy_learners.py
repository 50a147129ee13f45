"""Learners by name, ours and others': each is made anew, with its defaults, for so many classes and passes.

Ours for more than two classes are `Kesler`'s, unless their name says otherwise. `plain` ones are our code with the
settings of the papers: AdaGrad and AROW as others would write them down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import multiclass_vw as vw
from benchmarks.multiclass_accuracy import LOSSES, peers
from benchmarks.multiclass_data import Split
from benchmarks.order import in_given_order

AUTO = "auto"
RIVER = ("LogisticRegression", "PAClassifier", "ALMAClassifier")


def ours() -> dict[str, Callable[[bool, int], Any]]:
    """Of whether there are more than two classes, and the number of passes."""
    import novikoff as n

    def kesler(make: Callable[..., Any], **settings: Any) -> Callable[[bool, int], Any]:
        return lambda many, passes: (
            n.Kesler(make(passes=passes, **settings)) if many else make(passes=passes, **settings)
        )

    return {
        AUTO: kesler(n.Auto),
        "arow": kesler(n.AROW),
        "sgd": kesler(n.SGD),
        "sgd hinge, averaged": kesler(n.SGD, loss="hinge", learning_rate=1.0, average=True, averaging_power=4.0),
        "perceptron": kesler(n.Perceptron),
        "perceptron, averaged": kesler(n.Perceptron, average=True),
        "voted-perceptron": kesler(n.VotedPerceptron),
        "margin-perceptron": kesler(n.MarginPerceptron),
        "p-norm-perceptron": kesler(n.PNormPerceptron),
        "winnow": kesler(n.Winnow),
        "balanced-winnow": kesler(n.BalancedWinnow),
    }


def plain() -> dict[str, Callable[[bool, int], Any]]:
    from novikoff import AROW, SGD, Kesler, OneVsAll

    return {
        "plain AdaGrad logistic": lambda many, passes: OneVsAll(SGD(passes=passes)) if many else SGD(passes=passes),
        "plain AROW": lambda many, passes: (OneVsAll if many else _itself)(AROW(r=1.0, average=False, passes=passes)),
        "plain AROW, multiclass": lambda many, passes: (Kesler if many else _itself)(
            AROW(r=1.0, average=False, passes=passes)
        ),
    }


def _itself(learner: Any) -> Any:
    return learner


def scikit_learn() -> dict[str, Callable[[], Any]]:
    return {f"sklearn {name}": make for name, make in peers().items()}


def river() -> dict[str, Callable[[bool], Any]]:
    from river import linear_model, multiclass

    def make(name: str) -> Callable[[bool], Any]:
        one = getattr(linear_model, name)
        return lambda many: multiclass.OneVsRestClassifier(one()) if many else one()

    return {f"river {name}": make(name) for name in RIVER}


# --- What they say of a test part after one pass ---


def by_arrays(model: Any, split: Split) -> float:
    return percent(split.y_test, in_given_order(model).fit(split.X, split.y).predict(split.X_test))


def by_river(model: Any, split: Split) -> float:
    for x, y in zip(dicts(split.X), _told(split.y), strict=True):
        model.learn_one(x, y)
    return percent(split.y_test, np.array([_class(model.predict_one(x)) for x in dicts(split.X_test)]))


def by_vw(split: Split) -> Iterator[tuple[str, float]]:
    train, test = vw.features(split.X), vw.features(split.X_test)
    bits = ("-b", str(vw.SPARSE_BITS)) if sp.issparse(split.X) else ()
    classes = 1 + max(split.y.max(), split.y_test.max())
    for loss in LOSSES:
        options = ("--loss_function", loss, *bits)
        if classes > 2:
            said = vw.classes(train, split.y, test, "--oaa", str(classes), *options)
        else:
            said = vw.scores(train, 2 * split.y - 1, test, *options) > 0
        yield f"vw {loss}", percent(split.y_test, said)


# --- Of a stream of two classes: each example is predicted, then learned; the first counts as a mistake ---


def following(model: Any, split: Split) -> float:
    examples = list(zip(split.X, split.y.tolist(), strict=True))
    model.learn_one(*examples[0])
    right = 0
    for x, y in examples[1:]:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return 100 * right / len(examples)


def following_in_batches(model: Any, split: Split) -> float:
    """scikit-learn's: batches of one."""
    X, y, right = split.X, split.y, 0
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, len(y)):
        right += int(model.predict(X[t : t + 1])[0] == y[t])
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return 100 * right / len(y)


def following_by_river(model: Any, split: Split) -> float:
    right = 0
    for k, (x, y) in enumerate(zip(dicts(split.X), _told(split.y), strict=True)):
        right += k > 0 and model.predict_one(x) == y
        model.learn_one(x, y)
    return 100 * right / len(split.y)


def following_by_vw(split: Split, loss: str) -> float:
    """What it reports of itself: --binary makes its progressive loss the share of mistakes."""
    return 100 * (1 - vw.progressive(vw.features(split.X), 2 * split.y - 1, "--binary", "--loss_function", loss))


def unchanged(split: Split) -> float:
    """The label before: what a stream gives to those who learn nothing."""
    return 100 * float(np.sum(split.y[1:] == split.y[:-1])) / len(split.y)


# --- Arrays as others want them ---


def percent(truth: Any, said: Any) -> float:
    return 100 * float(np.mean(truth == said))


def dicts(X: Any) -> Iterator[dict[int, float]]:
    rows = sp.csr_matrix(X)
    indices, values = rows.indices.tolist(), rows.data.astype(float).tolist()
    for a, b in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        yield dict(zip(indices[a:b], values[a:b], strict=True))


def _told(y: Any) -> list[Any]:
    """River's learners of two classes take truth values."""
    return [bool(label) for label in y.tolist()] if y.max() < 2 else y.tolist()


def _class(said: Any) -> int:
    return -1 if said is None else int(said)
