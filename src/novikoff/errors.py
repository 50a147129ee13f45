"""Exception and warning types. Messages have one form: subject, rule, the value found, the remedy."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any


class NovikoffError(Exception):
    """Base class of all errors that novikoff raises on purpose.

    >>> from novikoff import NovikoffError, Perceptron
    >>> try:
    ...     Perceptron(learning_rate=0.0).fit([[1.0], [2.0]], [0, 1])
    ... except NovikoffError as problem:
    ...     print(problem)
    learning_rate must be a number above 0, but is 0.0.
    """


class InputError(NovikoffError, ValueError):
    """The data or a setting breaks a rule; nothing was learned from it.

    >>> from novikoff import InputError, Perceptron
    >>> try:
    ...     Perceptron().learn_one({"size": "large"}, "yes")
    ... except InputError as problem:
    ...     print(str(problem).partition(":")[0])
    x must map features to numbers, but 'size' has 'large'
    """


class LabelError(InputError):
    """A label, or the number of different labels, is not what the learner can take.

    >>> from novikoff import LabelError, Perceptron
    >>> try:
    ...     Perceptron().fit([[1.0], [2.0]], ["yes", "yes"])
    ... except LabelError as problem:
    ...     print(str(problem).partition(":")[0])
    There must be two classes, but all labels are 'yes'
    """


class TooManyLabelsError(LabelError):
    """A binary learner received a third label."""


class ModelReplacedError(NovikoffError):
    """Another thread has replaced this model by one with more classes."""


class TornModelError(NovikoffError, RuntimeError):
    """The process was forked while another thread was learning this model: the copy in the child is half updated."""


class TooManyNamesError(InputError):
    """An automatically enabled feature dictionary has become large."""


class ModelTooLarge(InputError):
    """The model would need more memory than its limit; nothing was learned from the example that needs it.

    >>> from novikoff import ModelTooLarge, Perceptron
    >>> from novikoff.memory_limit import limit_memory
    >>> try:
    ...     with limit_memory(1 << 30):
    ...         Perceptron().learn_one({2_000_000_000: 1.0}, "yes")  # a column number
    ... except ModelTooLarge as problem:
    ...     print(str(problem).partition(". ")[0])
    2,000,000,001 features would need 14.9 GiB for the model, but the limit is 1 GiB
    """

    def __init__(self, message: str, needed: int, limit: int) -> None:
        super().__init__(message)
        self.needed, self.limit = needed, limit
        """Bytes."""

    def __reduce__(self) -> tuple[type[ModelTooLarge], tuple[str, int, int]]:
        return type(self), (str(self), self.needed, self.limit)


class WeightOverflowError(NovikoffError, ArithmeticError):
    """The weights would become infinite or NaN; the message says which state the model keeps.

    >>> from novikoff import SGD, WeightOverflowError
    >>> try:
    ...     SGD(loss="squared", schedule="constant").fit([[1e9], [2e9]] * 50, [0, 1] * 50)
    ... except WeightOverflowError as problem:
    ...     print(str(problem).partition(" before")[0])
    The weights grew out of range
    """


class FeatureRangeError(InputError):
    """A value is outside the range that the learner supports.

    >>> from novikoff import FeatureRangeError, Winnow
    >>> try:
    ...     Winnow().fit([[0.5, 1.0], [3.0, 0.0]], [0, 1])
    ... except FeatureRangeError as problem:
    ...     print(str(problem).partition(":")[0])
    Winnow takes numbers from 0 to 1, but row 1, column 0 has 3.0
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type[FeatureRangeError], tuple[str, int]]:
        return type(self), (str(self), self.row)


class ModelFileError(NovikoffError, ValueError):
    """A model file is damaged, of a newer format, or not a model file.

    >>> from novikoff import ModelFileError, load
    >>> try:
    ...     load("no-such.model")
    ... except ModelFileError as problem:
    ...     print(problem)
    no-such.model: No such file or directory.
    """


class ServiceError(NovikoffError):
    """A service refused a request, or could not be reached (status 0). `code` is a word for programs, `learned` how
    many examples of the call were learned all the same.

    >>> from novikoff import Client, ServiceError
    >>> try:
    ...     Client("http://127.0.0.1:9", retries=0).models()
    ... except ServiceError as problem:
    ...     print(problem.status, problem.code)
    0 unreachable
    """

    def __init__(self, status: int, code: str, sentence: str, learned: int = 0) -> None:
        super().__init__(sentence)
        self.status, self.code, self.sentence, self.learned = status, code, sentence, learned

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, str, str, int]]:
        return type(self), (self.status, self.code, self.sentence, self.learned)


class SortedLabelsWarning(UserWarning):
    """The data looks sorted by label: a model that learns one example at a time forgets early classes.

    >>> import warnings
    >>> from novikoff import Perceptron, SortedLabelsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = Perceptron().partial_fit([[1.0], [2.0]] * 50, ["first"] * 50 + ["second"] * 50)
    >>> [warning.category is SortedLabelsWarning for warning in caught]
    [True]
    """


class DefaultLearnerWarning(UserWarning):
    """No learner was given, and Auto, the default, can't be used here: the message names the one that is."""


class DoubtfulColumnsWarning(UserWarning):
    """The detected type of a data frame column may be wrong."""


class UnknownColumnsWarning(UserWarning):
    """Raw rows have columns that the model was not trained with: they are ignored. Issued once for each model.

    >>> import warnings
    >>> from novikoff import UnknownColumnsWarning
    >>> warnings.simplefilter("error", UnknownColumnsWarning)  # a misspelled column is an error from now on
    >>> warnings.simplefilter("default", UnknownColumnsWarning)
    """


class MissingPackageError(NovikoffError, ImportError):
    """A feature needs a package that is not installed; the message names the extra that installs it."""


def import_optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional package; raise MissingPackageError with advice if it is missing."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        package = PACKAGE_NAMES.get(module.partition(".")[0], module.partition(".")[0])
        raise MissingPackageError(f"{purpose} needs {package}: pip install 'novikoff[{extra}]'.") from None


SPARSE_MATRIX_PURPOSE = "A sparse matrix"
PACKAGE_NAMES = {"sklearn": "scikit-learn"}
"""Packages whose names differ from those of their modules."""


class NotFittedError(NovikoffError, ValueError, AttributeError):
    """An unfitted model was asked to predict. Where scikit-learn is installed, its own type is raised."""


def find_sklearn_exception(name: str, otherwise: type[Any]) -> type[Any]:
    """Return an exception or warning type of scikit-learn, or novikoff's own if it is not installed.

    scikit-learn's tools test for its types.
    """
    try:
        from sklearn import exceptions
    except ImportError:
        return otherwise
    found: type[Any] = getattr(exceptions, name)
    return found


def build_not_fitted_error(subject: str) -> Exception:
    """Build the error of an unfitted model; scikit-learn is imported only here."""
    error_type = find_sklearn_exception("NotFittedError", NotFittedError)
    error: Exception = error_type(f"{subject} has learned nothing yet: call fit, partial_fit or learn_one first.")
    return error


def find_user_stacklevel() -> int:
    """Return the `stacklevel` with which a warning of the caller points to the user's line, outside this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("novikoff."):
        level, frame = level + 1, frame.f_back
    return level


def suggest(word: str, known: Collection[str]) -> str:
    """Return a question that names the known word most similar to this one; nothing where none is similar."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f". Did you mean {close[0]}?" if close else ""
