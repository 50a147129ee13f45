"""Draw the learners of two classes."""

from __future__ import annotations

import numpy as np

from docs.builder.drawing import Plot
from docs.builder.pictures.shared import Picture, draw_boundary, draw_marked_line, draw_plane, draw_staircase, picture
from docs.builder.streams import make_disjunction, make_ring, make_two_sides
from novikoff import (
    AROW,
    SGD,
    Auto,
    BalancedWinnow,
    Elimination,
    Halving,
    KernelPerceptron,
    MarginPerceptron,
    MultilayerPerceptron,
    OnlineToBatch,
    Perceptron,
    PNormPerceptron,
    Rectangle,
    VotedPerceptron,
    Winnow,
    separable,
    theory,
)


@picture
def auto() -> Picture:
    X, y = make_two_sides(2000, gap=0.02)
    y = np.where(np.arange(2000) < 1000, y, 1 - y)  # flip all labels from the middle on
    plot = Plot((0, 2000), (0, 600), names=("examples", "mistakes"))
    for color, model in enumerate((Auto(), Perceptron(), AROW())):
        draw_staircase(plot, model.set_params(shuffle=False).fit(X, y), color, type(model).__name__)
    return plot, "All labels are flipped after 1,000 examples. Auto's mixture moves to the forecast that follows."


@picture
def perceptron() -> Picture:
    X, y = make_two_sides(1500, gap=0.08)
    model = Perceptron().fit(X, y)
    proof = separable(X, y)
    allowed = theory.mistake_bounds.novikoff(radius=float(proof.radius), margin=float(proof.margin))
    plot = Plot((0, 1500), (1, 1000), names=("examples", "mistakes"), scale="log y")
    plot.line([(0, allowed), (1500, allowed)], 1, f"(R/γ)² = {allowed:.0f}", dashed=True)
    draw_staircase(plot, model, 0, "mistakes of the Perceptron")
    return plot, "1,500 points that a line separates: the mistakes come early, and stay below (R/γ)² in any order."


@picture
def margin_perceptron() -> Picture:
    X, y = make_two_sides(60, gap=0.2, seed=5)
    thin = Perceptron(passes=100).fit(X, y)
    gamma = float(separable(X, y).margin)
    wide = MarginPerceptron(gamma=gamma, epsilon=0.1, passes=1000).fit(X, y)
    plot = draw_plane(wide, X, y)
    draw_boundary(plot, wide, 2, "Margin Perceptron")
    draw_boundary(plot, thin, 3, "Perceptron", dashed=True)
    return plot, "Neither line makes an error. The Margin Perceptron went on until it had 9/10 of the margin promised."


@picture
def voted_perceptron() -> Picture:
    tests = make_two_sides(3000, gap=0.0, seed=11)
    last, vote = [], []
    for many in (50, 100, 200, 400, 800):
        streams = [make_two_sides(many, gap=0.0, noise=0.1, seed=20 + seed) for seed in range(8)]
        last.append((many, np.mean([1 - Perceptron().fit(*s).score(*tests) for s in streams])))
        vote.append((many, np.mean([1 - VotedPerceptron().fit(*s).score(*tests) for s in streams])))
    plot = Plot((50, 800), (0, 0.3), names=("examples learned, a tenth of the labels wrong", "error"), scale="log x")
    draw_marked_line(plot, last, 0, "last hypothesis")
    draw_marked_line(plot, vote, 1, "vote of all")
    return (
        plot,
        "Error on true labels, mean of eight streams: one wrong label throws the last hypothesis off.",
    )


@picture
def p_norm_perceptron() -> Picture:
    def measure_mistakes(n: int, p: float | None) -> tuple[int, int]:
        X = np.random.default_rng(7).choice([-1.0, 1.0], (800, n))
        y = (X[:, :3].sum(axis=1) > 0).astype(int)
        return n, PNormPerceptron(p=p, fit_intercept=False).fit(X, y).ledger_.mistakes

    sizes = (10, 30, 100, 300, 1000)
    plot = Plot((10, 1000), (0, 400), names=("features, three of which matter", "mistakes"), scale="log x")
    draw_marked_line(plot, [measure_mistakes(n, 2.0) for n in sizes], 0, "p = 2, the Perceptron")
    draw_marked_line(plot, [measure_mistakes(n, None) for n in sizes], 1, "p = 2·ln n")
    return (
        plot,
        "800 rows of random signs, labelled by the majority of three: a large p pays ln n for the rest.",
    )


