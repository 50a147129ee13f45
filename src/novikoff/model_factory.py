"""Build the model for settings and a task: the only place that chooses learner, multiclass scheme and wrapper.

    settings   what the user, client or file asks for; None where it leaves the choice open
    task       what the first batch shows: how many classes, what labels look like
    model      learner, or learner in a multiclass scheme, an ensemble or online-to-batch

The default learner is auto. Where auto can't be used, its replacement is arow, and `notify` receives a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from novikoff import learner_registry, scheme_registry
from novikoff.base.internals import inner_learner_of, is_multiclass, needs_two_classes, setting_defaults_of
from novikoff.errors import DefaultLearnerWarning, InputError, LabelError, find_user_stacklevel

if TYPE_CHECKING:
    from novikoff.data.reader import FileBatch

DEFAULT_LEARNER = "auto"
FALLBACK_LEARNER = "arow"
"""Replaces auto on a cluster and in multiclass schemes whose columns learn independently."""
STABLE_LEARNER = "perceptron"
"""Default inside online-to-batch, which needs hypotheses that stay unchanged while they are right."""
BATCH_SCHEMES = ("adaboost", "bagging", "random-forest")
"""Ensembles that are fitted to all examples at once."""
CLASS_SETTINGS = ("update", "decision", "code", "decoding", "code_length", "separator")
ENSEMBLE_SETTINGS = ("n_estimators", "max_depth", "n_jobs")
SCHEMES_OF_LABELS = {"sets": "multi-label", "grades": "query-ranking", "paths": "hierarchical"}
SHARED_BY_FALLBACK = {"fit_intercept", "passes"}
"""Settings of auto that its replacement has too."""
SEPARATORS = ("/", ":")
"""Texts that may separate the levels of hierarchical labels."""
MAX_EXAMINED_EXAMPLES = 4096
"""Examples of the first batch whose labels are examined."""
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


class ModelSettings(NamedTuple):
    """The choices that determine a model."""

    learner: Any = None
    """The command-line name of a learner, or an estimator; None for the default."""
    learner_settings: Mapping[str, Any] = NO_SETTINGS
    multiclass: str | None = None
    """The name of a scheme or ensemble, or binary; None to infer it from the task."""
    multiclass_settings: Mapping[str, Any] = NO_SETTINGS
    online_to_batch: Mapping[str, Any] | None = None
    """The settings of online-to-batch; None for a model without it."""
    run_settings: Mapping[str, Any] = NO_SETTINGS
    """random_state and shuffle, for every part of the model that has them."""
    default_multiclass: str = "kesler"
    """The scheme for more than two classes where `multiclass` is None."""
    flag: Callable[[str], str] = str
    """Formats the name of a setting for error messages."""


class Task(NamedTuple):
    """What is known of the data before the model is built."""

    classes: int | None = None
    """How many classes were found; None where that is not known."""
    labels: Literal["single", "sets", "paths", "grades"] = "single"
    """One label per example, a set of labels, a path in a tree of labels, or the grade of a document of a query."""
    separator: str | None = None
    """Separates the levels of paths."""
    on_cluster: bool = False
    """Whether models of several shards are mixed."""


UNKNOWN_TASK = Task()
"""The task before anything is known of the data."""


def build_model(settings: ModelSettings, task: Task, *, notify: Callable[[str], None] | None = None) -> Any:
    """Return a new model; InputError for settings that do not fit together, as far as their names show."""
    if settings.online_to_batch is not None:
        wrapper = scheme_registry.scheme_class("online-to-batch")
        own = {**settings.online_to_batch, **_select_run_settings(settings, wrapper)}
        model = wrapper(build_learner(settings, task), **own)
        _check_no_scheme_settings(settings, model)
        return model
    scheme = _choose_scheme(settings, task)
    if scheme == "binary":
        learner = build_learner(settings, task)
        _check_no_scheme_settings(settings, learner)
        return learner
    scheme_type = scheme_registry.scheme_class(scheme)
    if scheme in BATCH_SCHEMES:
        return _build_batch_ensemble(settings, task, scheme, scheme_type)
    found = {} if task.separator is None or scheme != "hierarchical" else {"separator": task.separator}
    learner = _build_inner_learner(settings, task, scheme, scheme_type, notify or _warn_of_default)
    own = _select_scheme_settings(settings, scheme, scheme_type, setting_defaults_of(learner))
    return scheme_type(learner, **{**found, **own, **_select_run_settings(settings, scheme_type)})


def build_learner(settings: ModelSettings, task: Task = UNKNOWN_TASK) -> Any:
    """Return the learner without its multiclass scheme or wrapper."""
    name = settings.learner
    if name is None:
        stable = settings.online_to_batch is not None
        name = FALLBACK_LEARNER if task.on_cluster else STABLE_LEARNER if stable else DEFAULT_LEARNER
    elif not isinstance(name, str):
        return name
    learner_type = learner_registry.learner_class(name)
    given = {**learner_registry.variant_settings(name), **settings.learner_settings}
    return learner_type(**given, **_select_run_settings(settings, learner_type))


def default_learner_inside(scheme_type: Any, scheme_settings: Mapping[str, Any]) -> str:
    """Return the name of the learner that a scheme with these settings uses where none is given."""
    return learner_registry.name_of(type(inner_learner_of(scheme_type(**scheme_settings))))


def inspect_task(batch: FileBatch, labels: list[Any] | None = None) -> Task:
    """Return the task that the first examples show. `labels` are those of all examples, where they are known."""
    parsed = batch.parsed
    if parsed.sets is not None:
        return Task(labels="sets")
    if parsed.groups is not None and parsed.groups.max() >= 0:
        return Task(labels="grades")
    labels = [label for label in (_first_labels(batch) if labels is None else labels) if label is not None]
    if any(isinstance(label, list) for label in labels):
        return Task(labels="sets")
    classes = len({str(label) for label in labels})
    separator = _find_separator(labels) if classes > 2 else None
    return Task(classes) if separator is None else Task(classes, "paths", separator)


def _choose_scheme(settings: ModelSettings, task: Task) -> str:
    """Return the name of the scheme, or binary for a learner that needs none."""
    name = settings.multiclass
    if name is None:
        if task.labels != "single":
            return SCHEMES_OF_LABELS[task.labels]
        if task.classes is None or task.classes <= 2 or _takes_many_classes(settings):
            return "binary"
        return settings.default_multiclass
    if name == "one-vs-all" and _takes_many_classes(settings, of_labels=True):
        return "binary"  # such a learner is one-vs-all by itself
    return name


def _takes_many_classes(settings: ModelSettings, *, of_labels: bool = False) -> bool:
    """Return whether the named learner takes more than two classes without a scheme."""
    if settings.learner is None:
        return False
    learner = settings.learner
    learner = learner_registry.learner_class(learner) if isinstance(learner, str) else learner
    return is_multiclass(learner) and (not of_labels or needs_two_classes(learner))


def _build_inner_learner(
    settings: ModelSettings, task: Task, scheme: str, scheme_type: Any, notify: Callable[[str], None]
) -> Any:
    """Return the learner for a scheme: arow where none is named and auto can't be used in the scheme."""
    if settings.learner is not None or task.on_cluster:
        return build_learner(settings, task)
    auto = learner_registry.learner_class(DEFAULT_LEARNER)
    own = _select_scheme_settings(settings, scheme, scheme_type, setting_defaults_of(auto))
    default = default_learner_inside(scheme_type, own)
    if default != DEFAULT_LEARNER:
        others = sorted(settings.learner_settings.keys() - SHARED_BY_FALLBACK)
        if others:
            raise InputError(
                f"{settings.flag(others[0])} is for {settings.flag('learner')} {DEFAULT_LEARNER}, which is for one"
                f" label each: leave it out, or {settings.flag('multiclass')}."
            )
        notify(f"{DEFAULT_LEARNER} can't be used with {settings.flag('multiclass')} {scheme}: using {default}")
    return build_learner(settings._replace(learner=default))


