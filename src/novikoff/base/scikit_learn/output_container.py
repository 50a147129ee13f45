"""The output of transformers as data frames: scikit-learn's `set_output` and its option `transform_output`."""

from __future__ import annotations

import sys
from typing import Any

from novikoff.errors import InputError, import_optional

CONTAINERS = ("default", "pandas", "polars")


OUTPUT_CONFIG = "_sklearn_output_config"
"""The attribute of an estimator with its container, which scikit-learn copies to clones."""


def check_container(name: str) -> None:
    if name not in CONTAINERS:
        raise InputError(f"transform must be one of {', '.join(CONTAINERS)}, or None, but is {name!r}.")


def find_container(transformer: Any) -> str:
    """Return the container that the transformer was set to, or that scikit-learn's option names."""
    own = getattr(transformer, OUTPUT_CONFIG, {}).get("transform")
    if own is not None:
        return str(own)
    sklearn = sys.modules.get("sklearn")  # the option can't be set before scikit-learn is imported
    return "default" if sklearn is None else str(sklearn.get_config()["transform_output"])


def wrap_output(transformer: Any, matrix: Any, X: Any) -> Any:
    """Return a sparse matrix in the container of the transformer: as it is, or as a dense data frame with names."""
    container = find_container(transformer)
    if container == "default":
        return matrix
    names, purpose = list(transformer.get_feature_names_out()), f"The output container {container}"
    if container == "polars":
        return import_optional("polars", "polars", purpose).DataFrame(matrix.toarray(), schema=names, orient="row")
    pandas = import_optional("pandas", "pandas", purpose)
    index = X.index if isinstance(X, pandas.DataFrame) else None
    return pandas.DataFrame(matrix.toarray(), columns=names, index=index, copy=False)
