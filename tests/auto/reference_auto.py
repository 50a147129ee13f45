"""Auto in plain Python: scaled rows, four members, two forecasts and their mixture.

`ReferenceAuto` learns two classes, with labels −1 and +1; `ReferenceClasses` learns any number, numbered in the order
of their arrival. `with_third_class` continues the first as the second. Numbers are added in the order of the columns
of a row and, for each column, in the order of the classes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

BIAS = -1
"""The column of the bias."""
FEATURES = 4
"""The features of the forecast from the scores, beside its bias."""


# --- Small functions ---


def sigmoid(log_odds: float) -> float:
    e = math.exp(-abs(log_odds))
    return 1.0 / (1.0 + e) if log_odds >= 0.0 else e / (1.0 + e)


def softmax(scores: list[float]) -> list[float]:
    largest = max(scores)
    found = [math.exp(s - largest) for s in scores]
    total = add(found)
    return [e / total for e in found]


def add(values: Any) -> float:
    """Return the sum, rounded after each addition, as sum() is not in newer Pythons."""
    total = 0.0
    for value in values:
        total += value
    return total


def clip(x: float, limit: float) -> float:
    return max(-limit, min(limit, x))


def bounded(p: float, classes: int) -> float:
    """Return a forecast that is kept above ε = 1e-4 for two classes."""
    return (1.0 - 2e-4) * p + 2e-4 / classes


def highest(scores: list[float]) -> int:
    """Return the first class with the highest score."""
    return max(range(len(scores)), key=lambda c: (scores[c], -c))


def rival_of(y: int, scores: list[float]) -> int:
    return max((c for c in range(len(scores)) if c != y), key=lambda c: (scores[c], -c))


# --- Scaled rows ---


@dataclass
class Column:
    """A column of one row: its value, x̂ or x̃, the value for DRIFT, and |x − μ| where the column is dense."""

    j: int
    raw: float
    value: float
    uncentred: float
    deviation: float | None


@dataclass
class Row:
    columns: list[Column]
    factor: float
    drift_factor: float
    sq_length: float
    drift_sq_length: float


class Scaling:
    def __init__(self) -> None:
        self.t = 0
        self.count: dict[int, float] = defaultdict(float)
        self.total: dict[int, float] = defaultdict(float)
        self.total_abs: dict[int, float] = defaultdict(float)
        self.deviations: dict[int, float] = defaultdict(float)
        self.dense_since: dict[int, float] = {}
        self.sq_lengths = self.drift_sq_lengths = 0.0

    def scale(self, x: dict[int, float]) -> Row:
        """Return the scaled row; x has the values that are not 0. Statistics include the row, but don't change."""
        columns = [self.scale_column(j, x.get(j, 0.0)) for j in sorted({*x, *self.dense_since})]
        sq_length = add(column.value * column.value for column in columns)
        drift_sq_length = add(column.uncentred * column.uncentred for column in columns)
        factor = self.factor(self.sq_lengths + sq_length)
        drift_factor = self.factor(self.drift_sq_lengths + drift_sq_length)
        for column in columns:
            column.value *= factor
            column.uncentred *= drift_factor
        return Row(columns, factor, drift_factor, sq_length, drift_sq_length)

    def factor(self, sq_lengths: float) -> float:
        return math.sqrt((self.t + 1) / sq_lengths) if sq_lengths > 0.0 else 1.0

    def scale_column(self, j: int, x: float) -> Column:
        t, n = self.t + 1, self.count[j] + (x != 0.0)
        in_units = x * n / (self.total_abs[j] + abs(x)) if x != 0.0 else 0.0
        if n < (0.4 * (t + 2) if j in self.dense_since else 0.5 * (t + 1)):
            return Column(j, x, clip(in_units, 4.0), in_units, None)
        mean = (self.total[j] + x) * (1.0 / t)
        difference = x - mean
        missing = x == 0.0 and self.count[j] == self.t
        if missing or abs(difference) <= 2.0**-30 * abs(mean):
            return Column(j, x, 0.0, in_units, 0.0)
        rows = t - self.dense_since.get(j, t) + 1
        total = self.deviations[j] + abs(difference)
        return Column(j, x, clip(difference * rows / total, 4.0), in_units, abs(difference))

    def include(self, row: Row) -> None:
        self.t += 1
        for column in row.columns:
            j = column.j
            self.count[j] += column.raw != 0.0
            self.total[j] += column.raw
            self.total_abs[j] += abs(column.raw)
            if column.deviation is not None:
                self.dense_since.setdefault(j, self.t)
                self.deviations[j] += column.deviation
            elif j in self.dense_since:
                del self.dense_since[j]
                self.deviations[j] = 0.0
        self.sq_lengths += row.sq_length
        self.drift_sq_lengths += row.drift_sq_length


