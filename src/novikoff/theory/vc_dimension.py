"""Known VC dimensions of common classes; `novikoff.theory.vc` verifies them by computation."""

from __future__ import annotations

from typing import NamedTuple

from novikoff.theory import validation


class KnownDimension(NamedTuple):
    """A class of VC dimension `times`·n + `plus`, where n is the number of dimensions or variables."""

    times: int
    plus: int
    formula: str
    about: str
    takes_n: bool = True


DIMENSIONS = {
    "half-lines": KnownDimension(0, 1, "1", "x ≥ a on a line", False),
    "intervals": KnownDimension(0, 2, "2", "a ≤ x ≤ b on a line", False),
    "half-spaces": KnownDimension(1, 1, "n + 1", "w·x ≥ θ in n dimensions"),
    "half-spaces-through-0": KnownDimension(1, 0, "n", "w·x ≥ 0 in n dimensions"),
    "rectangles": KnownDimension(2, 0, "2n", "boxes with sides parallel to the axes in n dimensions"),
    "conjunctions": KnownDimension(1, 0, "n", "conjunctions of literals of n variables"),
    "monotone-conjunctions": KnownDimension(1, 0, "n", "conjunctions of n variables, none negated"),
    "threshold-functions": KnownDimension(1, 1, "n + 1", "linear threshold functions of n Boolean variables"),
    "parities": KnownDimension(1, 0, "n", "parities of sets of n variables"),
}


def dimension(name: str, n: int = 1) -> int:
    """Return the VC dimension of a named class in n dimensions.

    >>> dimension("half-spaces", 2), dimension("rectangles", 2)
    (3, 4)
    """
    known = DIMENSIONS[name]
    return known.times * validation.check_count("n, the number of dimensions,", n, 1) + known.plus
