"""What is guaranteed of the hypothesis that `OnlineToBatch` puts out, for each of its methods, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from novikoff.errors import InputError
from novikoff.linear.perceptron import Perceptron
from novikoff.core.hypothesis_tracking import (KEPT, LENGTH, NUMBER, TARGET)
from novikoff.theory import online_to_batch
from novikoff.theory.samples.guarantee import IID, Promise, nothing
from novikoff.online_to_batch.state import (CHANGES_MADE, CHOSEN, LATER, LATER_MISTAKES, STOPPED, TEST_PASSED, Choosing)

FIXED = "; their number was fixed beforehand"


class Ended(NamedTuple):
    """How it stands with the choice."""

    stopped: bool
    why: str
    about: str
    """What was chosen."""


def most_changes(model: Any) -> int:
    """M: given, or (R/γ)² for the Perceptron."""
    given, radius, margin = model.most_mistakes, model.stream_radius, model.stream_margin
    if given is not None:
        return int(given)
    if radius is None or margin is None:
        raise InputError(
            "next-stretch must know how often the learner can change: give most_mistakes, or stream_radius and"
            " stream_margin for (R/γ)²."
        )
    inner = model.inner
    if not isinstance(inner, Perceptron):
        raise InputError(f"(R/γ)² is the Perceptron's bound: give most_mistakes for {inner!r}.")
    return online_to_batch.most_mistakes(radius=radius, margin=margin, width=inner._width())


def ended(model: Any, state: Choosing) -> Ended:
    return ENDS[model.method](model, state)


def promised(model: Any, state: Choosing) -> Promise:
    """InputError for settings that make no sense."""
    about = ended(model, state).about
    if not state.ledger.examples:
        return nothing(about, "there were no examples")
    return PROMISES[model.method](model, state, about)


# --- Random stopping ---


def _random_end(model: Any, state: Choosing) -> Ended:
    when, many = int(state.counts[CHOSEN]), state.ledger.examples
    why = f"example {when:,} was drawn from {many:,}, each as likely as any other; more examples are drawn from as well"
    return Ended(False, why, f"the hypothesis that predicted example {when:,}")


def _random(model: Any, state: Choosing, about: str) -> Promise:
    numbers = {"mistakes": state.ledger.mistakes, "examples": state.ledger.examples}
    bound = online_to_batch.random_stopping(**numbers)
    return Promise(about, bound, None, "M/m", numbers, IID + FIXED)


# --- Tests ---


def _test_end(model: Any, state: Choosing) -> Ended:
    number, length, target = (int(state.stretch[at]) for at in (NUMBER, LENGTH, TARGET))
    about = f"the hypothesis of stretch {number:,}"
    if state.counts[STOPPED] == TEST_PASSED:
        return Ended(True, f"it was right on {target:,} examples in a row, as the test asks", about)
    if state.counts[STOPPED] == CHANGES_MADE:
        return Ended(True, f"the learner has made all the {number:,} changes that it can make", about)
    why = f"no hypothesis has passed its test yet: this one was right {length:,} times in a row of {target:,}"
    return Ended(False, why, about)


def _tested(model: Any, state: Choosing, about: str) -> Promise:
    if not state.counts[STOPPED]:
        return nothing(about, _test_end(model, state).why)
    numbers = {"stretch": int(state.stretch[NUMBER]), "test": int(state.stretch[TARGET]), "epsilon": model.epsilon}
    statement = "(1/ε)·ln(1/δ_i) examples in a row were right, δ_i = δ/(i + 2)²"
    return Promise(about, float(model.epsilon), float(model.delta), statement, numbers, IID)


def _next_stretch(model: Any, state: Choosing, about: str) -> Promise:
    if not state.counts[STOPPED]:
        return nothing(about, _test_end(model, state).why)
    most = most_changes(model)
    if model.stream_radius is not None and state.ledger.radius > model.stream_radius * (1.0 + 1e-12):
        return nothing(about, f"an example has ‖x‖ = {state.ledger.radius:.6g}, more than the radius that was given")
    if state.counts[STOPPED] == CHANGES_MADE and state.counts[LATER_MISTAKES]:
        return nothing(about, f"it made a mistake after {most:,} changes, so that the bound M does not hold")
    numbers = {
        "changes": int(state.stretch[NUMBER]),
        "most_changes": most,
        "test": int(state.stretch[TARGET]),
        "epsilon": model.epsilon,
    }
    statement = "(1/ε)·ln(M/δ) examples in a row were right"
    if state.counts[STOPPED] == CHANGES_MADE:
        statement = "after M changes no example is wrong any more"
    assumes = f"{IID}; the learner makes no more than M = {most:,} mistakes and changes on any stream of such examples"
    return Promise(about, float(model.epsilon), float(model.delta), statement, numbers, assumes)


# --- The longest survivor ---


def lasted(state: Choosing) -> int:
    """How long the longest stretch is: the target is what exceeds those that have ended."""
    return max(int(state.stretch[TARGET]) - 1, int(state.stretch[LENGTH]))


def _survivor_end(model: Any, state: Choosing) -> Ended:
    number = int(state.counts[CHOSEN])
    why = f"it was right {lasted(state):,} times in a row, longer than any of {int(state.stretch[NUMBER]) + 1:,}"
    return Ended(False, f"{why}; a longer stretch would replace it", f"the hypothesis of stretch {number:,}")


def _survivor(model: Any, state: Choosing, about: str) -> Promise:
    length, number = lasted(state), int(state.counts[CHOSEN])
    if not length:
        return nothing(about, "none was right even once")
    bound = online_to_batch.survivor(stretch=number, length=length, delta=model.delta)
    statement = "1 − δ_i^(1/S), right S times in a row, δ_i = δ/((i+1)(i+2))"
    return Promise(about, bound, float(model.delta), statement, {"stretch": number, "length": length}, IID)


# --- The penalised choice ---


def best_picked(model: Any, state: Choosing) -> tuple[int, int, int]:
    """The number of the hypothesis with the least penalised error, its mistakes, and on how many examples."""
    changes, many = state.changes, state.ledger.examples
    if changes is None or not len(state.picked):
        return 0, 0, 0
    times = np.concatenate([[0], changes.born[: int(changes.sizes[KEPT])]])
    left = many - times[state.picked]
    tried = np.flatnonzero(left > 0)
    if not len(tried):
        return int(state.picked[-1]), 0, 0
    log = float(np.log(2.0 * many * (many + 1.0) / float(model.delta)))
    values = state.mistakes[tried] / left[tried] + np.sqrt(log / (2.0 * left[tried]))
    at = int(tried[int(values.argmin())])
    return int(state.picked[at]), int(state.mistakes[at]), int(left[at])


def _all_tried(state: Choosing) -> bool:
    return state.changes is None or len(state.picked) == int(state.changes.sizes[KEPT]) + 1


def _penalised_end(model: Any, state: Choosing) -> Ended:
    number, wrong, left = best_picked(model, state)
    every = "all" if _all_tried(state) else "the longest-lived"
    why = f"of {every} {len(state.picked):,} hypotheses it has the least penalised error: {wrong:,} mistakes on the"
    return Ended(False, f"{why} {left:,} examples after it was there", f"the hypothesis after {number:,} changes")


def _penalised(model: Any, state: Choosing, about: str) -> Promise:
    number, wrong, left = best_picked(model, state)
    if not left:
        return nothing(about, "no example came after it")
    many, made = state.ledger.examples, state.ledger.mistakes
    bound = online_to_batch.penalised_error(mistakes=wrong, left=left, examples=many, delta=model.delta)
    numbers: dict[str, Any] = {"changes": number, "mistakes_after": wrong, "left": left, "examples": many}
    if _all_tried(state):  # the theorem compares it with all of them
        theorem = online_to_batch.penalised(mistakes=made, examples=many, delta=model.delta)
        numbers |= {"mistakes": made, "M/m + 6√(ln(2(m+1)/δ)/m)": theorem}
    statement = "k/n + √(ln(2m(m+1)/δ)/(2n)), k mistakes on the n examples after it"
    return Promise(about, bound, float(model.delta), statement, numbers, IID + FIXED)


# --- All of them ---


def _vote_end(model: Any, state: Choosing) -> Ended:
    count = 1 if state.changes is None else int(state.changes.sizes[KEPT]) + 1
    return Ended(False, "all hypotheses vote, each as often as it was used", f"the vote of {count:,} hypotheses")


def _vote(model: Any, state: Choosing, about: str) -> Promise:
    numbers = {"mistakes": state.ledger.mistakes, "examples": state.ledger.examples}
    bound = online_to_batch.voted(**numbers, delta=model.delta)
    return Promise(about, bound, float(model.delta), "2·(M/m + √(ln(1/δ)/(2m)))", numbers, IID + FIXED)


def _average_end(model: Any, state: Choosing) -> Ended:
    return Ended(False, "all hypotheses are averaged, each as often as it was there", "the average of all hypotheses")


def _average(model: Any, state: Choosing, about: str) -> Promise:
    return nothing(about, "the mistakes of the hypotheses say nothing of the side on which their average lies")


ENDS: dict[str, Callable[[Any, Choosing], Ended]] = {
    "random-stopping": _random_end,
    "controlled-testing": _test_end,
    "next-stretch": _test_end,
    "longest-survivor": _survivor_end,
    "penalised": _penalised_end,
    "average": _average_end,
    "vote": _vote_end,
}
PROMISES: dict[str, Callable[[Any, Choosing, str], Promise]] = {
    "random-stopping": _random,
    "controlled-testing": _tested,
    "next-stretch": _next_stretch,
    "longest-survivor": _survivor,
    "penalised": _penalised,
    "average": _average,
    "vote": _vote,
}


def later(state: Choosing) -> dict[str, int]:
    """What the chosen hypothesis did on examples that came after it stopped."""
    return {"later": int(state.counts[LATER]), "later_mistakes": int(state.counts[LATER_MISTAKES])}
