"""Which learners can be mixed, and what to use instead of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.auto import Auto
from novikoff.distributed.mixing import MIXED
from novikoff.errors import InputError
from novikoff.linear.arow import AROW
from novikoff.base.estimator import whole
from novikoff.base.online_classifier import Learner
from novikoff.multiclass.base import Many

SCHEMES = ("Kesler", "OneVsAll", "AllVsAll", "OutputCode")
WHOLE = "what it learns is no vector of weights, and has no mean: use Winnow, BalancedWinnow or Perceptron"
INSTEAD = {
    "Auto": "it follows several learners, whose weights are not its own: use AROW, SGD or Perceptron(average=True)",
    "VotedPerceptron": "it predicts by the votes of its hypotheses, which have no mean: use Perceptron(average=True)",
    "KernelPerceptron": "it keeps examples, which would have to go everywhere: use a linear learner on products of the"
    " features (--map poly:2)",
    "MultilayerPerceptron": "the mean of two networks is not a network that knows what both know: use Kesler with a"
    " linear learner",
    "Elimination": WHOLE,
    "Halving": WHOLE,
    "Rectangle": WHOLE,
    "MultiLabel": "a cluster learns one label for each example: use OneVsAll for each label, or one machine",
    "LabelRanking": "a cluster learns one label for each example: use Kesler, or one machine",
    "Hierarchical": "a cluster learns one label for each example: use Kesler with the labels as they are",
    "QueryRanking": "a cluster learns one label for each example: rank on one machine",
}
OTHERS = "only linear learners can, and Kesler, OneVsAll, AllVsAll and OutputCode around them"


def prepared(learner: Any, rounds: int) -> Any:
    """A fresh model of this kind for so many rounds, which are its passes; InputError where it can't be mixed."""
    whole(rounds=rounds)
    learner = learner.inner if isinstance(learner, Auto) else learner
    if not isinstance(learner, Learner):
        raise _refused(learner)
    if isinstance(learner, Many) and learner.learner is None:  # Auto, its default, can't be mixed
        learner = type(learner)(**{**learner.get_params(deep=False), "learner": AROW()})
    inner, scheme = learner.inner, isinstance(learner, Many)
    if scheme and type(learner).__name__ not in SCHEMES:
        raise _refused(learner)
    if type(inner).__name__ in INSTEAD or not isinstance(inner, Learner):
        raise _refused(inner)
    if inner.passes not in (1, rounds):
        raise InputError(
            f"A cluster goes over the data once in each round: set rounds, and leave out passes={inner.passes!r}."
        )
    model = type(learner).from_settings(learner.plain_settings())
    model.inner.passes = int(rounds)
    model.inner.shuffle = False  # shards are learned in the order in which they are given
    model._check_all()
    if not isinstance(model._geometry(2, np.float64), MIXED):
        raise _refused(learner)
    return model


def _refused(model: Any) -> InputError:
    name = type(model).__name__
    return InputError(f"{name} can't be learned on a cluster: {INSTEAD.get(name, OTHERS)}.")
