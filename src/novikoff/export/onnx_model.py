"""A model as an ONNX graph, in double precision: labels, scores and probabilities equal those of the model.

The formulas of probabilities are those of core/calibration.py. Names of values within the graph begin with "nk/".
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from novikoff.base import internals
from novikoff.core.calibration import MAX_LINEAR_SCORE, NEXT_ABOVE_HALF, NEXT_BELOW_HALF
from novikoff.errors import InputError, import_optional
from novikoff.export.input_columns import CategoryColumn, Inputs, NumberColumn, find_inputs
from novikoff.export.linear_scores import Calibration, LinearScores, read_linear_scores
from novikoff.model_file import write_atomically

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
"""Versions of 2022, which all current runtimes read."""
FEATURES, LABEL, SCORES, PROBABILITIES = "features", "label", "scores", "probabilities"
MAX_WEIGHT_BYTES = 2_000_000_000
"""Protocol Buffers hold at most 2 GiB."""


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted linear model to an ONNX file, for onnxruntime and others.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, or a multiclass scheme whose class scores are linear, such as Kesler or OneVsAll.
    path : str or path
        The file, which must end in .onnx.

    Examples
    --------
    >>> from novikoff import AROW, export_onnx
    >>> model = AROW().fit([[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"])
    >>> export_onnx(model, "right.onnx")  # doctest: +SKIP
    """
    target = check_path(path)
    write_atomically(target, build_onnx(model).SerializeToString())


def check_path(path: str | os.PathLike[str]) -> Path:
    """Return the path; raise InputError if it does not name an ONNX file."""
    target = Path(path)
    if target.suffix.lower() != ".onnx":
        raise InputError(f"{target}: the file must end in .onnx. Use --json for JSON on standard output.")
    return target


def build_onnx(model: Any) -> Any:
    """Return the graph of a model as `onnx.ModelProto`."""
    onnx = import_optional("onnx", "onnx", "export_onnx")
    scores, inputs = read_linear_scores(model), find_inputs(model)
    if scores.weights.nbytes > MAX_WEIGHT_BYTES:
        raise InputError(f"The weights have {scores.weights.nbytes:,} bytes, but an ONNX file holds at most 2 GB.")
    graph = _Graph(onnx)
    double = _add_scores(graph, scores, inputs)
    if scores.probability_type == "none":
        probabilities = None
    elif scores.is_binary:
        probabilities = _add_binary_probabilities(graph, scores, double)
    else:
        probabilities = _add_class_probabilities(graph, scores, double)
    _add_decision(graph, scores, double, probabilities)
    return graph.finish({"model": repr(model), "feature_names": json.dumps(inputs.names, ensure_ascii=False)})


