"""Kesler's construction: one weight vector in R^{kn}, learned from preferences between classes.

Predict   the class c with the highest w_c·x, the first of equals
Update    learn those of the preferences y ≻ j of an example that violate the learner's loss: x_yj, which has x in block
          y and −x in block j, is a positive example of the binary learner. `top`: the one with the highest w_j·x;
          `uniform`: their mean; `proportional`: their mean, weighted by the violation of each
          (for the Perceptron: w_y += x, and w_j −= τ_j·x with Σ τ_j = 1, the ultraconservative family)
Bound     the binary learner's own, in R^{kn}, where ‖x_yj‖² = 2‖x‖²: see core/multiclass/pairwise_gradients.py
Source    Nilsson, Learning Machines, 1965; Crammer and Singer, Ultraconservative online algorithms, 2003;
          Har-Peled, Roth and Zimak, Constraint classification, 2002
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, final

from novikoff.base.estimator import check_choice
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.multiclass.pairwise_gradients import UPDATE_NAMES
from novikoff.core.multiclass.schemes import MULTICLASS_MARGIN, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.linear.auto import BinaryAuto
from novikoff.meta.base import check_preference_learner
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.pairwise_bounds import build_preference_bounds
from novikoff.theory.bound_declaration import Bound

__all__ = ["Kesler"]

BOUND_NOTE = "every class but the right one is a preference x_yj, ‖x_yj‖² = 2‖x‖²"


@final
class Kesler(MulticlassClassifier):
    """Multiclass classifier in one binary problem: the class of an example is preferred to every other class.

    A new class may arrive at any time; its first example counts as a mistake.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default Auto() for `update="top"`, otherwise AROW(). Its settings are settings of the
        whole model.
    update : str
        Which of the violated preferences are learned: top, uniform or proportional.

    Examples
    --------
    >>> from novikoff import Kesler, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> model = Kesler(Perceptron(passes=20)).fit(X, y)
    >>> model.predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    >>> model.learn_one({0: 0.0, 1: -1.0}, "down").classes_.tolist()
    ['left', 'right', 'up', 'down']
    """

    _outcome_type = "preferences"
    _has_single_labels = True

    def __init__(
        self, estimator: OnlineClassifier | None = None, *, update: Literal["top", "uniform", "proportional"] = "top"
    ) -> None:
        self.estimator = estimator
        self.update = update

    def _default_learner(self) -> OnlineClassifier:
        return BinaryAuto() if self.update == "top" else super()._default_learner()

    def _check_settings(self) -> None:
        check_choice(UPDATE_NAMES, update=self.update)

    def _check_learner(self) -> None:
        check_preference_learner(self, self.update, rivals=self.update == "top")

    def _scheme(self, classes: ClassLabels) -> Scheme:
        return Scheme(MULTICLASS_MARGIN, update=UPDATE_NAMES.index(self.update))

    def bounds(self) -> Sequence[Bound]:
        return build_preference_bounds(self, BOUND_NOTE)
