"""Exports a linear model to other programs: an ONNX file, or its weights by name as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from novikoff.errors import InputError

EPILOG = """\
OUTPUT.onnx has the outputs label, scores and, if the model has them, probabilities. The inputs are the tensor
features, or an input for each column of a table with categories. Models without linear scores, such as Auto, trees,
kernels and votes, are refused, and so are hashed features, texts and feature maps.

examples:
  novikoff export bank.model bank.onnx
  novikoff export bank.model --json > bank.json
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument("output", metavar="OUTPUT.onnx", nargs="?", help="the ONNX file to write")
    parser.add_argument("--json", action="store_true", help="print the weights by name as one JSON object on stdout")


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import load_learner

    if options.json == (options.output is not None):
        raise InputError("Give either OUTPUT.onnx or --json, which prints to standard output.")
    if options.json:
        from novikoff.export.json_weights import export_weights

        print(json.dumps(export_weights(load_learner(options.model)), ensure_ascii=False))
        return 0
    from novikoff.export.onnx_model import check_path, export_onnx

    target = check_path(options.output)
    if target.exists() and target.samefile(Path(options.model)):
        raise InputError(f"{target}: is the model itself. Give another name for the ONNX file.")
    export_onnx(load_learner(options.model), target)
    return 0
