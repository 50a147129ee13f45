"""Every learner, in the settings that the common tests try."""

from __future__ import annotations

from typing import Any

from novikoff import SGD, MarginPerceptron, Perceptron, PNormPerceptron, VotedPerceptron

EVERY: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-b": Perceptron(tie="negative", bias=False, rate=0.3),
    "perceptron-thick": Perceptron(margin=0.7, rate=0.5),
    "perceptron-averaged": Perceptron(average=True),
    "margin-perceptron": MarginPerceptron(gamma=0.05, epsilon=0.5),
    "voted-perceptron": VotedPerceptron(),
    "p-norm-perceptron": PNormPerceptron(p=4.5),
    "sgd-logistic-adagrad": SGD(),
    "sgd-hinge-adagrad-elastic": SGD(loss="hinge", l1=0.01, l2=0.02),
    "sgd-squared-adagrad-averaged": SGD(loss="squared", l2=0.01, rate=0.1, average=True),
    "sgd-hinge-constant": SGD(loss="hinge", schedule="constant", rate=0.1, bias=False),
    "sgd-hinge-constant-averaged": SGD(loss="hinge", schedule="constant", rate=0.1, average=True),
    "sgd-logistic-sqrt-ridge": SGD(schedule="sqrt", l2=0.3),
    "sgd-squared-inverse-lasso": SGD(loss="squared", schedule="inverse", rate=0.05, l1=0.02),
    "sgd-logistic-sqrt-elastic": SGD(schedule="sqrt", l1=0.01, l2=0.5),
    "sgd-hinge-inverse-averaged-ridge": SGD(loss="hinge", schedule="inverse", l2=0.1, average=True),
}


def fresh(name: str, **changes: Any) -> Any:
    """A new learner with the settings of that name."""
    model = EVERY[name]
    return type(model)(**{**model.get_params(), **changes})