# --- The weights of a column of weights ---


@dataclass
class Cell:
    """What members have learned of a column of the data, in a column of weights."""

    arow: float = 0.0
    variance: float = 1.0
    logistic: float = 0.0
    sq_gradients: float = 0.0
    drift: float = 0.0
    arow_sum: float = 0.0
    logistic_sum: float = 0.0
    class_sum: float = 0.0


@dataclass
class Scores:
    """The scores of one column of weights for a row; the first four are features of the forecast."""

    arow_mean: float = 0.0
    arow: float = 0.0
    logistic_mean: float = 0.0
    discriminant: float = 0.0
    logistic: float = 0.0
    drift: float = 0.0

    def features(self) -> list[float]:
        return [self.arow_mean, self.arow, self.logistic_mean, self.discriminant]


@dataclass
class Members:
    """AROW, LOGISTIC, DISCRIMINANT and DRIFT; `store` rounds a weight to the precision of the model."""

    store: Callable[[float], float]
    cells: dict[tuple[int, int], Cell] = field(default_factory=lambda: defaultdict(Cell))
    """By column of weights and column of the data."""
    squares: dict[int, float] = field(default_factory=lambda: defaultdict(float))

    def step_arow(self, c: int, j: int, x: float, step: float, beta: float, past: int) -> None:
        cell = self.cells[c, j]
        before, by = cell.arow, cell.variance * x
        cell.arow = self.store(before + step * by)
        cell.variance = self.store(max(0.0, cell.variance - beta * (by * by)))
        cell.arow_sum += float(past) ** 3 * float(past) ** 3 * (cell.arow - before)

    def step_logistic(self, c: int, j: int, step: float, rate: float, past: int) -> None:
        cell, before = self.cells[c, j], self.cells[c, j].logistic
        cell.sq_gradients = self.store(cell.sq_gradients + step * step)
        if step != 0.0 and cell.sq_gradients > 0.0:
            cell.logistic = self.store(before + rate * step / math.sqrt(cell.sq_gradients))
            cell.logistic_sum += float(past) ** 2 * float(past) ** 2 * (cell.logistic - before)

    def step_drift(self, c: int, j: int, step: float) -> None:
        self.cells[c, j].drift = self.store(self.cells[c, j].drift + step)


def hinge_deficit(margin: float) -> float:
    return max(0.0, 1.0 - margin)


def logistic_slope(margin: float, weight: float) -> float:
    return weight * sigmoid(-margin) if sigmoid(-margin) >= 0.02 else 0.0


def passive_aggressive(margin: float, sq_length: float, weight: float) -> float:
    return min(weight, (1.0 - margin) / sq_length) if margin < 1.0 and sq_length > 0.0 else 0.0


# --- The forecasts and their mixture ---


