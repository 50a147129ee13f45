"""Error-correcting output codes: a code word for each class, and a binary learner for each bit.

Predict   the class whose code word is nearest to the bits: by the number of wrong bits (Hamming, a bit of 0 counting
          one half), or by the sum of losses
Update    the learner of bit l learns the examples of classes with +1 or −1 there
Bound     M ≤ 2·Σ_l M_l/d for Hamming, d the least distance of two code words without zeros: a mistake takes d/2 wrong
          bits
Source    Dietterich and Bakiri 1995; Allwein, Schapire and Singer 2000 (sparse codes, decoding by loss)
"""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.estimator import check_choice, check_positive_int, check_seed
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.core.multiclass.schemes import OUTPUT_CODE, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.errors import InputError
from novikoff.multiclass.base import MulticlassClassifier, check_column_learner

__all__ = ["OutputCode"]

CODE_NAMES = ("dense", "sparse", "exhaustive")
MAX_EXHAUSTIVE_CLASSES = 11
WORD_CANDIDATES = 64  # number of random words, of which the one farthest from earlier words is used


@final
class OutputCode(MulticlassClassifier):
    """A code word for each class, and a binary learner for each bit.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    code : str
        dense (random bits), sparse (random bits, half of them 0, which means unused), exhaustive (all splits of up to
        11 classes in two), or a matrix of −1, 0 and 1 with a row for each class in the order of classes_.
    decoding : str
        hamming (the number of wrong bits) or loss (the sum of the learner's losses, the hinge's where it has none).
    code_length : int
        Number of bits of a random code.
    random_state : int
        The seed of random codes.

    Examples
    --------
    >>> from novikoff import OutputCode, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> model = OutputCode(Perceptron(passes=20), code="exhaustive", decoding="loss").fit(X, y)
    >>> model.predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    _outcome_type = "columns"
    _has_single_labels = True

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        code: Literal["dense", "sparse", "exhaustive"] | ArrayLike = "dense",
        decoding: Literal["hamming", "loss"] = "hamming",
        code_length: int = 48,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.code = code
        self.decoding = decoding
        self.code_length = code_length
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_choice(("hamming", "loss"), decoding=self.decoding)
        check_positive_int(code_length=self.code_length)
        check_seed(random_state=self.random_state)
        if isinstance(self.code, str):
            check_choice(CODE_NAMES, code=self.code)
        else:
            parse_code(self.code)

    def _check_learner(self) -> None:
        some_only = not parse_code(self.code).all() if self._code() == "given" else self._code() == "sparse"
        check_column_learner(self, own_time=some_only)

    def _run_settings(self) -> dict[str, Any]:
        settings = super()._run_settings()
        return {**settings, "code": self.code if isinstance(self.code, str) else parse_code(self.code).tolist()}

    def _scheme(self, classes: ClassLabels) -> Scheme:
        words = self._code_words(len(classes))
        known = np.arange(len(classes) + 1)
        bits = np.full(len(known), words.shape[1])
        if self._code() == "exhaustive":
            bits = 2 ** np.maximum(known - 1, 0) - 1
        by_loss = float(self.decoding == "loss")
        return Scheme(
            OUTPUT_CODE, TIE_SIGNS[self._inner_learner.tie], by_loss=by_loss, words=words, columns=bits.astype(np.int64)
        )

    def _columns_in_file(self, labels: ClassLabels) -> int:
        """Return the number of columns without building the code words: a file could claim any number of them."""
        if self._code() == "exhaustive":
            return max(1, 2 ** max(min(len(labels), MAX_EXHAUSTIVE_CLASSES + 1) - 1, 0) - 1)
        return parse_code(self.code).shape[1] if self._code() == "given" else int(self.code_length)

    def _code(self) -> str:
        return self.code if isinstance(self.code, str) else "given"

    def _code_words(self, classes: int) -> NDArray[np.int8]:
        """Return the code word of each class. Words depend on the settings only, not on later classes."""
        if not isinstance(self.code, str):
            words = parse_code(self.code)
            if classes > len(words):
                raise InputError(f"code has words for {len(words)} classes, but there are {classes} classes.")
            return words
        if self._code() == "exhaustive":
            return build_exhaustive_code(classes)
        return build_random_code(classes, int(self.code_length), int(self.random_state), sparse=self.code == "sparse")

    def _mistakes_per_column(self) -> tuple[float, str]:
        state = self._require_fitted()
        words = self._code_words(len(state.labels))[: len(state.labels)]
        if self.decoding != "hamming" or not words.all() or len(words) < 2:
            return 0.0, ""
        # If all bits exist from the start, a mistake takes half of the least distance. If bits are added with
        # classes, earlier words differ in at least one bit.
        apart = compute_distances(words, words) + np.where(np.eye(len(words)), math.inf, 0.0)
        least = float(apart.min()) if self._code() != "exhaustive" or self._knew_all_classes() else 1.0
        return least / 2.0, f"a mistake takes {least:g}/2 wrong bits"

    def _knew_all_classes(self) -> bool:
        """Return whether all classes were known before the first example."""
        state: Any = self._require_fitted()
        return bool(state.new == 0 and state.labels.declared_count == len(state.labels))

    def _column_names(self) -> list[str]:
        return [f"bit {c + 1}" for c in range(self._n_used_columns(self._require_fitted()))]


def parse_code(code: Any) -> NDArray[np.int8]:
    """Return the user's matrix; raise InputError if it is not a code."""
    try:
        words = np.asarray(code)
    except ValueError:  # rows of different lengths
        words = np.zeros(0)
    if words.ndim != 2 or words.size == 0 or not np.isin(words, (-1, 0, 1)).all():
        raise InputError("code must be a matrix of −1, 0 and 1 with a row for each class.")
    if len({tuple(word) for word in words.tolist()}) < len(words):
        raise InputError("code must have a different word for each class, but two rows are equal.")
    return np.ascontiguousarray(words, np.int8)


