"""Column numbers for products of features, without gaps, which stay the same however many features are still to come.

All products of the features before a, at most d of them, come before any with a: there are `ahead(a, d)`, the empty one
counted. So the product of a₁ ≤ … ≤ a_k has, where it may have d features, ahead(a_k, d) + ahead(a_(k−1), d − 1) + …
products before it (the combinatorial number system). The empty product is no column: a learner has a bias for it.

>>> [get_product_column((a, b), 2, repeated=True) for b in range(3) for a in range(b + 1)]
[1, 3, 4, 6, 7, 8]
>>> [get_product_features(column, 2, repeated=False) for column in range(6)]
[(0,), (1,), (0, 1), (2,), (0, 2), (1, 2)]
"""

from __future__ import annotations

from math import comb


def count_products_before(feature: int, degree: int, *, repeated: bool) -> int:
    """How many products of at most `degree` features there are of those before this one; a feature may come several
    times in a product, or once only."""
    if repeated:
        return comb(feature + degree, degree)
    return sum(comb(feature, k) for k in range(degree + 1))


def get_product_column(features: tuple[int, ...], degree: int, *, repeated: bool) -> int:
    """The column of the product of these features, of which there may be `degree`."""
    places = range(degree, degree - len(features), -1)
    chosen = zip(sorted(features, reverse=True), places, strict=True)
    return sum(count_products_before(feature, place, repeated=repeated) for feature, place in chosen) - 1


def get_product_features(column: int, degree: int, *, repeated: bool) -> tuple[int, ...]:
    """The features whose product has this column: the inverse of `get_product_column`."""
    rank, found, place = column + 1, list[int](), degree
    while rank > 0:
        low, high = 0, rank + 1  # the last feature with no more than so many products ahead
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
    """How many columns products of at most `degree` of so many features have."""
    return count_products_before(features, degree, repeated=repeated) - 1
