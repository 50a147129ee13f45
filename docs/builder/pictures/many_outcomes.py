"""Draw the schemes for more than two outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.builder.drawing import CELLS, Plot
from docs.builder.pictures.shared import Picture, draw_marked_line, draw_plane, draw_staircase, picture
from docs.builder.streams import make_clusters, make_grid
from novikoff import (
    AllVsAll,
    Hierarchical,
    Kesler,
    LabelRanking,
    MulticlassSVM,
    MultiLabel,
    OneVsAll,
    OutputCode,
    Perceptron,
    QueryRanking,
)

LETTERS = "abcdef"


def draw_regions(model: Any, classes: int, says: str, **more: Any) -> Picture:
    X, y = make_clusters(40 * classes, classes=classes, **more)
    return draw_plane(model.fit(X, y), X, y, LETTERS[:classes]), says


@picture
def kesler() -> Picture:
    return draw_regions(
        Kesler(Perceptron(average=True, passes=5)),
        4,
        "Four classes, one vector of weights for each: the regions of the highest w_c·x meet in straight lines.",
    )


@picture
def one_vs_all() -> Picture:
    return draw_regions(
        OneVsAll(Perceptron(average=True, passes=5)),
        4,
        "Each class has a learner against all others; if several or none are positive, the highest score decides.",
    )


@picture
def all_vs_all() -> Picture:
    return draw_regions(
        AllVsAll(Perceptron(average=True, passes=5)),
        4,
        "Six learners, one for each pair of four classes, vote.",
    )


@picture
def output_code() -> Picture:
    lengths, classes = (4, 8, 16, 32, 64), 6
    learn, test = (
        make_clusters(600, classes=classes, spread=0.18),
        make_clusters(2000, classes=classes, spread=0.18, seed=21),
    )

    def measure_error(bits: int) -> float:
        inner = Perceptron(average=True, passes=3)
        models = [OutputCode(inner, code_length=bits, random_state=seed).fit(*learn) for seed in range(5)]
        return float(np.mean([1 - model.score(*test) for model in models]))

    plot = Plot((4, 64), (0, 0.8), names=("bits of a code word", "error"), scale="log x")
    draw_marked_line(plot, [(bits, measure_error(bits)) for bits in lengths], 1, "dense random codes, mean of five")
    return plot, "Six classes: longer words tolerate more wrong bits."


@picture
def multiclass_svm() -> Picture:
    return draw_regions(
        MulticlassSVM(C=1.0),
        3,
        "Three classes in one problem: the score of the right class is to exceed all others by a margin of 1.",
        spread=0.18,
    )


@picture
def multi_label() -> Picture:
    rng = np.random.default_rng(22)
    X = rng.uniform(-1, 1, (800, 2))
    sets = [[name for name, yes in zip(("right", "high"), (a > 0, b > 0), strict=True) if yes] for a, b in X]
    model = MultiLabel(Perceptron(average=True)).fit(X, sets)
    plot = Plot((-1, 1), (-1, 1), names=("x₁", "x₂"))
    kinds: dict[tuple[str, ...], int] = {("right",): 0, ("high",): 1, ("high", "right"): 2, (): 3}
    said = [kinds[tuple(sorted(found))] for found in model.predict(make_grid(*CELLS))]
    plot.regions(np.array(said).reshape(CELLS[1], CELLS[0]))
    for kind, colour in kinds.items():
        inside = [tuple(x) for x, found in zip(X[:150].tolist(), sets, strict=False) if tuple(sorted(found)) == kind]
        plot.dots(inside, colour, " and ".join(kind) or "no label")
    return plot, "Two labels, each with its own line: four sets of labels, including the empty set."


@picture
def label_ranking() -> Picture:
    rng = np.random.default_rng(23)
    truth = rng.standard_normal((4, 6))
    X = rng.standard_normal((600, 6))
    ranked = [[LETTERS[c] for c in np.argsort(-(truth @ x))] for x in X]
    model = LabelRanking(Perceptron()).fit(X, ranked)
    plot = Plot((0, 600), (0, 260), names=("examples", "examples with a preference not met"))
    plot.line([(0, 0), (600, 600)], 1, "always", dashed=True)
    draw_staircase(plot, model, 0, "not met")
    return plot, "Four labels ranked by four hidden vectors, 24 possible orders: mistakes become rarer."


@picture
def hierarchical() -> Picture:
    names = ("east/south", "east/north", "west/south", "west/north")
    rng = np.random.default_rng(24)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.where(X[:, 0] > 0, 0, 2) + (X[:, 1] > 0)
    labels = [names[c] for c in y]
    model = Hierarchical(Perceptron(average=True, passes=3)).fit(X, labels)

    class Numbered:
        def predict(self, rows: Any) -> Any:
            return [names.index(label) for label in model.predict(rows)]

    return draw_plane(
        Numbered(), X[:150], y[:150], names
    ), "Labels share the weights of common ancestors: a score is the sum along the path from the root."


@picture
def query_ranking() -> Picture:
    rng = np.random.default_rng(25)
    truth = rng.standard_normal(10)

    def make_queries(many: int, first: int) -> tuple[Any, Any, Any]:
        X = rng.standard_normal((8 * many, 10))
        grades = np.clip(np.round(X @ truth / 3 + 0.3 * rng.standard_normal(8 * many)), 0, 2)
        return X, grades, first + np.repeat(np.arange(many), 8)

    X, grades, asked = make_queries(300, 0)
    tests, seen = make_queries(200, 1000), []
    for many in (3, 10, 30, 100, 300):
        rows = slice(0, 8 * many)
        model = QueryRanking(Perceptron(average=True)).fit(X[rows], grades[rows], asked[rows])
        seen.append((many, model.rank(*tests).ndcg))
    plot = Plot((3, 300), (0.6, 1), names=("queries learned, of 8 documents each", "NDCG@10"), scale="log x")
    draw_marked_line(plot, seen, 1, "on 200 other queries")
    return plot, "Documents ranked by one vector of weights, learned from which of two documents has the higher grade."