class Forecasts:
    def __init__(self, share: float) -> None:
        self.share = share
        self.mixture = [0.5, 0.5]
        self.losses, self.likelihoods = [0.0, 0.0], [1.0, 1.0]
        self.bias_size = 0.0
        self.errors = [0, 0, 0, 0]
        self.score_squares = [0.0] * FEATURES
        self.weights = [1.0, 0.0, 1.0, 0.0, 0.0]
        self.precision = [[5.0 * (r == c) for c in range(5)] for r in range(5)]
        self.inverse = [[0.0] * 5 for _ in range(5)]
        self.next_inverse = 0.0
        self.drift_weights = [1.0, 0.0]
        self.drift_precision = [5.0, 0.0, 5.0]

    def unit(self, k: int, t: int) -> float:
        return math.sqrt(t / self.score_squares[k]) if self.score_squares[k] > 0.0 else 0.0

    def learn_mixture(self, likelihoods: list[float]) -> None:
        """Learn a label to which the forecasts gave these probabilities."""
        for k, p in enumerate(likelihoods):
            self.likelihoods[k] *= p
            if self.likelihoods[k] < 1e-200:
                self.losses[k] -= math.log(self.likelihoods[k])
                self.likelihoods[k] = 1.0
        products = [v * p for v, p in zip(self.mixture, likelihoods, strict=True)]
        total = products[0] + products[1]
        self.mixture = [max(1e-200, (1.0 - self.share) * (v / total) + 0.5 * self.share) for v in products]

    def learn_scores(self, t: int, curvature: list[list[float]], gradient: list[float]) -> None:
        """Take the step of the forecast from the scores at step t; of `curvature` the lower triangle is used."""
        kept = 1.0 - 3.0 / (t + 60.0)
        for r in range(5):
            for c in range(r + 1):
                self.precision[r][c] *= kept
            self.precision[r][r] += (1.0 - kept) * 5.0
            for c in range(r + 1):
                self.precision[r][c] += curvature[r][c]
        if t >= self.next_inverse:
            self.inverse, self.next_inverse = invert(self.precision), t + 1.0 + t // 64
        for r in range(5):
            self.weights[r] += add(self.inverse[r][c] * gradient[c] for c in range(5))

    def learn_drift(self, gradient: tuple[float, float], curvature: tuple[float, float, float]) -> None:
        prior = (1.0 - 0.98) * 5.0
        a = 0.98 * self.drift_precision[0] + prior + curvature[0]
        b = 0.98 * self.drift_precision[1] + curvature[1]
        c = 0.98 * self.drift_precision[2] + prior + curvature[2]
        self.drift_precision = [a, b, c]
        by = 1.0 / max(25.0, a * c - b * b)
        self.drift_weights[0] += (c * gradient[0] - b * gradient[1]) * by
        self.drift_weights[1] += (a * gradient[1] - b * gradient[0]) * by


def invert(matrix: list[list[float]]) -> list[list[float]]:
    """Return the inverse from the factors of LDLᵀ, whose pivots are kept above those of the prior."""
    n = len(matrix)
    lower, pivots = [[0.0] * n for _ in range(n)], [0.0] * n
    for r in range(n):
        for c in range(r + 1):
            entry = matrix[r][c]
            for k in range(c):
                entry -= lower[r][k] * lower[c][k] * pivots[k]
            if r == c:
                pivots[r] = max(5.0, entry)
            else:
                lower[r][c] = entry / pivots[c]
    return [solve(lower, pivots, [float(r == c) for r in range(n)]) for c in range(n)]


def solve(lower: list[list[float]], pivots: list[float], x: list[float]) -> list[float]:
    n = len(x)
    for r in range(n):
        for k in range(r):
            x[r] -= lower[r][k] * x[k]
    x = [value / pivot for value, pivot in zip(x, pivots, strict=True)]
    for r in reversed(range(n)):
        for k in range(r + 1, n):
            x[r] -= lower[k][r] * x[k]
    return x


# --- Two classes ---