def _build_batch_ensemble(settings: ModelSettings, task: Task, scheme: str, scheme_type: Any) -> Any:
    """Return an ensemble of trees, or of the named learner, in Kesler's construction for more than two classes."""
    own = _select_scheme_settings(settings, scheme, scheme_type, ())
    own |= _select_run_settings(settings, scheme_type)
    if settings.learner is None:
        if settings.learner_settings:
            first = settings.flag(next(iter(settings.learner_settings)))
            raise InputError(f"{first} is a setting of a learner: name it by {settings.flag('learner')}.")
        return scheme_type(**own)
    if "estimator" not in setting_defaults_of(scheme_type):
        raise InputError(
            f"{scheme} is made of trees: leave out {settings.flag('learner')}, or use"
            f" {settings.flag('multiclass')} bagging."
        )
    named = settings._replace(multiclass=None, multiclass_settings=NO_SETTINGS, default_multiclass="kesler")
    return scheme_type(_build_member(named, task), **own)


def _build_member(settings: ModelSettings, task: Task) -> Any:
    learner = build_learner(settings)
    return build_model(settings, task) if needs_two_classes(learner) else learner


def _select_run_settings(settings: ModelSettings, estimator_type: Any) -> dict[str, Any]:
    """Return the run settings that a learner or scheme has."""
    own = setting_defaults_of(estimator_type)
    return {name: value for name, value in settings.run_settings.items() if name in own}


def _select_scheme_settings(
    settings: ModelSettings, scheme: str, scheme_type: Any, learner_settings: Any
) -> dict[str, Any]:
    """Return the given settings of the scheme; InputError for one that neither it nor the learner has."""
    own = setting_defaults_of(scheme_type)
    known = {name: value for name, value in settings.multiclass_settings.items() if name in own}
    unknown = [name for name in settings.multiclass_settings if name not in own and name not in learner_settings]
    if unknown:
        raise InputError(f"{settings.flag(unknown[0])} has no meaning for {scheme}: leave it out.")
    return known


def _check_no_scheme_settings(settings: ModelSettings, learner: Any) -> None:
    """Raise InputError for a setting of a scheme where there is no scheme."""
    own = setting_defaults_of(learner)
    for name in settings.multiclass_settings:
        if name not in own:
            purpose = "more than two classes" if name in CLASS_SETTINGS else "ensembles and networks"
            raise InputError(f"{settings.flag(name)} is for {purpose}: leave it out.")


def _first_labels(batch: FileBatch) -> list[Any]:
    """Return the distinct labels of the first examples of a batch."""
    found: dict[int, Any] = {}
    for i, key in enumerate(batch.parsed.keys[:MAX_EXAMINED_EXAMPLES].tolist()):
        if key not in found:
            try:
                found[key] = batch.parsed.label(i)
            except LabelError:  # raised again when the example is learned
                continue
    return list(found.values())


def _find_separator(labels: list[Any]) -> str | None:
    """Return what separates the levels of these labels: all contain it, and some share their first level."""
    if not all(isinstance(label, str) for label in labels):
        return None
    for separator in SEPARATORS:
        if all(separator in label.strip(separator) for label in labels):
            tops = {label.split(separator)[0] for label in labels}
            if len(tops) < len(labels):
                return separator
    return None


def _warn_of_default(message: str) -> None:
    import warnings

    warnings.warn(message, DefaultLearnerWarning, stacklevel=find_user_stacklevel())
