"""Compile kernel expressions to small programs, which one compiled loop evaluates.

The program is in postfix order: each step takes from the top of a stack of rows and puts its result there. A row holds
the values of one example with many others. All arithmetic is that of single numbers in a fixed order, so that a value
does not depend on how many are computed together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff.kernels import expression as e
from novikoff.kernels.reproducible_exp import SCRATCH_ROWS, exp2_in_place, exp_in_place

(
    DOT,
    RBF,
    CONJUNCTIONS,
    SIGNED_CONJUNCTIONS,
    CONSTANT,
    MULTIPLY_BY,
    ADD_CONSTANT,
    ADD,
    MULTIPLY,
    POWER,
    SERIES,
    EXP,
    USER_VALUES,
) = range(13)


class Program(NamedTuple):
    steps: NDArray[np.int64]
    """Pairs: what to do, and a whole number."""
    numbers: NDArray[np.float64]
    """One for each step, then coefficients of series."""
    depth: int
    """Rows that the stack needs, the last of them to write notes on."""


class UserFunction(NamedTuple):
    """What only Python can compute: a function of two tables (pairs), or of one whose values are multiplied."""

    function: Callable[..., Any]
    pairs: bool


def compile_kernel(kernel: e.Kernel) -> tuple[Program, list[UserFunction]]:
    """Return the program, and the functions whose values its steps USER_VALUES take."""
    writer = _ProgramWriter()
    depth = writer.write(kernel)
    return writer.program(depth), writer.asked


class _ProgramWriter:
    def __init__(self) -> None:
        self.steps: list[tuple[int, int, float]] = []
        self.coefficients: list[float] = []
        self.asked: list[UserFunction] = []

    def put(self, step: int, operand: int = 0, number: float = 0.0) -> None:
        self.steps.append((step, operand, float(number)))

    def write(self, k: Any) -> int:
        """Write the steps of an expression; return the depth of the stack that they need."""
        if isinstance(k, e.Sum | e.Product):
            depth = max(self.write(k.left), 1 + self.write(k.right))
            self.put(ADD if isinstance(k, e.Sum) else MULTIPLY)
        elif isinstance(k, e.Multiple | e.Power | e.Exp | e.Series | e.ScaledKernel):
            depth = self.around(k, self.write(k.kernel))
        else:
            depth = 1
            self.leaf(k)
        return depth

    def around(self, k: Any, depth: int) -> int:
        if isinstance(k, e.Multiple):
            self.put(MULTIPLY_BY, 0, k.factor)
        elif isinstance(k, e.Power):
            self.put(POWER, k.exponent)
        elif isinstance(k, e.Exp):
            self.put(EXP)
        elif isinstance(k, e.Series):
            self.put(SERIES, len(self.coefficients), len(k.coefficients))
            self.coefficients += k.coefficients
        else:
            self.given(UserFunction(k.function, pairs=False))
            self.put(MULTIPLY)
            depth = max(depth, 2)
        return depth

    def leaf(self, k: Any) -> None:
        if isinstance(k, e.Rbf):
            self.put(RBF, 0, k.gamma)
        elif isinstance(k, e.Conjunctions):
            self.put(SIGNED_CONJUNCTIONS if k.negations else CONJUNCTIONS)
        elif isinstance(k, e.Constant):
            self.put(CONSTANT, 0, k.value)
        elif isinstance(k, e.UserKernel):
            self.given(UserFunction(k.function, pairs=True))
        else:
            self.put(DOT)
        if isinstance(k, e.Polynomial):
            if k.scale != 1.0:
                self.put(MULTIPLY_BY, 0, k.scale)
            self.put(ADD_CONSTANT, 0, k.constant)
            self.put(POWER, k.degree)

    def given(self, user_function: UserFunction) -> None:
        self.put(USER_VALUES, len(self.asked))
        self.asked.append(user_function)

    def program(self, depth: int) -> Program:
        count = len(self.steps)  # coefficients follow the steps' own numbers
        pairs = [(step, operand + count if step == SERIES else operand) for step, operand, _ in self.steps]
        numbers = [number for _, _, number in self.steps] + self.coefficients
        return Program(np.array(pairs, np.int64).reshape(-1), np.array(numbers, np.float64), depth + SCRATCH_ROWS)


@compiled
def integer_power(value: float, exponent: int) -> float:
    """Return value^exponent by squaring, always in the same order."""
    result, sq_norm = 1.0, value
    while exponent > 0:
        if exponent % 2 == 1:
            result *= sq_norm
        sq_norm *= sq_norm
        exponent //= 2
    return result


@compiled_not_inlined
def evaluate(  # noqa: PLR0912 - a branch for each kind of step
    program: Program,
    count: int,
    dots: NDArray[np.float64],
    start: int,
    sq_norm: float,
    sq_norms: NDArray[np.float64],
    user_values: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """K of one example with those from `start` on, `count` of them: dots are their x·z, `square` is ‖x‖², `squares` are
    ‖z‖². The stack, and the same as bits, has a row of
    `count` for each level; `out` may be `dots`. Given values are rows of len(out)."""
    top = -1
    for s in range(len(program.steps) // 2):
        step, operand, number = program.steps[2 * s], program.steps[2 * s + 1], program.numbers[s]
        if step in (DOT, RBF, CONJUNCTIONS, SIGNED_CONJUNCTIONS, CONSTANT, USER_VALUES):
            top += 1
        row = stack[top]
        if step in (DOT, CONJUNCTIONS):
            for q in range(count):
                row[q] = dots[start + q]
        elif step == RBF:
            for q in range(count):
                sq_distance = sq_norm + sq_norms[start + q] - 2.0 * dots[start + q]
                row[q] = -number * max(sq_distance, 0.0)
        elif step == SIGNED_CONJUNCTIONS:
            for q in range(count):
                row[q] = 2.0 * dots[start + q] - (sq_norm + sq_norms[start + q])
        elif step == CONSTANT:
            for q in range(count):
                row[q] = number
        elif step == USER_VALUES:
            for q in range(count):
                row[q] = user_values[operand, start + q]
        elif step == MULTIPLY_BY:
            for q in range(count):
                row[q] *= number
        elif step == ADD_CONSTANT:
            for q in range(count):
                row[q] += number
        elif step == POWER:
            for q in range(count):
                row[q] = integer_power(row[q], operand)
        elif step == SERIES:
            last = operand + int(number) - 1
            for q in range(count):
                k, total = row[q], program.numbers[last]
                for c in range(last - 1, operand - 1, -1):
                    total = total * k + program.numbers[c]
                row[q] = total
        elif step in (ADD, MULTIPLY):
            below = stack[top - 1]
            for q in range(count):
                below[q] = below[q] + row[q] if step == ADD else below[q] * row[q]
            top -= 1
        if step in (RBF, EXP):
            exp_in_place(row, count, stack[program.depth - SCRATCH_ROWS :], bits[program.depth - SCRATCH_ROWS :])
        elif step in (CONJUNCTIONS, SIGNED_CONJUNCTIONS):
            exp2_in_place(row, count, stack[program.depth - SCRATCH_ROWS :], bits[program.depth - SCRATCH_ROWS :])
    for q in range(count):
        out[start + q] = stack[0, q]


@compiled
def evaluate_diagonal(
    program: Program,
    sq_norms: NDArray[np.float64],
    user_values: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """Write K of examples with themselves; `squares` are their ‖x‖²."""
    for i in range(len(out)):
        evaluate(program, 1, sq_norms, i, sq_norms[i], sq_norms, user_values, stack, bits, out)


def allocate_stack(program: Program, count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a stack for rows of this many values, and the same memory as integers."""
    stack = np.zeros((program.depth, max(count, 1)))
    return stack, stack.view(np.int64)
