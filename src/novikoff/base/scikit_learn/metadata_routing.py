"""scikit-learn's metadata routing: which estimators of a pipeline or search get sample weights and other arguments."""

from __future__ import annotations

import copy
import functools
from typing import Any

from novikoff.errors import import_optional

DATA_ARGUMENTS = ("self", "X", "y")
ROUTED_METHODS = ("fit", "partial_fit", "score")
REQUESTS = "_metadata_request"
"""The attribute of an estimator with its requests, which scikit-learn copies to clones."""
PURPOSE = "Metadata routing"


def list_metadata(estimator_type: type[Any], method: str) -> tuple[str, ...]:
    """Return the arguments of a method beside the data, such as sample_weight."""
    from inspect import signature  # imported late: it takes longer than learning a small file

    function = getattr(estimator_type, method, None)
    if function is None:
        return ()
    return tuple(name for name in signature(function).parameters if name not in DATA_ARGUMENTS)


class RequestSetter:
    """`set_fit_request` and its like: missing where the method takes nothing but data."""

    def __init__(self, method: str) -> None:
        self.method = method

    def __get__(self, model: Any, owner: type[Any]) -> Any:
        if not list_metadata(owner, self.method):
            raise AttributeError(f"{owner.__name__}.{self.method} takes no metadata, such as sample weights.")
        return self if model is None else functools.partial(set_requests, model, self.method)


def set_requests(model: Any, method: str, **requests: bool | str | None) -> Any:
    """Set which metadata a method requests: True, False, None (an error if it is passed) or another name for it."""
    sklearn = import_optional("sklearn", "sklearn", PURPOSE)
    if not sklearn.get_config()["enable_metadata_routing"]:
        raise RuntimeError(
            "This method is only available when metadata routing is enabled: call"
            " sklearn.set_config(enable_metadata_routing=True) first."
        )
    known = list_metadata(type(model), method)
    unknown = sorted(set(requests) - set(known))
    if unknown:
        raise TypeError(f"Unexpected args: {unknown} in {method}. Accepted arguments are: {sorted(known)}.")
    found = get_routing(model)
    unchanged = import_optional("sklearn.utils.metadata_routing", "sklearn", PURPOSE).UNCHANGED
    for name, alias in requests.items():
        if alias is not unchanged:
            getattr(found, method).add_request(param=name, alias=alias)
    setattr(model, REQUESTS, found)
    return model


def get_routing(model: Any) -> Any:
    """Return the requests of an estimator, as scikit-learn's MetadataRequest."""
    routing = import_optional("sklearn.utils.metadata_routing", "sklearn", PURPOSE)
    stored = getattr(model, REQUESTS, None)
    if stored is not None:
        return routing.get_routing_for_object(stored)
    found = routing.MetadataRequest(owner=type(model).__name__)
    for method in ROUTED_METHODS:
        for name in list_metadata(type(model), method):
            getattr(found, method).add_request(param=name, alias=None)
    return found


def copy_requests(source: Any, target: Any) -> Any:
    """Copy the requests of an estimator to its clone, as scikit-learn's `clone` does; return the clone."""
    if REQUESTS in vars(source):
        setattr(target, REQUESTS, copy.deepcopy(vars(source)[REQUESTS]))
    return target
