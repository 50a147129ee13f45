"""Column numbers for products of features, without gaps and independent of how many features follow.

All products of features before a, of degree at most d, precede any product with a. Their number is
`count_products_before(a, d)`, including the empty product. So the product of a₁ ≤ … ≤ a_k, of degree at most d, has
before(a_k, d) + before(a_(k−1), d − 1) + … products before it (the combinatorial number system). The empty product has
no column: a learner has a bias for it.

>>> [get_product_column((a, b), 2, repeated=True) for b in range(3) for a in range(b + 1)]
[1, 3, 4, 6, 7, 8]
>>> [get_product_features(column, 2, repeated=False) for column in range(6)]
[(0,), (1,), (0, 1), (2,), (0, 2), (1, 2)]
"""

from __future__ import annotations

from math import comb


def count_products_before(feature: int, degree: int, *, repeated: bool) -> int:
    """Return the number of products of at most `degree` of the features before this one; `repeated` allows powers."""
    if repeated:
        return comb(feature + degree, degree)
    return sum(comb(feature, k) for k in range(degree + 1))


def get_product_column(features: tuple[int, ...], degree: int, *, repeated: bool) -> int:
    """Return the column of the product of these features, which are at most `degree`."""
    places = range(degree, degree - len(features), -1)
    chosen = zip(sorted(features, reverse=True), places, strict=True)
    return sum(count_products_before(feature, place, repeated=repeated) for feature, place in chosen) - 1


def get_product_features(column: int, degree: int, *, repeated: bool) -> tuple[int, ...]:
    """Return the features whose product has this column: the inverse of `get_product_column`."""
    rank, found, place = column + 1, list[int](), degree
    while rank > 0:
        low, high = 0, rank + 1  # binary search: the last feature with at most `rank` products before it
        while high - low > 1:
            middle = (low + high) // 2
            if count_products_before(middle, place, repeated=repeated) <= rank:
                low = middle
            else:
                high = middle
        found.insert(0, low)
        rank -= count_products_before(low, place, repeated=repeated)
        place -= 1
    return tuple(found)


def count_product_columns(features: int, degree: int, *, repeated: bool) -> int:
    """Return the number of products of at most `degree` of this number of features."""
    return count_products_before(features, degree, repeated=repeated) - 1
