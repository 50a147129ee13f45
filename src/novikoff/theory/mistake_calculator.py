"""Calculator for mistake bounds: named numbers in, the number of mistakes and the filled-in formula out."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.theory import boolean_bounds, mistake_bounds, validation, winnow_bounds
from novikoff.theory.class_size import Hypotheses, to_class_size
from novikoff.theory.directed_rounding import UP, float_above
from novikoff.theory.formula_text import format_number, substitute_numbers

ROUNDING_TOLERANCE = 1e-12
"""Added before a count is rounded down, because the formulas use double precision."""
INTEGER_PARAMETERS = {"features", "literals", "errors", "steps", "gained", "hypotheses"}
"""Parameters that are counts."""
ZERO_ALLOWED_PARAMETERS = {"loss", "slack", "errors", "energy", "steps"}


def halving(*, hypotheses: Hypotheses, errors: int = 0) -> float:
    """Compute `boolean_bounds.halving`, also for classes whose size is too large to write."""
    return float_above(UP.add(UP.multiply(errors + 1, to_class_size(hypotheses).log2), errors))


def winnow_with_defaults(*, literals: int, features: int, alpha: float = 2.0, threshold: float = 0.0) -> float:
    return winnow_bounds.winnow(
        literals=literals, features=features, alpha=alpha, threshold=threshold or float(features)
    )


def winnow_elimination_with_defaults(
    *, literals: int, features: int, alpha: float = 2.0, threshold: float = 0.0
) -> float:
    return winnow_bounds.winnow_elimination(
        literals=literals, features=features, alpha=alpha, threshold=threshold or float(features)
    )


def winnow_r_with_defaults(
    *, gained: int, features: int, alpha: float = 2.0, threshold: float = 0.0, floor: float = 0.5
) -> float:
    theta = threshold or float(features)
    return winnow_bounds.winnow_r(gained=gained, features=features, alpha=alpha, threshold=theta, floor=floor)


class MistakeBound(NamedTuple):
    compute: Callable[..., float]
    formula: str
    assumes: str
    source: str
    counts: str = "mistakes"

    @property
    def parameters(self) -> dict[str, Any]:
        """Defaults by name, `inspect.Parameter.empty` for required parameters."""
        return {name: each.default for name, each in inspect.signature(self.compute).parameters.items()}


SYMBOLS = {
    "radius": "R", "margin": "γ", "norm": "‖u‖", "loss": "L", "energy": "S", "slack": "D₂", "epsilon": "ε",
    "norm2": "‖u‖₂", "radius2": "‖x‖₂", "features": "n", "norm1": "‖u‖₁", "radius_inf": "‖x‖_∞", "p": "p",
    "radius_p": "‖x‖_p", "norm_q": "‖u‖_q", "literals": "k", "alpha": "α", "threshold": "θ", "gained": "c",
    "floor": "f", "separation": "δ", "weight": "Σμ", "learning_rate": "η", "hypotheses": "|H|", "errors": "e",
    "steps": "Σd",
}  # fmt: skip
UNIT_SEPARATOR_ASSUMPTION = "‖u‖ = 1 and y·u·x ≥ γ for every example, ‖x‖ ≤ R"
DISJUNCTION_ASSUMPTION = "the target is a disjunction of k of n variables that are 0 or 1, none negated"
MISTAKE_BOUNDS = {
    "novikoff": MistakeBound(mistake_bounds.novikoff, "(R/γ)²", UNIT_SEPARATOR_ASSUMPTION, "Novikoff 1962"),
    "hinge": MistakeBound(
        mistake_bounds.hinge,
        "((R·‖u‖)² + 2·L + √((R·‖u‖)⁴ + 4·(R·‖u‖)²·L))/2",
        "nothing: u is any vector, L = Σ max(0, 1 − y·u·x)",
        "from (M − L)² ≤ R²‖u‖²·M",
    ),
    "hinge-plain": MistakeBound(
        mistake_bounds.hinge_plain,
        "(R·‖u‖)² + 2·L",
        "nothing: u is any vector, L = Σ max(0, 1 − y·u·x)",
        "Blum, Hopcroft and Kannan 2020, Theorem 5.11",
    ),
    "this-run": MistakeBound(
        mistake_bounds.this_run,
        "L + ‖u‖·√S",
        "nothing, but it speaks of this run only: S = Σ‖x‖² and L over the mistakes that were made",
        "from (M − L)² ≤ S·‖u‖²",
    ),
    "squared-slack": MistakeBound(
        mistake_bounds.squared_slack,
        "((R + D₂)/γ)²",
        "‖u‖ = 1, any γ > 0, D₂² = Σ max(0, γ − y·u·x)²",
        "Freund and Schapire 1999",
    ),
    "margin-perceptron": MistakeBound(
        mistake_bounds.margin_perceptron,
        "2·(R/(ε·γ))² + 2·R/(ε·γ)",
        UNIT_SEPARATOR_ASSUMPTION,
        "from the growth of ‖w‖",
        "updates",
    ),
    "additive": MistakeBound(
        mistake_bounds.additive, "(‖u‖₂·‖x‖₂/γ)²", "y·u·x ≥ γ for every example", "Kivinen, Warmuth and Auer 1997"
    ),
    "multiplicative": MistakeBound(
        mistake_bounds.multiplicative,
        "2·ln(n)·(‖u‖₁·‖x‖_∞/γ)²",
        "y·u·x ≥ γ for every example",
        "Kivinen, Warmuth and Auer 1997",
    ),
    "p-norm": MistakeBound(
        mistake_bounds.p_norm,
        "(p − 1)·(‖x‖_p·‖u‖_q/γ)²",
        "y·u·x ≥ γ for every example, 1/p + 1/q = 1, p ≥ 2",
        "Grove, Littlestone and Schuurmans 2001",
    ),
    "winnow": MistakeBound(
        winnow_with_defaults,
        "u + (n + u·(α − 1)·θ)·α/((α − 1)·θ) with u = k·(1 + log_α(θ))",
        f"{DISJUNCTION_ASSUMPTION}; α = 2 and θ = n by default: 2 + 3k(1 + log₂ n)",
        "Littlestone 1988",
    ),
    "winnow-elimination": MistakeBound(
        winnow_elimination_with_defaults,
        "α·k·(1 + log_α(θ)) + n/θ",
        f"{DISJUNCTION_ASSUMPTION}; α = 2 and θ = n by default: 1 + 2k(1 + log₂ n)",
        "Littlestone 1988, Winnow1",
    ),
    "winnow-r": MistakeBound(
        winnow_r_with_defaults,
        "u + ((1 − f)·n + u·(α − 1)·θ)·α/((α − 1)·(θ − f·n)) with u = c·(1 + log_α(θ/f))",
        "at every moment the target is a disjunction of variables that are 0 or 1; it gains literals c times in all",
        "Littlestone 1988, with a floor f under the weights",
    ),
    "winnow2": MistakeBound(
        winnow_bounds.winnow2,
        "(8/δ²)·(n/θ) + (5/δ + 14·ln(θ)/δ²)·Σμ",
        "μ·x ≥ 1 on positive examples and μ·x ≤ 1 − δ on others, variables are 0 or 1, α = 1 + δ/2",
        "Littlestone 1988, Winnow2",
    ),
    "balanced-winnow": MistakeBound(
        winnow_bounds.balanced_winnow,
        "(ln(2·n) + η·L/‖u‖₁)/(η·γ/‖u‖₁ − (η·‖x‖_∞)²/2)",
        "nothing: u is any vector, any γ > 0, L = Σ max(0, γ − y·u·x), η = ln α",
        "by Hoeffding's lemma",
    ),
    "elimination": MistakeBound(
        boolean_bounds.elimination,
        "Σ_{i≤k} C(n, i)·(2^i − 1) + 1",
        "the target is a conjunction of clauses of up to k literals (k = 1 by default: n + 1)",
        "Valiant 1984; Blum 1998",
    ),
    "halving": MistakeBound(
        halving,
        "(e + 1)·log₂|H| + e",
        "the best hypothesis of the class makes e errors (0 by default)",
        "Angluin 1988; Littlestone 1988",
    ),
    "rectangle": MistakeBound(
        boolean_bounds.rectangle, "1 + Σd", "the target is a box; Σd sums, over features, its values − 1", "by counting"
    ),
}


class MistakeAnswer(NamedTuple):
    """The number of mistakes that a theorem allows."""

    law: str
    bound: float
    most: int | None
    """The bound, rounded down to an integer; None where there is no bound."""
    given: dict[str, Any]
    formula: str
    filled: str
    sentence: str
    assumes: str
    source: str

    def __str__(self) -> str:
        lines = (self.sentence, f"formula     {self.formula}", f"here        {self.filled}")
        return "\n".join((*lines, f"assumes     {self.assumes}", f"source      {self.source}"))

    def as_dict(self) -> dict[str, Any]:
        bound = self.bound if math.isfinite(self.bound) else None
        given = {key: format_number(value) if key == "hypotheses" else value for key, value in self.given.items()}
        return {**self._asdict(), "bound": bound, "given": given}


def allowed(law: str, **given: Any) -> MistakeAnswer:
    """Return the answer of the bound with this name.

    >>> print(allowed("novikoff", radius=1.0, margin=0.1).sentence)
    At most 100 mistakes are made, in any order of the examples.
    """
    mistake_bound = MISTAKE_BOUNDS[law]
    numbers = {**_defaults(mistake_bound), **given}
    _check_parameters(law, mistake_bound, numbers)
    try:
        bound = mistake_bound.compute(**numbers)
    except OverflowError:
        bound = math.inf
    if law.startswith("winnow") and not numbers.get("threshold"):
        numbers["threshold"] = float(numbers["features"])
    formula = f"M ≤ {mistake_bound.formula}"
    symbols = {SYMBOLS[key]: format_number(value) for key, value in numbers.items()}
    if law == "halving":
        symbols["log₂|H|"] = format_number(float_above(to_class_size(numbers["hypotheses"]).log2))
    here = f"{substitute_numbers(formula, symbols)}, so M ≤ {bound:.10g}"
    most = math.floor(bound * (1.0 + ROUNDING_TOLERANCE)) if math.isfinite(bound) else None
    return MistakeAnswer(
        law,
        bound,
        most,
        numbers,
        formula,
        here,
        _build_sentence(law, mistake_bound, most),
        mistake_bound.assumes,
        mistake_bound.source,
    )


def _defaults(law: MistakeBound) -> dict[str, Any]:
    return {name: value for name, value in law.parameters.items() if value is not inspect.Parameter.empty}


def _check_parameters(law: str, mistake_bound: MistakeBound, numbers: dict[str, Any]) -> None:
    missing = [name for name in mistake_bound.parameters if name not in numbers]
    strange = [name for name in numbers if name not in mistake_bound.parameters]
    if missing or strange:
        needed = ", ".join(f"{name} ({SYMBOLS[name]})" for name in mistake_bound.parameters)
        raise InputError(f"{law} needs {needed}: {', '.join(missing or strange)} is {_describe_problem(missing)}.")
    for name, value in numbers.items():
        _check_parameter(name, value)


def _describe_problem(missing: list[str]) -> str:
    return "missing" if missing else "none of them"


def _check_parameter(name: str, value: Any) -> None:
    least = 0 if name in ZERO_ALLOWED_PARAMETERS else 1
    if name == "hypotheses":
        to_class_size(value)
    elif name in INTEGER_PARAMETERS:
        validation.check_count(f"{SYMBOLS[name]} ({name})", value, least)
    elif name == "threshold" and value == 0.0:
        return
    elif not math.isfinite(value) or value < 0.0 or (value == 0.0 and least):
        limit = "at least 0" if least == 0 else "above 0"
        raise InputError(f"{SYMBOLS[name]} ({name}) must be a number {limit}, got {value}.")


def _build_sentence(law: str, mistake_bound: MistakeBound, most: int | None) -> str:
    if most is None:
        small = law == "balanced-winnow"
        return f"There is no bound: {'η must be below 2γ/(‖u‖₁·‖x‖_∞²)' if small else 'its value is above 10^308'}."
    order = "in this run" if law == "this-run" else "in any order of the examples"
    return f"At most {format_number(most)} {mistake_bound.counts} are made, {order}."