class ReferenceAuto:
    def __init__(self, *, bias: bool = True, share: float = 0.0003, dtype: Any = np.float64) -> None:
        self.bias = float(bias)
        self.dtype = dtype
        self.scaling = Scaling()
        self.members = Members(lambda w: float(dtype(w)))
        self.forecasts = Forecasts(share)
        self.negative_sums: dict[int, float] = defaultdict(float)
        self.mistakes = 0

    def learn(self, x: dict[int, float], y: float, weight: float = 1.0, *, later_pass: bool = False) -> float:
        """Learn one example and return its score before that, the log-odds of label +1.

        In a later pass the forecasts don't learn: the members have seen the label.
        """
        row, forecasts = self.scaling.scale(x), self.forecasts
        scores, variance = self.score_members(row)
        features = self.features(scores)
        p, q, score = self.combine(scores, features)
        self.mistakes += y * score < 0.0 or (score == 0.0 and y < 0.0)

        side = 1.0 if scores.drift >= 0.0 else -1.0
        said = (scores.arow_mean, scores.logistic_mean, scores.discriminant, side)
        forecasts.errors = [n + (y * s < 0.0) for n, s in zip(forecasts.errors, said, strict=True)]
        forecasts.learn_mixture([bounded(one if y > 0.0 else 1.0 - one, 2) for one in (p, q)])
        if not later_pass:
            slope, missing = weight * (p * (1.0 - p)), weight * ((y > 0.0) - p)
            curvature = [[slope * features[r] * features[c] for c in range(r + 1)] for r in range(5)]
            forecasts.learn_scores(self.scaling.t + 1, curvature, [missing * feature for feature in features])
            slope, missing = weight * (q * (1.0 - q)), weight * ((y > 0.0) - q)
            forecasts.learn_drift((missing * side, missing), (slope, slope * side, slope))
        for k, s in enumerate(scores.features()):
            forecasts.score_squares[k] += s * s
        self.step(row, scores, variance, y, weight)
        return score

    def score(self, x: dict[int, float]) -> float:
        scores, _ = self.score_members(self.scaling.scale(x))
        return self.combine(scores, self.features(scores))[2]

    def columns_and_bias(self, row: Row) -> Iterator[tuple[int, float, float]]:
        """Yield the number of each column of the row with x̃ and the value for DRIFT; the bias is the last one."""
        yield from ((column.j, column.value, column.uncentred) for column in row.columns)
        yield BIAS, self.bias * row.factor, self.bias * row.drift_factor

    def score_members(self, row: Row) -> tuple[Scores, float]:
        """Return the scores of the members, and the variance of AROW's."""
        found, variance, arow_sum, logistic_sum = Scores(), 0.0, 0.0, 0.0
        for j, x, uncentred in self.columns_and_bias(row):
            cell = self.members.cells[0, j]
            variance += x * x * cell.variance
            found.arow += x * cell.arow
            arow_sum += x * cell.arow_sum
            found.logistic += x * cell.logistic
            logistic_sum += x * cell.logistic_sum
            found.drift += uncentred * cell.drift
        t = float(max(1, self.scaling.t))
        found.arow_mean = found.arow - arow_sum / ((t * t * t) * (t * t * t))
        found.logistic_mean = found.logistic - logistic_sum / ((t * t) * (t * t))
        found.discriminant = self.discriminant(row)
        return found, variance

    def discriminant(self, row: Row) -> float:
        sizes = self.negative_sums[BIAS], self.members.cells[0, BIAS].class_sum
        by_size = [1.0 / n if n > 0.0 else 0.0 for n in sizes]
        score = 0.0
        for column in row.columns:
            sums = self.negative_sums[column.j], self.members.cells[0, column.j].class_sum
            squares = self.members.squares[column.j]
            within = squares - sums[1] * sums[1] * by_size[1] - sums[0] * sums[0] * by_size[0]
            below, above = (total * (1.0 / (n + 1.0)) for total, n in zip(sums, sizes, strict=True))
            variance = max(within, 0.01 * squares) + 0.1
            score += (above - below) * (column.value - 0.5 * (above + below)) / variance
        return score * (sizes[1] + sizes[0])

    def features(self, scores: Scores) -> list[float]:
        t = self.scaling.t
        return [*(clip(self.forecasts.unit(k, t) * s, 6.0) for k, s in enumerate(scores.features())), 1.0]

    def combine(self, scores: Scores, features: list[float]) -> tuple[float, float, float]:
        """Return the two forecasts of label +1, and the log-odds of their mixture."""
        forecasts, side = self.forecasts, 1.0 if scores.drift >= 0.0 else -1.0
        z = add(a * f for a, f in zip(forecasts.weights, features, strict=True))
        drift_z = forecasts.drift_weights[0] * side + forecasts.drift_weights[1]
        v, u = forecasts.mixture
        positive, negative = (
            v * bounded(sigmoid(sign * z), 2) + u * bounded(sigmoid(sign * drift_z), 2) for sign in (1.0, -1.0)
        )
        return sigmoid(z), sigmoid(drift_z), math.log(positive / negative)

    def step(self, row: Row, scores: Scores, variance: float, y: float, weight: float) -> None:
        members, past = self.members, self.scaling.t
        deficit = hinge_deficit(y * scores.arow)
        beta = 1.0 / (variance + 0.1 / weight)
        slope = y * logistic_slope(y * scores.logistic, weight)
        sq_length = row.drift_factor * row.drift_factor * (row.drift_sq_length + self.bias * self.bias)
        drift = y * passive_aggressive(y * scores.drift, sq_length, weight)
        for j, x, uncentred in self.columns_and_bias(row):
            if j != BIAS or self.bias:
                if deficit > 0.0:
                    members.step_arow(0, j, x, y * beta * deficit, beta, past)
                members.step_logistic(0, j, slope * x, 1.5, past)
                members.step_drift(0, j, drift * uncentred)
            size = weight if j == BIAS else weight * x
            members.squares[j] += weight * x * x
            if y > 0.0:
                members.cells[0, j].class_sum += size
            else:
                self.negative_sums[j] += size
        self.scaling.include(row)


