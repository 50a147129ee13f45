"""The option --kernel-form: keep examples (dual), or map features explicitly and keep weights (primal)."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from novikoff.cli.options.data_options import build_reading_options, is_stream
from novikoff.data.reader import DataReader, FileBatch, check_sources
from novikoff.errors import InputError

KERNEL_LEARNER = "kernel-perceptron"
DUAL_ONLY_SETTINGS = ("vote", "budget", "drop", "max_memory_mb")
"""Settings that only the dual form has."""


def add_kernel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel-form",
        choices=("auto", "dual", "primal"),
        help=f"{KERNEL_LEARNER}: keep examples (dual, the default), or map the features of poly:N and keep weights"
        " (primal); auto chooses the cheaper form from the first examples",
    )


def resolve_representation(options: argparse.Namespace) -> None:
    """Change the options to those of a Perceptron in the mapped space, where primal is given or cheaper."""
    if options.learner != KERNEL_LEARNER or options.resume:
        raise InputError(f"--kernel-form is for a new run of --learner {KERNEL_LEARNER}: leave it out.")
    if options.kernel_form == "dual":
        return
    from novikoff.dual.kernel_perceptron import KernelPerceptron
    from novikoff.kernels.expression import Linear, Polynomial
    from novikoff.kernels.parser import to_kernel

    given = options.setting_kernel
    kernel = to_kernel(KernelPerceptron().kernel if given is None else given)
    dual_only = [name for name in DUAL_ONLY_SETTINGS if getattr(options, f"setting_{name}") not in (None, False)]
    written_out = isinstance(kernel, Linear) or (
        isinstance(kernel, Polynomial) and (kernel.constant, kernel.scale) == (1.0, 1.0)
    )
    why = None
    if dual_only:
        why = f"--{dual_only[0].replace('_', '-')} is for the dual form"
    elif not written_out:
        why = f"the kernel {kernel} has no map among those of --feature-map; poly:N has"
    elif options.feature_map:
        why = "--feature-map is given already"
    elif options.hash_bits == 0 or options.keep_names:
        why = "products have no names, which --hash-bits 0 and --keep-names need"
    if options.kernel_form == "primal":
        if why is not None:
            raise InputError(f"--kernel-form primal is not possible: {why}.")
    elif why is not None or not _primal_is_cheaper(options, _degree(kernel)):
        return
    _switch_to_primal(options, kernel)


def _degree(kernel: Any) -> int:
    return getattr(kernel, "degree", 1)


def _primal_is_cheaper(options: argparse.Namespace, degree: int) -> bool:
    from novikoff.data.feature_maps import MAX_MAP_COLUMNS, MapSpec
    from novikoff.data.rows import Sparse
    from novikoff.kernels import choose_representation

    check_sources(options.data)
    if any(map(is_stream, options.data)):
        raise InputError("--kernel-form auto reads the first examples in advance: use dual or primal for a pipe.")
    batch = next(DataReader(options.data, build_reading_options(options)).batches())
    terms = float(batch.rows.starts[-1]) / len(batch) if isinstance(batch.rows, Sparse) else float(batch.features)
    chosen = MapSpec("poly", degree, options.feature_map_bits)
    features = float(chosen.terms([round(terms)])[0])
    advice = choose_representation(
        examples=_estimate_examples(batch, options.data), kernel_cost=max(terms, 1.0), feature_cost=max(features, 1.0)
    )
    too_many = options.feature_map_bits is None and chosen.products(batch.features) > MAX_MAP_COLUMNS
    if not options.quiet:
        room = " It would have too many columns, though: --feature-map-bits hashes them." if too_many else ""
        print(f"{advice.sentence}{room if advice.representation == 'primal' else ''}", file=sys.stderr)
    return advice.representation == "primal" and not too_many


def _estimate_examples(batch: FileBatch, titles: list[str]) -> int:
    """Return the number of examples, estimated from the size of the first ones."""
    if not batch.size:
        return len(batch)
    return max(len(batch), round(len(batch) * sum(os.stat(title).st_size for title in titles) / batch.size))


def _switch_to_primal(options: argparse.Namespace, kernel: Any) -> None:
    """Change the options: (1 + x·z)^d is the inner product of mapped examples with a bias, x·z that of the examples."""
    options.learner = "perceptron"
    degree = _degree(kernel)
    if degree > 1:
        options.feature_map = f"poly:{degree}"
    options.setting_fit_intercept = hasattr(kernel, "constant")
    for name in ("kernel", *DUAL_ONLY_SETTINGS):
        setattr(options, f"setting_{name}", None)
