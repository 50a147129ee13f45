"""novikoff: linear classifiers from streams, one example at a time, each model with its ledger.

Names are imported when they are first used: `import novikoff` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Perceptron": "learners.perceptron",
    "MarginPerceptron": "learners.margin_perceptron",
    "VotedPerceptron": "learners.voted_perceptron",
    "PNormPerceptron": "learners.p_norm_perceptron",
    "SGD": "learners.sgd",
    "MultilayerPerceptron": "learners.multilayer_perceptron",
    "AROW": "learners.arow",
    "Auto": "auto",
    "Winnow": "learners.winnow",
    "BalancedWinnow": "learners.balanced_winnow",
    "Elimination": "learners.elimination",
    "Halving": "learners.halving",
    "KernelPerceptron": "learners.kernel_perceptron",
    "Rectangle": "learners.rectangle",
    "OneVsAll": "wrap.one_vs_all",
    "AllVsAll": "wrap.all_vs_all",
    "OutputCode": "wrap.output_code",
    "Kesler": "wrap.kesler",
    "MultiLabel": "wrap.multi_label",
    "LabelRanking": "wrap.label_ranking",
    "Hierarchical": "wrap.hierarchical",
    "QueryRanking": "wrap.query_ranking",
    "MulticlassSVM": "wrap.multiclass_svm",
    "FeatureMap": "mapping",
    "OnlineToBatch": "wrap.online_to_batch",
    "AdaBoost": "wrap.adaboost",
    "Bagging": "wrap.bagging",
    "DecisionTree": "wrap.decision_tree",
    "RandomForest": "wrap.random_forest",
    "OnlineBagging": "wrap.online_bagging",
    "OnlineBoosting": "wrap.online_boosting",
    "Ledger": "ledger",
    "certify": "certificates.certificate",
    "verify": "certificates.verify",
    "read": "stream.batches",
    "with_columns": "stream.raw_table",
    "separable": "certificates.separability",
    "save": "store",
    "load": "store",
    "Client": "client",
    "NovikoffError": "errors",
    "InputError": "errors",
    "LabelError": "errors",
    "ModelFileError": "errors",
    "ModelTooLarge": "errors",
    "OverflowRefused": "errors",
    "RangeRefused": "errors",
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
    from novikoff.certificates.certificate import certify as certify
    from novikoff.certificates.separability import separable as separable
    from novikoff.certificates.verify import verify as verify
    from novikoff.client import Client as Client
    from novikoff.errors import DefaultLearnerWarning as DefaultLearnerWarning
    from novikoff.errors import DoubtfulColumnsWarning as DoubtfulColumnsWarning
    from novikoff.errors import InputError as InputError
    from novikoff.errors import LabelError as LabelError
    from novikoff.errors import ModelFileError as ModelFileError
    from novikoff.errors import ModelTooLarge as ModelTooLarge
    from novikoff.errors import NovikoffError as NovikoffError
    from novikoff.errors import OverflowRefused as OverflowRefused
    from novikoff.errors import RangeRefused as RangeRefused
    from novikoff.errors import ServiceError as ServiceError
    from novikoff.errors import SortedLabelsWarning as SortedLabelsWarning
    from novikoff.errors import UnknownColumnsWarning as UnknownColumnsWarning
    from novikoff.learners.arow import AROW as AROW
    from novikoff.learners.balanced_winnow import BalancedWinnow as BalancedWinnow
    from novikoff.learners.elimination import Elimination as Elimination
    from novikoff.learners.halving import Halving as Halving
    from novikoff.learners.kernel_perceptron import KernelPerceptron as KernelPerceptron
    from novikoff.learners.margin_perceptron import MarginPerceptron as MarginPerceptron
    from novikoff.learners.multilayer_perceptron import MultilayerPerceptron as MultilayerPerceptron
    from novikoff.learners.p_norm_perceptron import PNormPerceptron as PNormPerceptron
    from novikoff.learners.perceptron import Perceptron as Perceptron
    from novikoff.learners.rectangle import Rectangle as Rectangle
    from novikoff.learners.sgd import SGD as SGD
    from novikoff.learners.voted_perceptron import VotedPerceptron as VotedPerceptron
    from novikoff.learners.winnow import Winnow as Winnow
    from novikoff.ledger import Ledger as Ledger
    from novikoff.mapping import FeatureMap as FeatureMap
    from novikoff.store import load as load
    from novikoff.store import save as save
    from novikoff.stream.batches import read as read
    from novikoff.stream.raw_table import with_columns as with_columns
    from novikoff.wrap.adaboost import AdaBoost as AdaBoost
    from novikoff.wrap.all_vs_all import AllVsAll as AllVsAll
    from novikoff.wrap.bagging import Bagging as Bagging
    from novikoff.wrap.decision_tree import DecisionTree as DecisionTree
    from novikoff.wrap.hierarchical import Hierarchical as Hierarchical
    from novikoff.wrap.kesler import Kesler as Kesler
    from novikoff.wrap.label_ranking import LabelRanking as LabelRanking
    from novikoff.wrap.multi_label import MultiLabel as MultiLabel
    from novikoff.wrap.multiclass_svm import MulticlassSVM as MulticlassSVM
    from novikoff.wrap.one_vs_all import OneVsAll as OneVsAll
    from novikoff.wrap.online_bagging import OnlineBagging as OnlineBagging
    from novikoff.wrap.online_boosting import OnlineBoosting as OnlineBoosting
    from novikoff.wrap.online_to_batch import OnlineToBatch as OnlineToBatch
    from novikoff.wrap.output_code import OutputCode as OutputCode
    from novikoff.wrap.query_ranking import QueryRanking as QueryRanking
    from novikoff.wrap.random_forest import RandomForest as RandomForest


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"novikoff.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"novikoff.{name}")
    raise AttributeError(f"module 'novikoff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])