def with_third_class(two: ReferenceAuto) -> ReferenceClasses:
    """Return the reference for more classes, of which 0 and 1 are −1 and +1, with what was learned of these."""
    many = ReferenceClasses(bias=bool(two.bias), share=two.forecasts.share, dtype=two.dtype)
    many.scaling, many.forecasts, many.mistakes = two.scaling, two.forecasts, two.mistakes
    many.members.squares, many.known = two.members.squares, 2
    for (_, j), cell in two.members.cells.items():
        for c, sign, total in ((0, -0.5, two.negative_sums[j]), (1, 0.5, cell.class_sum)):
            many.members.cells[c, j] = Cell(
                sign * cell.arow, cell.variance, sign * cell.logistic, cell.sq_gradients, sign * cell.drift,
                sign * cell.arow_sum, sign * cell.logistic_sum, total,
            )  # fmt: skip
    forecasts, scale = many.forecasts, [2.0, 2.0, 2.0, 2.0, 1.0]
    forecasts.bias_size = 0.5
    forecasts.score_squares = [s / 4.0 for s in forecasts.score_squares]
    forecasts.weights = [a / (2.0 if k < FEATURES else 1.0) for k, a in enumerate(forecasts.weights)]
    for r in range(5):
        for c in range(5):
            forecasts.precision[r][c] *= scale[r] * scale[c]
            forecasts.inverse[r][c] /= scale[r] * scale[c]
    return many


# --- More classes ---