class _Graph:
    """A graph under construction. `add` appends a node and returns the name of its result."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.types = onnx, onnx.TensorProto
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def add(
        self, operator: str, *arguments: Any, output: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        """Append a node. Arguments are names, or numbers and arrays, which become constants."""
        names = [a if isinstance(a, str) else self.constant(a) for a in arguments]
        result = output or f"nk/{len(self.nodes)}/{operator}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [result], domain=domain, **attributes))
        return result

    def constant(self, value: Any) -> str:
        """Add a constant and return its name; numbers of Python are doubles."""
        array = np.array(value, np.float64) if isinstance(value, float) else np.asarray(value)
        name = f"nk/constant/{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add_input(self, name: str, kind: int, columns: int) -> str:
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["rows", columns]))
        return name

    def add_output(self, name: str, kind: int, columns: int | None) -> None:
        shape = ["rows"] if columns is None else ["rows", columns]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def to_double(self, name: str) -> str:
        return self.add("Cast", name, to=self.types.DOUBLE)

    def finish(self, metadata: dict[str, str]) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "novikoff", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        made = helper.make_model(graph, opset_imports=opsets, producer_name="novikoff", ir_version=IR_VERSION)
        helper.set_model_props(made, metadata)
        self.onnx.checker.check_model(made)
        return made


# --- Scores ---


def _add_scores(graph: _Graph, scores: LinearScores, inputs: Inputs) -> str:
    """Add the inputs and the scores; return the name of the scores, one column for each."""
    if inputs.columns is None:
        products = _add_tensor(graph, scores, inputs)
    else:
        products = _add_columns(graph, scores, inputs.columns)
    return graph.add("Add", products, scores.intercepts)


def _is_single_precision(scores: LinearScores) -> bool:
    return bool(np.dtype(internals.require_state(scores.model).kind) == np.float32)


def _add_tensor(graph: _Graph, scores: LinearScores, inputs: Inputs) -> str:
    kind = graph.types.FLOAT if _is_single_precision(scores) else graph.types.DOUBLE
    values = graph.to_double(graph.add_input(FEATURES, kind, len(scores.weights)))
    if inputs.missing_is_zero:
        values = _drop_missing(graph, values)
    return graph.add("MatMul", values, scores.weights)


def _drop_missing(graph: _Graph, values: str) -> str:
    return graph.add("Where", graph.add("IsNaN", values), 0.0, values)


def _add_columns(graph: _Graph, scores: LinearScores, columns: Sequence[NumberColumn | CategoryColumn]) -> str:
    """Add an input for each column; return the sums of their products."""
    reserved = {LABEL, SCORES, PROBABILITIES}
    parts = []
    for column in columns:
        if column.name in reserved or column.name.startswith("nk/"):
            raise InputError(f"The column {column.name!r} has the name of an output of the graph: rename it.")
        if isinstance(column, NumberColumn):
            parts.append(_add_number(graph, scores, column))
        else:
            parts.append(_add_category(graph, scores, column))
    return parts[0] if len(parts) == 1 else graph.add("Sum", *parts)


def _add_number(graph: _Graph, scores: LinearScores, column: NumberColumn) -> str:
    values = graph.add_input(column.name, graph.types.DOUBLE, 1)
    if _is_single_precision(scores):  # as the model stores values
        values = graph.to_double(graph.add("Cast", values, to=graph.types.FLOAT))
    weights = scores.weights[:1] * 0.0 if column.feature is None else scores.weights[[column.feature]]
    return graph.add("MatMul", _drop_missing(graph, values), weights)


def _add_category(graph: _Graph, scores: LinearScores, column: CategoryColumn) -> str:
    """Look up the weights of a category; others, and missing values, have the last row, which is 0."""
    name = graph.add_input(column.name, graph.types.STRING, 1)
    known = column.features or {"": 0}
    rows = scores.weights[list(column.features.values())] if column.features else scores.weights[:1] * 0.0
    index = graph.add(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=list(known),
        values_int64s=list(range(len(known))),
        default_int64=len(known),
    )
    table = np.concatenate([rows, np.zeros((1, scores.weights.shape[1]))])
    return graph.add("Gather", table, graph.add("Squeeze", index, np.array([1])))


# --- Probabilities ---


def _add_log_odds(graph: _Graph, name: str, calibration: Calibration) -> str:
    """Return slope·z + log_slope·sign(z)·ln(1 + |z|) of the scores s, z = s·unit, shortened beyond MAX_LINEAR_SCORE."""
    z = graph.add("Mul", name, calibration.unit)
    beyond = graph.add("Max", graph.add("Sub", graph.add("Abs", z), MAX_LINEAR_SCORE), 0.0)
    short = graph.add("Add", graph.add("Log", graph.add("Add", beyond, 1.0)), MAX_LINEAR_SCORE)
    is_large = graph.add("Greater", beyond, 0.0)
    z = graph.add("Where", is_large, graph.add("Mul", graph.add("Sign", z), short), z)
    size = graph.add("Log", graph.add("Add", graph.add("Abs", z), 1.0))
    log_part = graph.add("Mul", graph.add("Mul", graph.add("Sign", z), size), calibration.log_slope)
    return graph.add("Add", graph.add("Mul", z, calibration.slope), log_part)


def _agree(graph: _Graph, probability: str, is_positive: str) -> str:
    """Return a probability of at least ½ where the score is positive, and below ½ elsewhere."""
    above = graph.add("Max", probability, NEXT_ABOVE_HALF)
    return graph.add("Where", is_positive, above, graph.add("Min", probability, NEXT_BELOW_HALF))


def _add_binary_probabilities(graph: _Graph, scores: LinearScores, name: str) -> str:
    """Return the name of the probabilities of both classes."""
    own = graph.add("Div", name, float(scores.scale))
    log_odds = own
    if scores.calibration is not None:
        log_odds = graph.add("Add", _add_log_odds(graph, own, scores.calibration), scores.calibration.intercept)
    positive = graph.add("GreaterOrEqual" if scores.tie_is_positive else "Greater", own, 0.0)
    second = _agree(graph, graph.add("Sigmoid", log_odds), positive)
    first = graph.add("Neg", graph.add("Sub", second, 1.0))
    return graph.add("Concat", first, second, output=PROBABILITIES, axis=1)


def _add_class_probabilities(graph: _Graph, scores: LinearScores, name: str) -> str:
    own = graph.add("Div", name, float(scores.scale))
    if scores.calibration is None:
        found = _agree(graph, graph.add("Sigmoid", own), graph.add("Greater", own, 0.0))
        total = graph.add("ReduceSum", found, np.array([1]), keepdims=1)
        return graph.add("Div", found, total, output=PROBABILITIES)
    centred = graph.add("Sub", own, graph.add("ReduceMean", own, axes=[1], keepdims=1))
    return graph.add("Softmax", _add_log_odds(graph, centred, scores.calibration), output=PROBABILITIES, axis=1)


# --- Labels ---


def _add_decision(graph: _Graph, scores: LinearScores, name: str, probabilities: str | None) -> None:
    """Add the labels, and declare the outputs. Two classes have one score for each row."""
    count = len(scores.classes)
    if scores.is_binary:
        single = graph.add("Squeeze", name, np.array([1]), output=SCORES)
        chosen = graph.add("Cast", _add_is_positive(graph, scores, single, probabilities), to=graph.types.INT64)
    else:
        chosen = graph.add("ArgMax", name, axis=1, keepdims=0)
        if count == 2:
            first, second = (graph.add("Gather", name, np.array(k), axis=1) for k in (0, 1))
            graph.add("Sub", second, first, output=SCORES)
        else:
            graph.add("Identity", name, output=SCORES)
    labels, kind = _build_labels(graph, scores)
    graph.add("Gather", labels, chosen, output=LABEL)
    graph.add_output(LABEL, kind, None)
    graph.add_output(SCORES, graph.types.DOUBLE, None if count == 2 else count)
    if probabilities is not None:
        graph.add_output(PROBABILITIES, graph.types.DOUBLE, count)


def _add_is_positive(graph: _Graph, scores: LinearScores, single: str, probabilities: str | None) -> str:
    threshold = scores.threshold
    if threshold is None:
        return graph.add("GreaterOrEqual" if scores.tie_is_positive else "Greater", single, 0.0)
    compared = single
    if threshold.scale == "probability":
        if probabilities is None:
            raise InputError("The threshold is a probability, but the model has none: set a threshold for scores.")
        compared = graph.add("Gather", probabilities, np.array(1), axis=1)
    return graph.add("GreaterOrEqual", compared, float(threshold.value))


def _build_labels(graph: _Graph, scores: LinearScores) -> tuple[Any, int]:
    """Return the labels as a constant, and their type: int64, bool or string."""
    classes = scores.classes
    if all(isinstance(label, bool) for label in classes):
        return np.array(classes), graph.types.BOOL
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in classes):
        return np.array(classes, np.int64), graph.types.INT64
    return np.array([internals.format_label(scores.model, label) for label in classes], object), graph.types.STRING
