"""Explicit feature maps as a scikit-learn transformer: products, powers and conjunctions of features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import BaseEstimator
from novikoff.base.scikit_learn.output_container import check_container, wrap_output
from novikoff.data import validation
from novikoff.data.feature_maps import Mapper, MapSpec, UnmappableRowError
from novikoff.data.rows import Sparse
from novikoff.errors import SPARSE_MATRIX_PURPOSE, InputError, build_not_fitted_error, import_optional


class FeatureMap(BaseEstimator):
    """Transformer that adds products, powers or conjunctions of features, so that more concepts are linear.

    `fit` only records the number of features, so batches of a stream can be transformed one at a time.

    Parameters
    ----------
    feature_map : what becomes of a row. poly:2 is all products of up to two features, each times the root of its
        multinomial coefficient, so that with a bias x·z becomes (1 + x·z)²; products:2 is features and products of two
        different ones; powers:3 is x, x² and x³ of each; conjunctions:2 is products:2 for features that are 0 or 1.
    feature_map_bits : products are hashed into 2^feature_map_bits slots; None gives each a column of its own.

    >>> from novikoff import FeatureMap, Perceptron
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], ["same", "other", "other", "same"]
    >>> model = make_pipeline(FeatureMap("products:2"), Perceptron(passes=5)).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    >>> model[0].get_feature_names_out().tolist()
    ['x0', 'x1', 'x0*x1']
    """

    def __init__(self, feature_map: str = "poly:2", feature_map_bits: int | None = None) -> None:
        self.feature_map = feature_map
        self.feature_map_bits = feature_map_bits

    def fit(self, X: Any, y: Any = None) -> Self:
        """Record the number of features, and their names."""
        chosen, batch = MapSpec.parse(self.feature_map, self.feature_map_bits), validation.validate_batch(X)
        _check_rows(batch)
        chosen.columns(batch.features)
        self.n_features_in_ = batch.features
        if batch.names is not None:
            self.feature_names_in_ = np.array(batch.names, object)
        return self

    def transform(self, X: Any) -> Any:
        """Return the mapped rows as a SciPy CSR matrix, or in the container that `set_output` names."""
        if not hasattr(self, "n_features_in_"):
            raise build_not_fitted_error(type(self).__name__)
        batch = validation.validate_batch(X)
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else names.tolist()
        validation.check_features(type(self).__name__, self.n_features_in_, known, batch)
        _check_rows(batch)
        mapper = Mapper(MapSpec.parse(self.feature_map, self.feature_map_bits))
        try:
            pieces = [rows for rows, _, _ in mapper.pieces(batch.rows, batch.features)]
        except UnmappableRowError as problem:
            raise InputError(f"Row {problem.row}: {problem}") from None
        return wrap_output(self, _build_matrix(pieces, mapper.map.columns(batch.features)), X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container of `transform`: default (a SciPy matrix), pandas or polars (both dense)."""
        if transform is not None:
            check_container(transform)
            self._sklearn_output_config = {"transform": transform}
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of all columns: x0*x1, or size*age if features have names."""
        if not hasattr(self, "n_features_in_"):
            raise build_not_fitted_error(type(self).__name__)
        chosen = MapSpec.parse(self.feature_map, self.feature_map_bits)
        names = getattr(self, "feature_names_in_", input_features)
        self._check_input_features(input_features)
        known = [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        return np.array([chosen.name(j, known) for j in range(chosen.columns(len(known)))], object)

    def _check_input_features(self, names: Any) -> None:
        """Raise InputError if these are not the names of the columns that fit has seen."""
        if names is None:
            return
        known = getattr(self, "feature_names_in_", None)
        if known is not None and list(names) != known.tolist():
            raise InputError("input_features is not equal to feature_names_in_.")
        if len(names) != self.n_features_in_:
            raise InputError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), got"
                f" {len(names)}."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64", "float32"]),
            input_tags=InputTags(sparse=True),
        )


def _check_rows(batch: validation.ValidatedBatch) -> None:
    """Raise InputError for a number that is not finite or a column that is missing."""
    rows, features = batch.rows, batch.features
    strange = ~np.isfinite(rows.values)
    if isinstance(rows, Sparse):
        strange |= rows.indices >= features
    if strange.any():
        position = int(np.flatnonzero(strange)[0])
        row = (
            int(np.searchsorted(rows.starts, position, side="right")) - 1
            if isinstance(rows, Sparse)
            else position // features
        )
        raise InputError(validation.explain_rejection(rows, row, features))


def _build_matrix(pieces: list[Sparse], columns: int) -> Any:
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    lengths = np.concatenate([np.diff(rows.starts) for rows in pieces])
    indices = np.concatenate([rows.indices for rows in pieces]).view(np.int32)
    values = np.concatenate([rows.values for rows in pieces])
    matrix = csr_matrix((values, indices, np.concatenate([[0], np.cumsum(lengths)])), (len(lengths), columns))
    matrix.sort_indices()
    return matrix
