"""Build the compared learners by name, ours and others', with their defaults, and evaluate them.

For more than two classes ours are wrapped in `Kesler`, unless their name says otherwise. `plain` ones are our code with
the settings of the papers on AdaGrad and AROW.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import multiclass_vw as vw
from benchmarks.multiclass_accuracy import LOSSES, peers
from benchmarks.multiclass_data import Split
from benchmarks.order import disable_shuffling

AUTO = "auto"
RIVER = ("LogisticRegression", "PAClassifier", "ALMAClassifier")


def ours() -> dict[str, Callable[[bool, int], Any]]:
    """Return factories by name; each takes whether there are more than two classes, and the number of passes."""
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
        "plain AROW": lambda many, passes: (OneVsAll if many else _return_learner)(
            AROW(r=1.0, average=False, passes=passes)
        ),
        "plain AROW, multiclass": lambda many, passes: (Kesler if many else _return_learner)(
            AROW(r=1.0, average=False, passes=passes)
        ),
    }


def _return_learner(learner: Any) -> Any:
    return learner


def scikit_learn() -> dict[str, Callable[[], Any]]:
    return {f"sklearn {name}": make for name, make in peers().items()}


def river() -> dict[str, Callable[[bool], Any]]:
    from river import linear_model, multiclass

    def make(name: str) -> Callable[[bool], Any]:
        one = getattr(linear_model, name)
        return lambda many: multiclass.OneVsRestClassifier(one()) if many else one()

    return {f"river {name}": make(name) for name in RIVER}


# --- Accuracy on a test part after one pass ---


def evaluate_arrays(model: Any, split: Split) -> float:
    return compute_accuracy(split.y_test, disable_shuffling(model).fit(split.X, split.y).predict(split.X_test))


def evaluate_river(model: Any, split: Split) -> float:
    for x, y in zip(iter_dicts(split.X), _to_river_labels(split.y), strict=True):
        model.learn_one(x, y)
    return compute_accuracy(
        split.y_test, np.array([_to_class_number(model.predict_one(x)) for x in iter_dicts(split.X_test)])
    )


def evaluate_vw(split: Split) -> Iterator[tuple[str, float]]:
    train, test = vw.format_features(split.X), vw.format_features(split.X_test)
    bits = ("-b", str(vw.SPARSE_BITS)) if sp.issparse(split.X) else ()
    classes = 1 + max(split.y.max(), split.y_test.max())
    for loss in LOSSES:
        options = ("--loss_function", loss, *bits)
        if classes > 2:
            said = vw.predict_classes(train, split.y, test, "--oaa", str(classes), *options)
        else:
            said = vw.predict_scores(train, 2 * split.y - 1, test, *options) > 0
        yield f"vw {loss}", compute_accuracy(split.y_test, said)


# --- Streams of two classes: each example is predicted, then learned; the first counts as a mistake ---


def evaluate_stream(model: Any, split: Split) -> float:
    examples = list(zip(split.X, split.y.tolist(), strict=True))
    model.learn_one(*examples[0])
    right = 0
    for x, y in examples[1:]:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return 100 * right / len(examples)


def evaluate_stream_in_batches(model: Any, split: Split) -> float:
    """Evaluate a scikit-learn learner with batches of one example."""
    X, y, right = split.X, split.y, 0
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for t in range(1, len(y)):
        right += int(model.predict(X[t : t + 1])[0] == y[t])
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return 100 * right / len(y)


def evaluate_stream_by_river(model: Any, split: Split) -> float:
    right = 0
    for k, (x, y) in enumerate(zip(iter_dicts(split.X), _to_river_labels(split.y), strict=True)):
        right += k > 0 and model.predict_one(x) == y
        model.learn_one(x, y)
    return 100 * right / len(split.y)


def evaluate_stream_by_vw(split: Split, loss: str) -> float:
    """Return the accuracy that vw reports; --binary makes its progressive loss the share of mistakes."""
    return 100 * (
        1
        - vw.measure_progressive_loss(vw.format_features(split.X), 2 * split.y - 1, "--binary", "--loss_function", loss)
    )


def measure_repeated_label(split: Split) -> float:
    """Return the accuracy of repeating the previous label."""
    return 100 * float(np.sum(split.y[1:] == split.y[:-1])) / len(split.y)


# --- Conversions for peers ---


def compute_accuracy(truth: Any, said: Any) -> float:
    return 100 * float(np.mean(truth == said))


def iter_dicts(X: Any) -> Iterator[dict[int, float]]:
    rows = sp.csr_matrix(X)
    indices, values = rows.indices.tolist(), rows.data.astype(float).tolist()
    for a, b in zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True):
        yield dict(zip(indices[a:b], values[a:b], strict=True))


def _to_river_labels(y: Any) -> list[Any]:
    """Convert labels for River, whose binary learners take Booleans."""
    return [bool(label) for label in y.tolist()] if y.max() < 2 else y.tolist()


def _to_class_number(said: Any) -> int:
    return -1 if said is None else int(said)