@functools.lru_cache(maxsize=16)
def build_exhaustive_code(classes: int) -> NDArray[np.int8]:
    """Return all 2^(k−1) − 1 splits of the classes in two, each once."""
    if classes > MAX_EXHAUSTIVE_CLASSES:
        raise InputError(
            f"An exhaustive code for {classes} classes would have 2^{classes - 1} − 1 bits; up to"
            f" {MAX_EXHAUSTIVE_CLASSES}"
            " classes can have one: choose code='dense'."
        )
    columns = np.arange(1, 2 ** max(0, classes - 1))
    words = np.ones((classes, len(columns)), np.int8)
    for k in range(1, classes):  # a new class adds columns after those of earlier classes
        words[k] = np.where(columns >> (k - 1) & 1, -1, 1)
    return words


@functools.lru_cache(maxsize=16)
def build_random_code(classes: int, length: int, seed: int, *, sparse: bool) -> NDArray[np.int8]:
    """Return code words: for each class the one of WORD_CANDIDATES random words that is farthest from earlier ones."""
    words = np.zeros((classes, length), np.int8)
    for k in range(classes):
        draw = np.random.default_rng([seed, k])
        tried = draw.choice(np.array([-1, 1], np.int8), (WORD_CANDIDATES, length))
        if sparse:
            tried *= draw.integers(0, 2, (WORD_CANDIDATES, length), np.int8)
        # Words of zeros and words of earlier classes are useless.
        useful = tried.any(axis=1) & ~(tried[:, None, :] == words[None, :k]).all(axis=2).any(axis=1)
        nearest = np.where(useful, compute_distances(tried, words[:k]).min(axis=1, initial=math.inf), -1.0)
        words[k] = tried[int(np.argmax(nearest))]
        if not useful.any():
            raise InputError(f"length {length} is too short for {classes} different code words: make it larger.")
    return words


def compute_distances(some: NDArray[np.int8], others: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return the distance of each word to each of the others: the number of wrong bits; a bit counts ½ if either
    is 0."""
    apart: NDArray[np.float64] = 0.5 * (1.0 - some[:, None, :].astype(np.float64) * others[None, :, :]).sum(axis=2)
    return apart
