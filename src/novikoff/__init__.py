"""Linear classifiers for streams, with mistake counts, bounds and certificates for each model.

Learners follow scikit-learn's interface (`fit`, `predict`, `partial_fit`) and learn single examples with `learn_one`.
Names are imported on first use, so `import novikoff` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Auto": "auto",
    "FeatureMap": "feature_map",
    "Ledger": "ledger",
    "certify": "certificates.certificate",
    "verify": "certificates.verify",
    "evaluate": "evaluation.evaluate",
    "explain": "explanation",
    "export_onnx": "export.onnx_model",
    "set_threshold": "decision_threshold",
    "choose_threshold": "decision_threshold",
    "read": "data.read",
    "with_columns": "data.raw.table",
    "separable": "certificates.separability.decide",
    "save": "model_file",
    "load": "model_file",
    "Client": "client.client",
    "NovikoffError": "errors",
    "InputError": "errors",
    "LabelError": "errors",
    "ModelFileError": "errors",
    "ModelTooLarge": "errors",
    "WeightOverflowError": "errors",
    "FeatureRangeError": "errors",
    "ServiceError": "errors",
    "SortedLabelsWarning": "errors",
    "UnknownColumnsWarning": "errors",
    "DefaultLearnerWarning": "errors",
    "DoubtfulColumnsWarning": "errors",
}
"""Modules of names outside the packages of learners."""
_MODULES = ("theory", "kernels")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"novikoff.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"novikoff.{name}")
    if name == "__all__":
        return _public_names()
    if name[:1].isupper():  # classes of learners are found by the names of their files
        from novikoff.scheme_registry import find_class

        found = find_class(name)
        if found is not None:
            return found
    raise AttributeError(f"module 'novikoff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names()})


def _public_names() -> list[str]:
    from novikoff.scheme_registry import class_names

    return [*_HOME, *class_names(), *_MODULES, "__version__"]
