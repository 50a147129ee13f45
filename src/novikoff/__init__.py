"""Linear classifiers for streams, with mistake counts, bounds and certificates for each model.

Learners follow scikit-learn's interface (`fit`, `predict`, `partial_fit`) and learn single examples with `learn_one`.
Names are imported on first use, so `import novikoff` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Perceptron": "linear.perceptron",
    "MarginPerceptron": "linear.margin_perceptron",
    "VotedPerceptron": "linear.voted_perceptron",
    "PNormPerceptron": "linear.p_norm_perceptron",
    "SGD": "linear.sgd",
    "MultilayerPerceptron": "neural.multilayer_perceptron",
    "AROW": "linear.arow",
    "Auto": "auto",
    "Winnow": "linear.winnow",
    "BalancedWinnow": "linear.balanced_winnow",
    "Elimination": "boolean.elimination",
    "Halving": "boolean.halving",
    "KernelPerceptron": "dual.kernel_perceptron",
    "Rectangle": "boolean.rectangle",
    "OneVsAll": "multiclass.one_vs_all",
    "AllVsAll": "multiclass.all_vs_all",
    "OutputCode": "multiclass.output_code",
    "Kesler": "multiclass.kesler",
    "MultiLabel": "multiclass.multi_label",
    "LabelRanking": "multiclass.label_ranking",
    "Hierarchical": "multiclass.hierarchical",
    "QueryRanking": "multiclass.query_ranking",
    "MulticlassSVM": "multiclass.multiclass_svm",
    "FeatureMap": "feature_map",
    "OnlineToBatch": "online_to_batch.online_to_batch",
    "AdaBoost": "ensemble.adaboost",
    "Bagging": "ensemble.bagging",
    "DecisionTree": "ensemble.decision_tree",
    "RandomForest": "ensemble.random_forest",
    "OnlineBagging": "multiclass.online_bagging",
    "OnlineBoosting": "multiclass.online_boosting",
    "Ledger": "ledger",
    "certify": "certificates.certificate",
    "verify": "certificates.verify",
    "evaluate": "evaluation.evaluate",
    "explain": "explanation",
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
_MODULES = ("theory", "kernels")
__all__ = [*_HOME, *_MODULES, "__version__"]  # noqa: PLE0604 - the names are the keys above

if TYPE_CHECKING:
    from novikoff import kernels as kernels
    from novikoff import theory as theory
    from novikoff.auto import Auto as Auto
    from novikoff.boolean.elimination import Elimination as Elimination
    from novikoff.boolean.halving import Halving as Halving
    from novikoff.boolean.rectangle import Rectangle as Rectangle
    from novikoff.certificates.certificate import certify as certify
    from novikoff.certificates.separability.decide import separable as separable
    from novikoff.certificates.verify import verify as verify
    from novikoff.client.client import Client as Client
    from novikoff.data.raw.table import with_columns as with_columns
    from novikoff.data.read import read as read
    from novikoff.dual.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from novikoff.ensemble.adaboost import AdaBoost as AdaBoost
    from novikoff.ensemble.bagging import Bagging as Bagging
    from novikoff.ensemble.decision_tree import DecisionTree as DecisionTree
    from novikoff.ensemble.random_forest import RandomForest as RandomForest
    from novikoff.errors import DefaultLearnerWarning as DefaultLearnerWarning
    from novikoff.errors import DoubtfulColumnsWarning as DoubtfulColumnsWarning
    from novikoff.errors import FeatureRangeError as FeatureRangeError
    from novikoff.errors import InputError as InputError
    from novikoff.errors import LabelError as LabelError
    from novikoff.errors import ModelFileError as ModelFileError
    from novikoff.errors import ModelTooLarge as ModelTooLarge
    from novikoff.errors import NovikoffError as NovikoffError
    from novikoff.errors import ServiceError as ServiceError
    from novikoff.errors import SortedLabelsWarning as SortedLabelsWarning
    from novikoff.errors import UnknownColumnsWarning as UnknownColumnsWarning
    from novikoff.errors import WeightOverflowError as WeightOverflowError
    from novikoff.evaluation.evaluate import evaluate as evaluate
    from novikoff.explanation import explain as explain
    from novikoff.feature_map import FeatureMap as FeatureMap
    from novikoff.ledger import Ledger as Ledger
    from novikoff.linear.arow import AROW as AROW
    from novikoff.linear.balanced_winnow import BalancedWinnow as BalancedWinnow
    from novikoff.linear.margin_perceptron import MarginPerceptron as MarginPerceptron
    from novikoff.linear.p_norm_perceptron import PNormPerceptron as PNormPerceptron
    from novikoff.linear.perceptron import Perceptron as Perceptron
    from novikoff.linear.sgd import SGD as SGD
    from novikoff.linear.voted_perceptron import VotedPerceptron as VotedPerceptron
    from novikoff.linear.winnow import Winnow as Winnow
    from novikoff.model_file import load as load
    from novikoff.model_file import save as save
    from novikoff.multiclass.all_vs_all import AllVsAll as AllVsAll
    from novikoff.multiclass.hierarchical import Hierarchical as Hierarchical
    from novikoff.multiclass.kesler import Kesler as Kesler
    from novikoff.multiclass.label_ranking import LabelRanking as LabelRanking
    from novikoff.multiclass.multi_label import MultiLabel as MultiLabel
    from novikoff.multiclass.multiclass_svm import MulticlassSVM as MulticlassSVM
    from novikoff.multiclass.one_vs_all import OneVsAll as OneVsAll
    from novikoff.multiclass.online_bagging import OnlineBagging as OnlineBagging
    from novikoff.multiclass.online_boosting import OnlineBoosting as OnlineBoosting
    from novikoff.multiclass.output_code import OutputCode as OutputCode
    from novikoff.multiclass.query_ranking import QueryRanking as QueryRanking
    from novikoff.neural.multilayer_perceptron import MultilayerPerceptron as MultilayerPerceptron
    from novikoff.online_to_batch.online_to_batch import OnlineToBatch as OnlineToBatch


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"novikoff.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"novikoff.{name}")
    raise AttributeError(f"module 'novikoff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])
