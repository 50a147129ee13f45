"""Every learner, in the settings of the common tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff import (
    AROW,
    SGD,
    BalancedWinnow,
    Elimination,
    Halving,
    KernelPerceptron,
    MarginPerceptron,
    Perceptron,
    PNormPerceptron,
    Rectangle,
    VotedPerceptron,
    Winnow,
)
from novikoff.linear.auto import BinaryAuto

ADDITIVE_LEARNERS: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-b": Perceptron(tie="negative", fit_intercept=False, learning_rate=0.3),
    "perceptron-thick": Perceptron(margin=0.7, learning_rate=0.5),
    "perceptron-averaged": Perceptron(average=True),
    "perceptron-tail": Perceptron(average=True, averaging_power=2.5, learning_rate=0.5),
    "margin-perceptron": MarginPerceptron(gamma=0.05, epsilon=0.5),
    "voted-perceptron": VotedPerceptron(),
    "p-norm-perceptron": PNormPerceptron(p=4.5),
    "sgd-logistic-adagrad": SGD(),
    "sgd-hinge-adagrad-elastic": SGD(loss="hinge", l1=0.01, l2=0.02),
    "sgd-squared-adagrad-averaged": SGD(loss="squared", l2=0.01, learning_rate=0.1, average=True),
    "sgd-logistic-adagrad-tail": SGD(average=True, averaging_power=4.0),
    "sgd-hinge-constant": SGD(loss="hinge", schedule="constant", learning_rate=0.1, fit_intercept=False),
    "sgd-hinge-constant-averaged": SGD(loss="hinge", schedule="constant", learning_rate=0.1, average=True),
    "sgd-logistic-sqrt-ridge": SGD(schedule="sqrt", l2=0.3),
    "sgd-squared-inverse-lasso": SGD(loss="squared", schedule="inverse", learning_rate=0.05, l1=0.02),
    "sgd-logistic-sqrt-elastic": SGD(schedule="sqrt", l1=0.01, l2=0.5),
    "sgd-hinge-inverse-averaged-ridge": SGD(loss="hinge", schedule="inverse", l2=0.1, average=True),
    "arow": AROW(),
    "arow-last": AROW(r=3.0, average=False, tie="negative", fit_intercept=False),
}
"""Learners that add up examples: they take any numbers, and have a bias."""

OTHER_LEARNERS: dict[str, Any] = {
    "auto": BinaryAuto(),
    "winnow": Winnow(threshold=3.0),
    "winnow-n": Winnow(),
    "winnow-elimination": Winnow(threshold=4.0, elimination=True, fit_intercept=True),
    "winnow-r": Winnow(threshold=5.0, floor=0.5, alpha=1.5),
    "winnow-thick-averaged": Winnow(threshold=5.0, margin=0.5, average=True),
    "winnow-negations": Winnow(negations=True, alpha=1.3),
    "balanced-winnow": BalancedWinnow(alpha=1.2),
    "balanced-winnow-thick": BalancedWinnow(threshold=1.0, margin=0.3, fit_intercept=False),
    "balanced-winnow-averaged": BalancedWinnow(average=True),
    "elimination": Elimination(),
    "elimination-2": Elimination(k=2),
    "halving-stumps": Halving(),
    "halving-disjunctions": Halving(hypotheses="disjunctions"),
    "rectangle": Rectangle(),
    "kernel-perceptron": KernelPerceptron(),
    "kernel-perceptron-voted": KernelPerceptron(kernel="rbf:0.3", vote=True, tie="negative"),
    "kernel-perceptron-budget": KernelPerceptron(kernel="poly:3:1:0.5", average=True, margin=0.5, budget=9),
}
ALL_LEARNERS = {**ADDITIVE_LEARNERS, **OTHER_LEARNERS}
for _learner in ALL_LEARNERS.values():  # these tests compare fit with other ways to learn the same stream
    _learner.set_params(shuffle=False)
VARIANTS = {
    "perceptron-b",
    "perceptron-thick",
    "perceptron-tail",
    "sgd-hinge-adagrad-elastic",
    "sgd-squared-adagrad-averaged",
    "sgd-logistic-adagrad-tail",
    "sgd-hinge-constant-averaged",
    "sgd-squared-inverse-lasso",
    "sgd-logistic-sqrt-elastic",
    "arow-last",
    "winnow-elimination",
    "winnow-thick-averaged",
    "winnow-negations",
    "balanced-winnow-thick",
    "balanced-winnow-averaged",
    "elimination-2",
    "halving-disjunctions",
    "kernel-perceptron-voted",
    "kernel-perceptron-budget",
}
"""Settings that differ little from others but need their own compilation: quick tests compare them with their
references only; the slow set runs them in all tests that cover every learner."""
GROWING_LEARNERS = [name for name, model in ALL_LEARNERS.items() if model._spec().fixed_width_reason is None]
ONE_STEP_REASON = (
    "an example of weight c is one step of c times the length, not c steps: online learners depend on the order"
)
FEW_STEPS_REASON = (
    "one pass over 50 noisy rows of weights 1,000 and 0.0001: a few long steps decide, and the last of them most"
)
EXPECTED_FAILED_CHECKS = {
    "check_class_weight_classifiers": FEW_STEPS_REASON,
    "check_sample_weight_equivalence_on_dense_data": ONE_STEP_REASON,
    "check_sample_weight_equivalence_on_sparse_data": ONE_STEP_REASON,
}


def clip_to_range(name: str, X: Any) -> Any:
    """Return the table clipped to the range that the learner takes."""
    least, most = ALL_LEARNERS[name]._spec().feature_range
    if least == most:
        return (X > 0).astype(X.dtype)
    return X if least == -np.inf else np.clip(X if least < 0 else np.abs(X), least, most)


def make_learner(name: str, **changes: Any) -> Any:
    """Return a new learner with the settings of this name."""
    model = ALL_LEARNERS[name]
    return type(model)(**{**model.get_params(), **changes})
