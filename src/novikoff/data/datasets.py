"""Built-in streams: the small real data sets of scikit-learn, read from its files without importing it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.rows import Dense
from novikoff.errors import MissingPackageError


class BuiltinDataset(NamedTuple):
    """A file with one example per row, the label last; `header` is the number of lines before the first."""

    file: str
    header: int
    names: list[str]
    labels: list[str]


_CELL_FEATURES = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points"]
_CELL_FEATURES += ["symmetry", "fractal dimension"]
_WINE_FEATURES = "alcohol,malic acid,ash,alcalinity of ash,magnesium,total phenols,flavanoids,nonflavanoid phenols"
_WINE_FEATURES += ",proanthocyanins,colour intensity,hue,od280/od315 of diluted wines,proline"

DATASETS = {
    "breast-cancer": BuiltinDataset(
        "breast_cancer.csv",
        1,
        [f"{kind} {name}" for kind in ("mean", "error of", "worst") for name in _CELL_FEATURES],
        ["malignant", "benign"],
    ),
    "digits": BuiltinDataset(
        "digits.csv.gz", 0, [f"pixel {r},{c}" for r in range(8) for c in range(8)], list("0123456789")
    ),
    "iris": BuiltinDataset(
        "iris.csv",
        1,
        ["sepal length", "sepal width", "petal length", "petal width"],
        ["setosa", "versicolor", "virginica"],
    ),
    "wine": BuiltinDataset("wine_data.csv", 1, _WINE_FEATURES.split(","), ["class 0", "class 1", "class 2"]),
}


def load_builtin_dataset(title: str) -> tuple[Dense, NDArray[Any], int]:
    """Return the rows, their labels by name, and the number of columns."""
    stream = DATASETS[title]
    from importlib.util import find_spec

    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise MissingPackageError("The built-in data sets come with scikit-learn: pip install 'novikoff[sklearn]'.")
    import gzip

    with open(os.path.join(os.path.dirname(spec.origin), "datasets", "data", stream.file), "rb") as file:
        content = file.read()
    text = (gzip.decompress(content) if stream.file.endswith(".gz") else content).decode()
    table = np.array([line.split(",") for line in text.split()[stream.header :]], np.float64)
    labels = np.array(stream.labels)[table[:, -1].astype(int)]
    values = np.ascontiguousarray(table[:, :-1])
    return Dense(values.reshape(-1), values.shape[1]), labels, values.shape[1]
