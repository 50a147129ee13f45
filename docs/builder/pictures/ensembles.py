"""Draw the ensembles."""

from __future__ import annotations

import numpy as np

from docs.builder.drawing import Plot
from docs.builder.pictures.shared import Picture, draw_marked_line, draw_plane, draw_staircase, picture
from docs.builder.streams import make_ring, make_two_sides
from novikoff import SGD, AdaBoost, Bagging, OnlineBagging, OnlineBoosting, Perceptron, RandomForest


@picture
def adaboost() -> Picture:
    X, y = make_ring(400, seed=31)
    rounds = (1, 2, 5, 10, 20, 40, 80)
    models = [AdaBoost(n_estimators=many).fit(X, y) for many in rounds]
    plot = Plot((1, 80), (0, 1.05), names=("rounds", "training error"), scale="log x")
    plot.line([(t, m.bound_) for t, m in zip(rounds, models, strict=True)], 1, "Π 2√(ε(1−ε))", dashed=True)
    draw_marked_line(
        plot, [(t, m.training_error_) for t, m in zip(rounds, models, strict=True)], 0, "made by stumps that vote"
    )
    return plot, "A disc, learned by stumps on single features: the error falls, and so does its bound."


@picture
def bagging() -> Picture:
    X, y = make_two_sides(200, gap=0.0, noise=0.12, seed=32)
    plot = draw_plane(Bagging(n_estimators=30).fit(X, y), X, y)
    return (
        plot,
        "Thirty trees, each grown on its own bootstrap replicate of 200 points with 12% wrong labels.",
    )


@picture
def random_forest() -> Picture:
    rng = np.random.default_rng(33)
    X = rng.standard_normal((4000, 6))
    y = ((X[:, 0] > 0) ^ (rng.random(4000) < 0.02)).astype(int)
    sizes = (5, 10, 30, 100)
    models = [RandomForest(n_estimators=many, max_depth=3).fit(X, y) for many in sizes]
    plot = Plot((5, 100), (0, 0.5), names=("trees", "error"), scale="log x")
    plot.line(
        [(t, m.error_bound(delta=0.05).value) for t, m in zip(sizes, models, strict=True)], 1, "bound, 95%", dashed=True
    )
    draw_marked_line(
        plot, [(t, m.out_of_bag_.error) for t, m in zip(sizes, models, strict=True)], 0, "out-of-bag estimate"
    )
    return (
        plot,
        "The out-of-bag estimate, and the bound for the vote: 4,000 examples, 2% of the labels wrong.",
    )


@picture
def online_bagging() -> Picture:
    X, y = make_two_sides(2000, gap=0.0, noise=0.1, seed=34)
    plot = Plot((0, 2000), (0, 700), names=("examples", "mistakes"))
    for colour, members in enumerate((1, 5, 30)):
        draw_staircase(plot, OnlineBagging(Perceptron(), n_estimators=members).fit(X, y), colour, f"members {members}")
    return plot, "A tenth of the labels is wrong, so 200 mistakes are unavoidable: more members approach that number."


@picture
def online_boosting() -> Picture:
    X, y = make_ring(3000, seed=35)
    above = np.hstack([cut < X for cut in np.linspace(-0.8, 0.8, 9)]).astype(float)
    plot = Plot((0, 3000), (0, 160), names=("examples", "mistakes"))
    for colour, members in enumerate((1, 5, 20)):
        draw_staircase(plot, OnlineBoosting(SGD(), n_estimators=members).fit(above, y), colour, f"members {members}")
    return (
        plot,
        "A disc, described by 18 thresholds on x₁ and x₂: members learn most from the errors of others.",
    )
