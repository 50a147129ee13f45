"""Learners that support mixing, and alternatives to the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.auto import Auto
from novikoff.base.class_weights import BALANCED, class_weight_of
from novikoff.base.estimator import check_positive_int
from novikoff.base.internals import build_unfitted, build_updater, check_settings, inner_learner_of
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.distributed.mixing import MIXABLE_UPDATERS
from novikoff.errors import InputError
from novikoff.model_factory import ModelSettings, Task, build_learner
from novikoff.multiclass.base import MulticlassClassifier

MIXABLE_SCHEMES = ("Kesler", "OneVsAll", "AllVsAll", "OutputCode")
NO_MEAN_REASON = "its hypothesis is not a weight vector, so it has no mean. Use Winnow, BalancedWinnow or Perceptron"
ALTERNATIVES = {
    "Auto": "it combines several learners and has no weights of its own. Use AROW, SGD or Perceptron(average=True)",
    "VotedPerceptron": "it predicts by a vote of its hypotheses, which have no mean. Use Perceptron(average=True)",
    "KernelPerceptron": "it stores examples, which every worker would need. Use a linear learner on products of the"
    " features (--feature-map poly:2)",
    "MultilayerPerceptron": "the mean of the weights of two networks is not a useful network. Use Kesler with a"
    " linear learner",
    "Elimination": NO_MEAN_REASON,
    "Halving": NO_MEAN_REASON,
    "Rectangle": NO_MEAN_REASON,
    "MultiLabel": "distributed learning needs one label for each example. Use OneVsAll for each label, or one machine",
    "LabelRanking": "distributed learning needs one label for each example. Use Kesler, or one machine",
    "Hierarchical": "distributed learning needs one label for each example. Use Kesler with flat labels",
    "QueryRanking": "distributed learning needs one label for each example. Rank on one machine",
}
OTHER_LEARNERS_REASON = "only linear learners are supported, and Kesler, OneVsAll, AllVsAll and OutputCode around them"


def prepare_model(learner: Any, rounds: int) -> Any:
    """Return an unfitted copy for this number of rounds; raise InputError if the learner does not support mixing."""
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
            f"A distributed run makes one pass over the data in each round. Set rounds, and leave out"
            f" passes={inner.passes!r}."
        )
    if class_weight_of(inner) == BALANCED:
        raise InputError(
            'class_weight="balanced" counts the classes of one stream, and shards are learned side by side: give a'
            " weight for each label."
        )
    model = build_unfitted(learner)
    inner_learner_of(model).passes = int(rounds)
    inner_learner_of(model).shuffle = False  # shards are learned in their given order
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