class ReferenceClasses:
    def __init__(self, *, bias: bool = True, share: float = 0.0003, dtype: Any = np.float64) -> None:
        self.bias = float(bias)
        self.dtype = dtype
        self.scaling = Scaling()
        self.members = Members(lambda w: float(dtype(w)))
        self.forecasts = Forecasts(share)
        self.known = 0
        self.mistakes = 0

    def learn(self, x: dict[int, float], y: int, weight: float = 1.0, *, later_pass: bool = False) -> list[float]:
        """Learn one example; return the log-probabilities of the classes before that, with its own."""
        known, classes = self.known, max(self.known, y + 1)
        self.known = classes
        if classes < 2:
            self.mistakes += 1
            return [0.0]
        row = self.scaling.scale(x)
        scores = [self.score_members(row, c) for c in range(classes)]
        for c, value in enumerate(self.discriminants(row, classes)):
            scores[c].discriminant = value
        features = self.features(scores)
        p, q, found = self.combine(scores, features)
        self.mistakes += y >= known or highest(found[:known]) != y

        said = [[s.arow_mean for s in scores], [s.logistic_mean for s in scores], [s.discriminant for s in scores]]
        for k, member in enumerate([*said, [s.drift for s in scores]]):
            self.forecasts.errors[k] += y >= known or highest(member) != y
        if y < known:
            self.forecasts.learn_mixture([bounded(p[y], classes), bounded(q[y], classes)])
        if y < known and not later_pass:
            self.learn_scores(features, p, y, weight)
            self.learn_drift(highest([s.drift for s in scores]), q, y, weight)
        for k in range(FEATURES):
            member = [s.features()[k] for s in scores]
            total, squares = add(member), add(s * s for s in member)
            self.forecasts.score_squares[k] += max(0.0, (squares - total * total / classes) / classes)
        self.step(row, scores, y, weight)
        return found

    def score(self, x: dict[int, float]) -> list[float]:
        row = self.scaling.scale(x)
        scores = [self.score_members(row, c) for c in range(self.known)]
        for c, value in enumerate(self.discriminants(row, self.known)):
            scores[c].discriminant = value
        return self.combine(scores, self.features(scores))[2]

    def bias_and_columns(self, row: Row) -> Iterator[tuple[int, float, float]]:
        yield BIAS, self.bias * row.factor, self.bias * row.drift_factor
        yield from ((column.j, column.value, column.uncentred) for column in row.columns)

    def score_members(self, row: Row, c: int) -> Scores:
        found, arow_sum, logistic_sum = Scores(), 0.0, 0.0
        for j, x, uncentred in self.bias_and_columns(row):
            cell = self.members.cells[c, j]
            found.arow += x * cell.arow
            arow_sum += x * cell.arow_sum
            found.logistic += x * cell.logistic
            logistic_sum += x * cell.logistic_sum
            found.drift += uncentred * cell.drift
        t = float(max(1, self.scaling.t))
        found.arow_mean = found.arow - arow_sum / ((t * t * t) * (t * t * t))
        found.logistic_mean = found.logistic - logistic_sum / ((t * t) * (t * t))
        return found

    def discriminants(self, row: Row, classes: int) -> list[float]:
        sizes = [self.members.cells[c, BIAS].class_sum for c in range(classes)]
        found = [0.0] * classes
        for column in row.columns:
            squares = self.members.squares[column.j]
            within, sums = squares, [self.members.cells[c, column.j].class_sum for c in range(classes)]
            for total, n in zip(sums, sizes, strict=True):
                within -= total * total * (1.0 / n if n > 0.0 else 0.0)
            by_variance = add(sizes) / (max(within, 0.01 * squares) + 0.1)
            for c in range(classes):
                mean = sums[c] * (1.0 / (sizes[c] + 1.0))
                found[c] += (column.value - 0.5 * mean) * mean * by_variance
        return found

    def features(self, scores: list[Scores]) -> list[list[float]]:
        """Return the features of the forecast for each class."""
        found: list[list[float]] = [[] for _ in scores]
        for k in range(FEATURES):
            member = [s.features()[k] for s in scores]
            mean, unit = add(member) / len(scores), self.forecasts.unit(k, self.scaling.t)
            for features, score in zip(found, member, strict=True):
                features.append(clip(unit * (score - mean), 6.0))
        return found

    def bias_feature(self, c: int) -> float:
        h = self.forecasts.bias_size
        return (-h, h)[c] if c < 2 else 0.0

    def combine(
        self, scores: list[Scores], features: list[list[float]]
    ) -> tuple[list[float], list[float], list[float]]:
        """Return the two forecasts, and the logarithms of the probabilities of their mixture."""
        forecasts, classes = self.forecasts, range(len(scores))
        z = [add(a * f for a, f in zip(forecasts.weights, features[c], strict=False)) for c in classes]
        chosen = highest([s.drift for s in scores])
        drift_z = [forecasts.drift_weights[0] if c == chosen else 0.0 for c in classes]
        for c in classes:
            if c < 2:
                z[c] += (-1.0, 1.0)[c] * (forecasts.bias_size * forecasts.weights[4])
                drift_z[c] += (-1.0, 1.0)[c] * (forecasts.bias_size * forecasts.drift_weights[1])
        p, q = softmax(z), softmax(drift_z)
        v, u = forecasts.mixture
        mixed = [v * bounded(p[c], len(scores)) + u * bounded(q[c], len(scores)) for c in classes]
        return p, q, [math.log(one) for one in mixed]

    def learn_scores(self, features: list[list[float]], p: list[float], y: int, weight: float) -> None:
        h, classes = self.forecasts.bias_size, range(len(p))
        mean = [add(p[c] * features[c][r] for c in classes) for r in range(FEATURES)]
        mean.append(h * (p[1] - p[0]))
        curvature = [[0.0] * 5 for _ in range(5)]
        for r in range(FEATURES):
            for k in range(r + 1):
                product = add(p[c] * features[c][r] * features[c][k] for c in classes)
                curvature[r][k] = weight * (product - mean[r] * mean[k])
            product = h * (p[1] * features[1][r] - p[0] * features[0][r])
            curvature[4][r] = weight * (product - mean[r] * mean[4])
        curvature[4][4] = weight * max(0.0, h * h * (p[1] + p[0]) - mean[4] * mean[4])
        own = [*features[y], self.bias_feature(y)]
        gradient = [weight * (f - m) for f, m in zip(own, mean, strict=True)]
        self.forecasts.learn_scores(self.scaling.t + 1, curvature, gradient)

    def learn_drift(self, chosen: int, q: list[float], y: int, weight: float) -> None:
        h = self.forecasts.bias_size
        mean = h * (q[1] - q[0])
        gradient = weight * ((y == chosen) - q[chosen]), weight * (self.bias_feature(y) - mean)
        curvature = (
            weight * q[chosen] * (1.0 - q[chosen]),
            weight * q[chosen] * (self.bias_feature(chosen) - mean),
            weight * max(0.0, h * h * (q[0] + q[1]) - mean * mean),
        )
        self.forecasts.learn_drift(gradient, curvature)

    def step(self, row: Row, scores: list[Scores], y: int, weight: float) -> None:
        """Move the columns of the class and of its highest rival, which each member has of its own."""
        members, past, classes = self.members, self.scaling.t, len(scores)
        other = rival_of(y, [s.arow for s in scores])
        deficit = hinge_deficit(scores[y].arow - scores[other].arow)
        if deficit > 0.0:
            variance = self.score_variance(row, y) + self.score_variance(row, other)
            beta = 1.0 / (variance + 0.2 / classes / weight)
            for c, sign, j, x, _ in self.moves(row, y, other):
                members.step_arow(c, j, x, sign * beta * deficit, beta, past)
        other = rival_of(y, [s.logistic for s in scores])
        slope, rate = logistic_slope(scores[y].logistic - scores[other].logistic, weight), 1.5 * math.sqrt(classes / 2)
        for c, sign, j, x, _ in self.moves(row, y, other):
            members.step_logistic(c, j, sign * slope * x, rate, past)
        other = rival_of(y, [s.drift for s in scores])
        sq_length = row.drift_factor * row.drift_factor * (row.drift_sq_length + self.bias * self.bias)
        step = passive_aggressive(scores[y].drift - scores[other].drift, 2.0 * sq_length, weight)
        for c, sign, j, _, x in self.moves(row, y, other):
            members.step_drift(c, j, sign * step * x)
        for column in row.columns:
            members.squares[column.j] += weight * column.value * column.value
            members.cells[y, column.j].class_sum += weight * column.value
        members.cells[y, BIAS].class_sum += weight
        self.scaling.include(row)

    def moves(self, row: Row, y: int, other: int) -> Iterator[tuple[int, float, int, float, float]]:
        """Yield the class and its rival, with the sign of their steps, for each column that moves."""
        for c, sign in ((y, 1.0), (other, -1.0)):
            for j, x, uncentred in self.bias_and_columns(row):
                if j != BIAS or self.bias:
                    yield c, sign, j, x, uncentred

    def score_variance(self, row: Row, c: int) -> float:
        found = add(column.value * column.value * self.members.cells[c, column.j].variance for column in row.columns)
        bias = self.bias * row.factor
        return found + bias * bias * self.members.cells[c, BIAS].variance