@picture
def sgd() -> Picture:
    X, y = make_two_sides(400, gap=0.0, noise=0.08, seed=6)
    plot = draw_plane(SGD().fit(X, y), X[:150], y[:150])
    for colour, loss in ((2, "hinge"), (3, "logistic"), (4, "squared")):
        draw_boundary(plot, SGD(loss=loss).fit(X, y), colour, loss, dashed=loss == "logistic")
    return plot, "One pass over 400 points, 8% of the labels wrong (150 are shown): the lines of the three losses."


@picture
def arow() -> Picture:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((1500, 40))
    y = (X @ rng.standard_normal(40) + 0.3 * rng.standard_normal(1500) > 0).astype(int)
    X *= 10.0 ** rng.uniform(-1, 1, 40)
    plot = Plot((0, 1500), (0, 450), names=("examples", "mistakes"))
    for colour, model in enumerate((Perceptron(), SGD(loss="hinge"), AROW())):
        draw_staircase(plot, model.fit(X, y), colour, type(model).__name__)
    return plot, "One pass over 40 features whose units differ by up to a hundred: each weight finds its own step."


@picture
def winnow() -> Picture:
    sizes = (30, 100, 300, 1000, 3000)
    streams = {n: make_disjunction(600, n, 3) for n in sizes}
    allowed = [(n, theory.winnow_bounds.winnow(literals=3, features=n, alpha=2.0, threshold=float(n))) for n in sizes]
    plot = Plot((30, 3000), (0, 260), names=("attributes, three of which matter", "mistakes"), scale="log x")
    plot.line(allowed, 1, "2 + 3k(1 + log₂ n)", dashed=True)
    draw_marked_line(plot, [(n, Winnow().fit(*s).ledger_.mistakes) for n, s in streams.items()], 1, "Winnow")
    draw_marked_line(plot, [(n, Perceptron().fit(*s).ledger_.mistakes) for n, s in streams.items()], 0, "Perceptron")
    return plot, "A disjunction of three attributes, 600 examples: ten times the attributes cost Winnow a few mistakes."


