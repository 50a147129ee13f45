"""The exception types, and the one form of their messages: subject, rule, what came, what to do."""

from __future__ import annotations


class NovikoffError(Exception):
    """Every error that novikoff raises on purpose: catch this one to catch them all."""


class InputError(NovikoffError, ValueError):
    """The data or a setting breaks a rule; nothing was learned from it."""


class LabelError(InputError):
    """A label, or the number of different labels, is not what the learner can take."""


class OverflowRefused(NovikoffError, ArithmeticError):
    """The weights would stop being finite; the message says what stands."""


class ModelFileError(NovikoffError, ValueError):
    """A model file is damaged, of a newer format, or not a model file."""


def not_fitted(subject: str) -> Exception:
    """Scikit-learn's own exception, for its tools look for that type; imported only when there is an error to tell."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(f"{subject} has learned nothing yet: call fit, partial_fit or learn_one first.")