# --- Comparing ---


def list_differences(state: Any, reference: ReferenceAuto | ReferenceClasses) -> list[str]:
    """Return the names of the parts of a model's state that are not equal to the reference, to the last bit."""
    stride, width = getattr(state, "stride", 1), state.features + 1
    columns = 1 if isinstance(reference, ReferenceAuto) else reference.known
    updater, scaling, forecasts = state.updater, reference.scaling, reference.forecasts
    weights = updater.weights.reshape(-1, stride, 5)[:width, :columns]
    sums = updater.sums.reshape(-1, stride, 3)[:width, :columns]
    expected = np.zeros((width, columns, 8))
    statistics = np.zeros((width, 7))
    for slot, j in enumerate([BIAS, *range(state.features)]):
        for c in range(columns):
            cell = reference.members.cells[c, j]
            expected[slot, c] = list(vars(cell).values())
        statistics[slot] = [
            scaling.count[j], scaling.total[j], scaling.total_abs[j], scaling.deviations[j],
            scaling.dense_since.get(j, 0), 0.0 if j == BIAS else reference.members.squares[j],
            reference.negative_sums[j] if isinstance(reference, ReferenceAuto) else 0.0,
        ]  # fmt: skip
    dense = [j + 1 for j in sorted(scaling.dense_since)]
    stack = [
        *forecasts.mixture, *forecasts.losses, *forecasts.likelihoods, forecasts.bias_size,
        *forecasts.errors, *forecasts.score_squares, *forecasts.weights,
        *chain(*forecasts.precision, *forecasts.inverse),
        *forecasts.drift_weights, *forecasts.drift_precision, forecasts.next_inverse,
    ]  # fmt: skip
    parts: dict[str, tuple[Any, Any]] = {
        "weights": (weights, expected[..., :5]),
        "sums": (sums, expected[..., 5:]),
        "statistics": (updater.statistics[:width], statistics),
        "dense slots": (updater.dense_slots[:width], dense + [0] * (width - len(dense))),
        "totals": (updater.totals, [scaling.t, scaling.sq_lengths, scaling.drift_sq_lengths, len(dense)]),
        "stack": (updater.stack, stack),
    }
    return [name for name, (found, wanted) in parts.items() if not np.array_equal(found, wanted)]
