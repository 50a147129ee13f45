"""Which learners can be mixed, and what to use instead of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.auto import Auto
from novikoff.base.estimator import check_positive_int
from novikoff.base.internals import build_unfitted, build_updater, check_settings, inner_learner_of
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.distributed.mixing import MIXABLE_UPDATERS
from novikoff.errors import InputError
from novikoff.model_factory import ModelSettings, Task, build_learner
from novikoff.multiclass.base import MulticlassClassifier

MIXABLE_SCHEMES = ("Kesler", "OneVsAll", "AllVsAll", "OutputCode")
NO_MEAN_REASON = "what it learns is no vector of weights, and has no mean: use Winnow, BalancedWinnow or Perceptron"
ALTERNATIVES = {
    "Auto": "it follows several learners, whose weights are not its own: use AROW, SGD or Perceptron(average=True)",
    "VotedPerceptron": "it predicts by the votes of its hypotheses, which have no mean: use Perceptron(average=True)",
    "KernelPerceptron": "it keeps examples, which would have to go everywhere: use a linear learner on products of the"
    " features (--feature-map poly:2)",
    "MultilayerPerceptron": "the mean of two networks is not a network that knows what both know: use Kesler with a"
    " linear learner",
    "Elimination": NO_MEAN_REASON,
    "Halving": NO_MEAN_REASON,
    "Rectangle": NO_MEAN_REASON,
    "MultiLabel": "a cluster learns one label for each example: use OneVsAll for each label, or one machine",
    "LabelRanking": "a cluster learns one label for each example: use Kesler, or one machine",
    "Hierarchical": "a cluster learns one label for each example: use Kesler with the labels as they are",
    "QueryRanking": "a cluster learns one label for each example: rank on one machine",
}
OTHER_LEARNERS_REASON = "only linear learners can, and Kesler, OneVsAll, AllVsAll and OutputCode around them"


def prepare_model(learner: Any, rounds: int) -> Any:
    """A fresh model of this kind for so many rounds, which are its passes; InputError where it can't be mixed."""
    check_positive_int(rounds=rounds)
    learner = inner_learner_of(learner) if isinstance(learner, Auto) else learner
    if not isinstance(learner, OnlineClassifier):
        raise _unsupported_error(learner)
    if isinstance(learner, MulticlassClassifier) and learner.estimator is None:  # Auto, its default, can't be mixed
        learner = type(learner)(**{**learner.get_params(deep=False), "estimator": build_default_learner()})
    inner, scheme = inner_learner_of(learner), isinstance(learner, MulticlassClassifier)
    if scheme and type(learner).__name__ not in MIXABLE_SCHEMES:
        raise _unsupported_error(learner)
    if type(inner).__name__ in ALTERNATIVES or not isinstance(inner, OnlineClassifier):
        raise _unsupported_error(inner)
    if inner.passes not in (1, rounds):
        raise InputError(
            f"A cluster goes over the data once in each round: set rounds, and leave out passes={inner.passes!r}."
        )
    model = build_unfitted(learner)
    inner_learner_of(model).passes = int(rounds)
    inner_learner_of(model).shuffle = False  # shards are learned in the order in which they are given
    check_settings(model)
    if not isinstance(build_updater(model, 2, np.float64), MIXABLE_UPDATERS):
        raise _unsupported_error(learner)
    return model


def build_default_learner() -> Any:
    """Return the learner that is used where none is given."""
    return build_learner(ModelSettings(), Task(on_cluster=True))


def _unsupported_error(model: Any) -> InputError:
    name = type(model).__name__
    return InputError(f"{name} can't be learned on a cluster: {ALTERNATIVES.get(name, OTHER_LEARNERS_REASON)}.")
