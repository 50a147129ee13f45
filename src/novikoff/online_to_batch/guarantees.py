"""What is guaranteed of the hypothesis that `OnlineToBatch` puts out, for each of its methods, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from novikoff.base.internals import inner_learner_of, spec_of
from novikoff.errors import InputError
from novikoff.linear.perceptron import Perceptron
from novikoff.online_to_batch.state import (
    ALL_CHANGES_MADE,
    CHOSEN,
    LATER_EXAMPLES,
    LATER_MISTAKES,
    STOP_REASON,
    TEST_PASSED,
    OnlineToBatchState,
)
from novikoff.theory import online_to_batch
from novikoff.theory.samples.guarantee import IID_ASSUMPTION, ErrorGuarantee, no_guarantee

FIXED_LENGTH = "; their number was fixed beforehand"


class StopReason(NamedTuple):
    """How it stands with the choice."""

    stopped: bool
    why: str
    about: str
    """What was chosen."""


def find_max_changes(model: Any) -> int:
    """M: given, or (R/γ)² for the Perceptron."""
    given, radius, margin = model.max_mistakes, model.stream_radius, model.stream_margin
    if given is not None:
        return int(given)
    if radius is None or margin is None:
        raise InputError(
            "next-stretch must know how often the learner can change: give max_mistakes, or stream_radius and"
            " stream_margin for (R/γ)²."
        )
    inner = inner_learner_of(model)
    if not isinstance(inner, Perceptron):
        raise InputError(f"(R/γ)² is the Perceptron's bound: give max_mistakes for {inner!r}.")
    return online_to_batch.max_mistakes(radius=radius, margin=margin, width=spec_of(inner).loss.margin)


def find_stop_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    return STOP_REASONS[model.method](model, state)


def build_guarantee(model: Any, state: OnlineToBatchState) -> ErrorGuarantee:
    """InputError for settings that make no sense."""
    about = find_stop_reason(model, state).about
    if not state.ledger.examples:
        return no_guarantee(about, "there were no examples")
    return GUARANTEES[model.method](model, state, about)


# --- Random stopping ---


def _random_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    when, many = int(state.counts[CHOSEN]), state.ledger.examples
    why = f"example {when:,} was drawn from {many:,}, each as likely as any other; more examples are drawn from as well"
    return StopReason(False, why, f"the hypothesis that predicted example {when:,}")


def _random_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    numbers = {"mistakes": state.ledger.mistakes, "examples": state.ledger.examples}
    bound = online_to_batch.random_stopping(**numbers)
    return ErrorGuarantee(about, bound, None, "M/m", numbers, IID_ASSUMPTION + FIXED_LENGTH)


# --- Tests ---


def _test_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    number, length, target = state.current
    about = f"the hypothesis of stretch {number:,}"
    if state.counts[STOP_REASON] == TEST_PASSED:
        return StopReason(True, f"it was right on {target:,} examples in a row, as the test asks", about)
    if state.counts[STOP_REASON] == ALL_CHANGES_MADE:
        return StopReason(True, f"the learner has made all the {number:,} changes that it can make", about)
    why = f"no hypothesis has passed its test yet: this one was right {length:,} times in a row of {target:,}"
    return StopReason(False, why, about)


def _test_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    if not state.counts[STOP_REASON]:
        return no_guarantee(about, _test_reason(model, state).why)
    numbers = {"stretch": state.current.number, "test": state.current.target, "epsilon": model.epsilon}
    statement = "(1/ε)·ln(1/δ_i) examples in a row were right, δ_i = δ/(i + 2)²"
    return ErrorGuarantee(about, float(model.epsilon), float(model.delta), statement, numbers, IID_ASSUMPTION)


def _next_stretch_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    if not state.counts[STOP_REASON]:
        return no_guarantee(about, _test_reason(model, state).why)
    most = find_max_changes(model)
    if model.stream_radius is not None and state.ledger.radius > model.stream_radius * (1.0 + 1e-12):
        return no_guarantee(
            about, f"an example has ‖x‖ = {state.ledger.radius:.6g}, more than the radius that was given"
        )
    if state.counts[STOP_REASON] == ALL_CHANGES_MADE and state.counts[LATER_MISTAKES]:
        return no_guarantee(about, f"it made a mistake after {most:,} changes, so that the bound M does not hold")
    numbers = {
        "changes": state.current.number,
        "most_changes": most,
        "test": state.current.target,
        "epsilon": model.epsilon,
    }
    statement = "(1/ε)·ln(M/δ) examples in a row were right"
    if state.counts[STOP_REASON] == ALL_CHANGES_MADE:
        statement = "after M changes no example is wrong any more"
    assumes = (
        f"{IID_ASSUMPTION}; the learner makes no more than M = {most:,} mistakes and changes on any stream"
        " of such examples"
    )
    return ErrorGuarantee(about, float(model.epsilon), float(model.delta), statement, numbers, assumes)


# --- The longest survivor ---


def find_longest_stretch(state: OnlineToBatchState) -> int:
    """Return the longest run length. The target is one more than those of earlier hypotheses."""
    return max(state.current.target - 1, state.current.run_length)


def _survivor_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    number = int(state.counts[CHOSEN])
    why = (
        f"it was right {find_longest_stretch(state):,} times in a row, longer than any of {state.current.number + 1:,}"
    )
    return StopReason(False, f"{why}; a longer stretch would replace it", f"the hypothesis of stretch {number:,}")


def _survivor_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    length, number = find_longest_stretch(state), int(state.counts[CHOSEN])
    if not length:
        return no_guarantee(about, "none was right even once")
    bound = online_to_batch.survivor(stretch=number, length=length, delta=model.delta)
    statement = "1 − δ_i^(1/S), right S times in a row, δ_i = δ/((i+1)(i+2))"
    return ErrorGuarantee(
        about, bound, float(model.delta), statement, {"stretch": number, "length": length}, IID_ASSUMPTION
    )


# --- The penalised choice ---


def find_best_hypothesis(model: Any, state: OnlineToBatchState) -> tuple[int, int, int]:
    """The number of the hypothesis with the least penalised error, its mistakes, and on how many examples."""
    changes, many = state.changes, state.ledger.examples
    if changes is None or not len(state.picked):
        return 0, 0, 0
    times = np.concatenate([[0], changes.born[: changes.n_changes]])
    left = many - times[state.picked]
    tried = np.flatnonzero(left > 0)
    if not len(tried):
        return int(state.picked[-1]), 0, 0
    log = float(np.log(2.0 * many * (many + 1.0) / float(model.delta)))
    values = state.mistakes[tried] / left[tried] + np.sqrt(log / (2.0 * left[tried]))
    index = int(tried[int(values.argmin())])
    return int(state.picked[index]), int(state.mistakes[index]), int(left[index])


def _has_tried_all(state: OnlineToBatchState) -> bool:
    return state.changes is None or len(state.picked) == state.changes.n_changes + 1


def _penalised_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    number, wrong, left = find_best_hypothesis(model, state)
    every = "all" if _has_tried_all(state) else "the longest-lived"
    why = f"of {every} {len(state.picked):,} hypotheses it has the least penalised error: {wrong:,} mistakes on the"
    return StopReason(False, f"{why} {left:,} examples after it was there", f"the hypothesis after {number:,} changes")


def _penalised_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    number, wrong, left = find_best_hypothesis(model, state)
    if not left:
        return no_guarantee(about, "no example came after it")
    many, made = state.ledger.examples, state.ledger.mistakes
    bound = online_to_batch.penalised_error(mistakes=wrong, left=left, examples=many, delta=model.delta)
    numbers: dict[str, Any] = {"changes": number, "mistakes_after": wrong, "left": left, "examples": many}
    if _has_tried_all(state):  # the theorem compares it with all of them
        theorem = online_to_batch.penalised(mistakes=made, examples=many, delta=model.delta)
        numbers |= {"mistakes": made, "M/m + 6√(ln(2(m+1)/δ)/m)": theorem}
    statement = "k/n + √(ln(2m(m+1)/δ)/(2n)), k mistakes on the n examples after it"
    return ErrorGuarantee(about, bound, float(model.delta), statement, numbers, IID_ASSUMPTION + FIXED_LENGTH)


# --- All of them ---


def _vote_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    count = 1 if state.changes is None else state.changes.n_changes + 1
    return StopReason(False, "all hypotheses vote, each as often as it was used", f"the vote of {count:,} hypotheses")


def _vote_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    numbers = {"mistakes": state.ledger.mistakes, "examples": state.ledger.examples}
    bound = online_to_batch.voted(**numbers, delta=model.delta)
    return ErrorGuarantee(
        about, bound, float(model.delta), "2·(M/m + √(ln(1/δ)/(2m)))", numbers, IID_ASSUMPTION + FIXED_LENGTH
    )


def _average_reason(model: Any, state: OnlineToBatchState) -> StopReason:
    return StopReason(
        False, "all hypotheses are averaged, each as often as it was there", "the average of all hypotheses"
    )


def _average_guarantee(model: Any, state: OnlineToBatchState, about: str) -> ErrorGuarantee:
    return no_guarantee(about, "the mistakes of the hypotheses say nothing of the side on which their average lies")


STOP_REASONS: dict[str, Callable[[Any, OnlineToBatchState], StopReason]] = {
    "random-stopping": _random_reason,
    "controlled-testing": _test_reason,
    "next-stretch": _test_reason,
    "longest-survivor": _survivor_reason,
    "penalised": _penalised_reason,
    "average": _average_reason,
    "vote": _vote_reason,
}
GUARANTEES: dict[str, Callable[[Any, OnlineToBatchState, str], ErrorGuarantee]] = {
    "random-stopping": _random_guarantee,
    "controlled-testing": _test_guarantee,
    "next-stretch": _next_stretch_guarantee,
    "longest-survivor": _survivor_guarantee,
    "penalised": _penalised_guarantee,
    "average": _average_guarantee,
    "vote": _vote_guarantee,
}


def count_later_mistakes(state: OnlineToBatchState) -> dict[str, int]:
    """What the chosen hypothesis did on examples that came after it stopped."""
    return {"later": int(state.counts[LATER_EXAMPLES]), "later_mistakes": int(state.counts[LATER_MISTAKES])}