@picture
def balanced_winnow() -> Picture:
    def stream(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = np.random.default_rng(9).uniform(-1, 1, (4000, n))
        score = (X[:, 0] - X[:, 1]) / 2
        return X[np.abs(score) > 0.2][:1500], (score > 0).astype(int)[np.abs(score) > 0.2][:1500]

    sizes, eta = (10, 30, 100, 300, 1000), 0.2
    plot = Plot((10, 1000), (0, 520), names=("features, two of which matter", "mistakes"), scale="log x")
    law = theory.winnow_bounds.balanced_winnow
    allowed = [(n, law(features=n, learning_rate=eta, radius_inf=1.0, norm1=1.0, margin=0.2, loss=0.0)) for n in sizes]
    plot.line(allowed, 1, "ln 2n/(ηγ − η²X²/2)", dashed=True)
    made = [
        (n, BalancedWinnow(alpha=float(np.exp(eta)), fit_intercept=False).fit(*stream(n)).ledger_.mistakes)
        for n in sizes
    ]
    draw_marked_line(plot, made, 1, "Balanced Winnow")
    draw_marked_line(
        plot, [(n, Perceptron(fit_intercept=False).fit(*stream(n)).ledger_.mistakes) for n in sizes], 0, "Perceptron"
    )
    return plot, "One feature speaks for, one against: the multiplicative learner hardly feels the others."


@picture
def elimination() -> Picture:
    rng, n = np.random.default_rng(10), 30
    X = (rng.random((600, n)) < 0.7).astype(float)
    y = X[:, [0, 4, 7]].prod(axis=1).astype(int)
    left, model = [(0, 2 * n)], Elimination()
    for t in range(600):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        literals = 2 * n if model.formula_ == "⊥" else model.formula_.count("x")
        left.append((t + 1, literals))
    plot = Plot((1, 600), (0, 62), names=("examples", ""), scale="log x")
    plot.line(left[1:], 1, "literals left", steps=True)
    plot.line([(1, n + 1), (600, n + 1)], 0, "n + 1 mistakes allowed", dashed=True)
    draw_staircase(plot, model, 0, "mistakes")
    return plot, "x₀ ∧ x₄ ∧ x₇ among 30 features: each mistake, on a positive example, drops literals for good."


@picture
def halving() -> Picture:
    rng, model = np.random.default_rng(12), Halving(hypotheses="disjunctions", size=2)
    X = (rng.random((60, 40)) < 0.3).astype(float)
    y = X[:, [3, 11]].max(axis=1).astype(int)
    left = []
    for t in range(60):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        left.append((t + 1, float(model.hypotheses_left_)))
    most = theory.boolean_bounds.halving(hypotheses=model.size_)
    plot = Plot((1, 60), (0.8, 1000), names=("examples", "number"), scale="log y")
    plot.line(left, 1, "hypotheses left", steps=True)
    plot.line([(1, most), (60, most)], 0, f"log₂|H| = {most:.1f} mistakes allowed", dashed=True)
    draw_staircase(plot, model, 0, "mistakes")
    return (
        plot,
        f"All {model.size_:,} disjunctions of up to two of 40 features: a mistake halves what is left, or more.",
    )


@picture
def rectangle() -> Picture:
    rng = np.random.default_rng(13)
    X = rng.uniform(-1, 1, (150, 2))
    y = ((np.abs(X[:, 0] - 0.1) < 0.5) & (np.abs(X[:, 1] + 0.1) < 0.55)).astype(int)
    plot = draw_plane(Rectangle().fit(X, y), X, y)
    plot.line([(-0.4, -0.65), (0.6, -0.65), (0.6, 0.45), (-0.4, 0.45), (-0.4, -0.65)], 2, "true box", dashed=True)
    return plot, "The box that was learned lies inside the true one: it errs on one side only."


@picture
def kernel_perceptron() -> Picture:
    X, y = make_ring()
    model = KernelPerceptron(kernel="rbf:4", passes=5).fit(X, y)
    plot = draw_plane(model, X, y)
    return (
        plot,
        f"No line tells a disc from its surroundings; in the kernel's space a plane does ({model.n_support_} of them).",
    )


@picture
def multilayer_perceptron() -> Picture:
    rng = np.random.default_rng(14)
    X = rng.uniform(-1, 1, (200, 2))
    X = X[np.abs(X[:, 0] * X[:, 1]) > 0.03]
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    plot = draw_plane(
        MultilayerPerceptron(hidden_layer_sizes=(8,), passes=300).fit(X, y), X, y, ("other signs", "same signs")
    )
    return plot, "Exclusive or, learned by eight hidden units: no line can do that."


@picture
def online_to_batch() -> Picture:
    X, y = make_two_sides(20_000, gap=0.05, seed=15)
    plot = Plot((300, 20_000), (0.001, 1), names=("examples", "error"), scale="log x log y")
    sizes = (300, 1000, 3000, 10_000, 20_000)
    for colour, method in enumerate(("longest-survivor", "penalised", "vote")):
        models = [OnlineToBatch(Perceptron(), method=method).fit(X[:m], y[:m]) for m in sizes]
        draw_marked_line(plot, [(m, model.bound_) for m, model in zip(sizes, models, strict=True)], colour, method)
    return plot, "What is promised of the hypothesis on new data (δ = 0.05), as the stream grows."


@picture
def decision_tree() -> Picture:
    from novikoff import DecisionTree

    X, y = make_ring(seed=16)
    return draw_plane(
        DecisionTree(max_depth=4).fit(X, y), X, y
    ), "Up to four questions to a leaf: boxes, whatever the shape."
