"""Structurally mutated model files: correct checksums, wrong content.

`python -m tests.helpers.model_file_mutations FAMILY FIRST COUNT` loads and uses COUNT mutants in this process. Each
mutant follows from its family and its number alone. The arrays of a model that loads lie between guard pages, so that
a read or write outside of them ends the process. `run` starts such processes, and starts again after the mutant that
ended one.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import novikoff
from novikoff import ModelFileError, NovikoffError
from novikoff._compiled.jit import NotInLibrary
from novikoff.model_file import NO_CHECKSUM, _build_content, from_bytes, to_bytes, to_header_and_tensors
from tests.helpers import learners, multiclass_schemes
from tests.helpers.guard_pages import GuardedArrays, has_guard_pages
from tests.helpers.paths import ROOT

SECONDS = 20  # for one mutant: an endless loop is a failure, too
MEMORY = 3 << 30  # bytes of address space beyond those in use at the beginning
LARGE = 1 << 20  # bytes of an array from which on it is not moved between guard pages
ROWS, COLUMNS = 24, 5

# --- Models ---


def _table(classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.8)
    return X, np.arange(ROWS) % classes


def _learner(name: str) -> Any:
    X, y = _table()
    return learners.make_learner(name).fit(learners.clip_to_range(name, X), y)


def _learn_named(name: str) -> Any:
    """Learn a model with feature names, one example at a time."""
    model = learners.make_learner(name)
    for t in range(8):
        model.learn_one({"a": 1.0, f"b{t % 3}": 1.0}, "yes" if t % 2 else "no")
    return model


def _scheme(name: str, inner: str = "perceptron") -> Any:
    learner = multiclass_schemes.BASE_LEARNERS[inner]
    X, y = multiclass_schemes.draw_labelled(name, 0, ROWS, 4, columns=COLUMNS)
    return multiclass_schemes.make_scheme(name, learner).fit(multiclass_schemes.clip_to_range(learner, X), y)


def _fitted(make: Callable[[], Any], classes: int = 3) -> Any:
    return make().fit(*_table(classes))


def _ranking(**settings: Any) -> Any:
    X, y = _table(3)
    return novikoff.QueryRanking(novikoff.Perceptron(shuffle=False), **settings).fit(X, y, np.arange(ROWS) // 4)


FILES = {
    "csv": "y,a,b,c\n" + "".join(f"{'no' if k % 2 else 'yes'},{k},w{k % 3},{k / 7:.3f}\n" for k in range(20)),
    "text": "".join(f"{'ham' if k % 2 else 'spam'}\tword{k % 5} other{k % 3}\n" for k in range(20)),
    "jsonl": "".join(f'{{"label": "l{k % 2}", "x": {k}, "c": "v{k % 3}"}}\n' for k in range(20)),
    "vw": "".join(f"{1 if k % 2 else -1} |n f{k % 4}:{k} g |m h{k % 3}\n" for k in range(20)),
    "svmlight": "".join(f"{1 if k % 2 else -1} {1 + k % 3}:{k} 5:1\n" for k in range(20)),
}
MORE = {
    "csv": ["--label", "y"],
    "text": ["--hash-bits", "6"],
    "jsonl": ["--label", "label", "--hash-bits", "6"],
    "vw": ["--hash-bits", "6", "--interactions", "nm", "--keep-names", "1"],
    "svmlight": [],
}


def _from_file(kind: str, *more: str) -> Any:
    from novikoff.cli.main import main

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        data, model = Path(folder, f"data.{kind}"), Path(folder, "it.model")
        data.write_text(FILES[kind])
        arguments = ["learn", str(data), "--save", str(model), "--format", kind, "--quiet", *MORE[kind], *more]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main(arguments)
        if code:
            raise RuntimeError(f"{arguments} gives {code}: {said.getvalue()}")
        return novikoff.load(model)


LINEAR = [name for name in learners.ADDITIVE_LEARNERS if name != "voted-perceptron"]
BOOLEAN = [name for name in learners.OTHER_LEARNERS if name.startswith(("winnow", "balanced", "elim", "halv", "rect"))]
KERNELS = [name for name in learners.OTHER_LEARNERS if name.startswith("kernel")]
METHODS = ("random-stopping", "controlled-testing", "longest-survivor", "penalised", "average", "vote")


def _methods() -> dict[str, Callable[[], Any]]:
    def make(method: str) -> Callable[[], Any]:
        return lambda: novikoff.OnlineToBatch(novikoff.Perceptron(shuffle=False), method=method).fit(*_table())

    found = {method: make(method) for method in METHODS}
    found["next-stretch"] = lambda: novikoff.OnlineToBatch(
        novikoff.Perceptron(shuffle=False), method="next-stretch", max_mistakes=50
    ).fit(*_table())
    return found


def _bind(function: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return lambda: function(*arguments)


FAMILIES: dict[str, dict[str, Callable[[], Any]]] = {
    "linear": {name: _bind(_learner, name) for name in LINEAR}
    | {f"named-{name}": _bind(_learn_named, name) for name in ("perceptron", "arow", "sgd-logistic-adagrad")},
    "voted": {name: _bind(_learner, name) for name in ["voted-perceptron"]}
    | {"named": _bind(_learn_named, "voted-perceptron")},
    "boolean": {name: _bind(_learner, name) for name in BOOLEAN}
    | {f"named-{name}": _bind(_learn_named, name) for name in ("elimination", "winnow", "rectangle")},
    "kernels": {name: _bind(_learner, name) for name in KERNELS}
    | {
        "three-classes": lambda: _fitted(lambda: novikoff.KernelPerceptron(budget=7)),
        "named": _bind(_learn_named, "kernel-perceptron"),
    },
    "schemes": {name: _bind(_scheme, name) for name in multiclass_schemes.SCHEMES}
    | {"one-vs-all-sgd": _bind(_scheme, "one-vs-all", "sgd-logistic-adagrad")},
    "auto": {
        "binary": lambda: novikoff.Auto(shuffle=False).fit(*_table()),
        "classes": lambda: novikoff.Auto(shuffle=False).fit(*_table(3)),
        "shuffled": lambda: novikoff.Auto(passes=2).fit(*_table()),
        "named": _bind(_learn_named, "auto"),
        "kesler": lambda: novikoff.Kesler(novikoff.Auto(shuffle=False)).fit(*_table(4)),
        "late-class": lambda: novikoff.Auto().partial_fit(*_table()).partial_fit(*_table(3, 1)),
    },
    "network": {
        "plain": lambda: _fitted(lambda: novikoff.MultilayerPerceptron(hidden_layer_sizes=(3,))),
        "deep": lambda: _fitted(
            lambda: novikoff.MultilayerPerceptron(hidden_layer_sizes=(3, 2), batch_size=7, schedule="sqrt")
        ),
    },
    "ensembles": {
        "tree": lambda: _fitted(lambda: novikoff.DecisionTree(max_depth=3)),
        "adaboost": lambda: _fitted(lambda: novikoff.AdaBoost(n_estimators=5), 2),
        "adaboost-perceptron": lambda: _fitted(lambda: novikoff.AdaBoost(novikoff.Perceptron(), n_estimators=3), 2),
        "bagging": lambda: _fitted(lambda: novikoff.Bagging(n_estimators=3, voting="soft")),
        "bagging-arow": lambda: _fitted(lambda: novikoff.Bagging(novikoff.AROW(), n_estimators=2), 2),
        "forest": lambda: _fitted(lambda: novikoff.RandomForest(n_estimators=4)),
        "svm": lambda: _fitted(novikoff.MulticlassSVM),
    },
    "online-ensembles": {
        "bagging": lambda: _fitted(lambda: novikoff.OnlineBagging(novikoff.Perceptron(shuffle=False), n_estimators=3)),
        "boosting": lambda: _fitted(
            lambda: novikoff.OnlineBoosting(novikoff.Perceptron(shuffle=False), n_estimators=3)
        ),
    },
    "online-to-batch": _methods(),
    "ranking": {update: (lambda update=update: _ranking(update=update)) for update in ("top", "uniform")},
    "files": {kind: _bind(_from_file, kind) for kind in FILES}
    | {"csv-auto": _bind(_from_file, "csv", "--learner", "auto")},
}


@dataclass
class Sample:
    """A valid model file, taken apart."""

    name: str
    header: dict[str, Any]
    tensors: dict[str, Any]
    numbers: list[int] = field(default_factory=list)
    """Sizes that indices of this file may be compared with."""


def samples(family: str) -> list[Sample]:
    found = []
    for name, make in FAMILIES[family].items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header, tensors = to_header_and_tensors(make())
        header = json.loads(json.dumps(header))
        sizes = {size for array in tensors.values() for size in array.shape} | {int(header.get("features", 0))}
        found.append(Sample(name, header, tensors, sorted({n + d for n in sizes for d in (-1, 0, 1)})))
    return found


# --- Mutations ---


def _number(rng: Any, sample: Sample, array: Any, old: Any) -> Any:
    if array.dtype.kind == "f":
        choices = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30, -1e30, 1e300, 5e-324, 2.0**63, old + 1, -old, 0.5]
        with np.errstate(over="ignore"):
            return np.array(choices[rng.integers(len(choices))]).astype(array.dtype)
    limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.iinfo(np.int8)
    choices = [0, 1, -1, 2, int(old) + 1, int(old) - 1, 2 * int(old), 2**31, 2**32, 2**40, 2**62, 4095, 4096, 4097]
    choices += [int(limits.max), int(limits.min), int(limits.max) - 1, *sample.numbers]
    value = choices[rng.integers(len(choices))]
    return min(max(value, int(limits.min)), int(limits.max))


def change_number(rng: Any, sample: Sample, header: Any, tensors: dict[str, Any]) -> None:
    names = [name for name, array in tensors.items() if array.size]
    if not names:
        return
    # Short arrays are counts and offsets, of which there are few: each kind of array is as likely as any other.
    name = names[rng.integers(len(names))]
    array = tensors[name] = tensors[name].copy()
    if name in ("names", "slot_names"):
        array.reshape(-1)[rng.integers(array.size)] = np.array(rng.integers(256)).astype(array.dtype)
        return
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(min(array.size, 8) if rng.random() < 0.5 else array.size))
        array.reshape(-1)[at] = _number(rng, sample, array, array.reshape(-1)[at])


def change_shape(rng: Any, sample: Sample, header: Any, tensors: dict[str, Any]) -> None:
    name = list(tensors)[rng.integers(len(tensors))]
    array = tensors[name]
    if array.ndim == 0:
        return
    way = int(rng.integers(6))
    if way == 0:
        tensors[name] = array[:-1]
    elif way == 1:
        tensors[name] = np.concatenate([array, array[-1:]])
    elif way == 2:
        tensors[name] = array[:0]
    elif way == 3:
        tensors[name] = array.reshape(-1, 1) if array.ndim == 1 else array.reshape(-1)
    elif way == 4:
        tensors[name] = np.zeros((0, 2**40), array.dtype)
    else:
        tensors[name] = array.reshape(-1)[:1].reshape(()) if array.size else array
    tensors[name] = np.ascontiguousarray(tensors[name]) if tensors[name].ndim else tensors[name]


def change_dtype(rng: Any, sample: Sample, header: Any, tensors: dict[str, Any]) -> None:
    name = list(tensors)[rng.integers(len(tensors))]
    kinds = ("float64", "float32", "float16", "int64", "uint64", "int32", "uint32", "int8", "uint8", "bool")
    with np.errstate(all="ignore"):
        tensors[name] = tensors[name].astype(kinds[rng.integers(len(kinds))])


def change_names(rng: Any, sample: Sample, header: Any, tensors: dict[str, Any]) -> None:
    """Leave an array out, add one, or exchange two."""
    names = list(tensors)
    a, b = names[rng.integers(len(names))], names[rng.integers(len(names))]
    way = int(rng.integers(3))
    if way == 0:
        del tensors[a]
    elif way == 1:
        tensors[("more.x", "member.0.x", "member.x", "member.", "x", "trees.starts", "")[rng.integers(7)]] = tensors[a]
    else:
        tensors[a], tensors[b] = tensors[b], tensors[a]


def _nest_lists(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


ODD: list[Any] = [
    None, True, False, 0, 1, -1, 2, 10**9, 2**31, 2**53, 2**63, 10**30, 0.5, -0.0, 1e308, np.nan, np.inf,
    "", "x", "perceptron", "float32", "float64", "..errors", "cli.main", "tab", "n", "0", [], [None], [None, None],
    [1, 2],
    ["a", "b"], ["a", "a"], [[1]], [0, 1, 2], {}, {"a": 1}, {"name": "halving", "settings": {}},
    {"name": "store", "settings": {}}, {"name": ["perceptron"], "settings": {}}, {"is": "rbf"}, {"python": "f"},
]  # fmt: skip


def change_header(rng: Any, sample: Sample, header: Any, tensors: dict[str, Any]) -> None:
    """Give some field, however deep, another value; or take it away."""
    places = list(_places(header))
    holder, key = places[rng.integers(len(places))]
    way = rng.random()
    if way < 0.1:
        del holder[key]
    elif way < 0.2 and isinstance(holder, dict):
        holder[("format", "reading", "shuffle", "rest", "members", "labels", "x")[rng.integers(7)]] = copy.deepcopy(
            holder[key]
        )
    elif way < 0.25:
        holder[key] = _nest_lists(int(rng.choice([3, 90, 400])))
    elif way < 0.4 and type(holder[key]) is int:
        holder[key] += int(rng.integers(-2, 3))
    elif way < 0.5 and isinstance(holder[key], list) and holder[key]:
        holder[key].append(holder[key][0]) if rng.random() < 0.5 else holder[key].pop()
    else:
        holder[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])  # the next change may be within it


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(items):
        if key != "ledger":
            yield value, key
            yield from _places(one)


MUTATIONS = [
    change_number, change_number, change_number, change_number, change_number, change_header, change_header,
    change_shape, change_dtype, change_names,
]  # fmt: skip


def mutant(sample: Sample, number: int) -> bytes:
    """Return the content of a file: that of the sample, with some changes."""
    rng = np.random.default_rng([number, len(sample.name)])
    header, tensors = json.loads(json.dumps(sample.header)), dict(sample.tensors)
    for _ in range(1 + int(rng.integers(3) == 0)):
        MUTATIONS[rng.integers(len(MUTATIONS))](rng, sample, header, tensors)
        if not tensors or not header:
            break
    content = _build_content(header, tensors)
    return content if rng.random() > 0.03 else _change_header(content, rng)


def _change_header(content: bytes, rng: Any) -> bytes:
    """Return the arrays with a changed description in the header."""
    size = int.from_bytes(content[:8], "little")
    outer = json.loads(content[8 : 8 + size])
    meta = json.loads(outer["__metadata__"]["novikoff"])
    outer["__metadata__"]["novikoff"] = json.dumps({**meta, "checksum": NO_CHECKSUM})
    names = [name for name in outer if name != "__metadata__"]
    if names:
        one = outer[names[rng.integers(len(names))]]
        field_name = ("dtype", "shape", "data_offsets")[rng.integers(3)]
        one[field_name] = {
            "dtype": ["BF16", "F8_E4M3", "C64", "X", 3, None][rng.integers(6)],
            "shape": [[2**40], [2**62, 4], [-1], [0, 2**63], "x", [1.5], []][rng.integers(7)],
            "data_offsets": [[0, 2**40], [5, 1], [-1, 0], [0], "x"][rng.integers(5)],
        }[field_name]
    text = json.dumps(outer, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    made = len(text).to_bytes(8, "little") + text + content[8 + size :]
    return with_checksum(made)


def with_checksum(content: bytes) -> bytes:
    """Return the content with the correct checksum in place of the placeholder."""
    import hashlib

    return content.replace(NO_CHECKSUM.encode(), hashlib.sha256(content).hexdigest().encode(), 1)


# --- Use ---


def enclose(value: Any, name: str, guarded: GuardedArrays, late: bool, depth: int = 0) -> Any:
    """All arrays of a state, between guard pages."""
    if isinstance(value, np.ndarray):
        if not 0 < value.nbytes < LARGE or value.dtype.hasobject:
            return value
        placed = guarded.memory(name, late).place(value.shape, value.dtype, late=late)
        placed[...] = value
        return placed
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        fields = {n: enclose(v, f"{name}.{n}", guarded, late, depth + 1) for n, v in value._asdict().items()}
        return value._replace(**fields)
    if isinstance(value, dict) and depth < 3:
        return {n: enclose(v, f"{name}.{n}", guarded, late, depth + 1) for n, v in value.items()}
    if is_dataclass(value) or hasattr(value, "book") or hasattr(value, "moments"):
        for n, v in list(vars(value).items()):
            if n not in ("labels", "names", "encoding", "reading", "settings"):
                setattr(value, n, enclose(v, f"{name}.{n}", guarded, late, depth + 1))
    return value


def uses(model: Any) -> Iterator[Callable[[], Any]]:
    """Use a loaded model in every supported way."""
    state = model._require_fitted() if hasattr(model, "_require_fitted") else model._working_model()._require_fitted()
    features, names, labels = state.features, state.names, getattr(state, "labels", None)
    known = labels if isinstance(labels, list) else labels.known()
    first = next(iter(names.columns)) if names is not None and len(names) else 0
    X = np.ones((2, features)) if 0 < features < 5000 else None
    some = {first: 1.0} if features or names is not None else {}
    raw = {"a": 1.0, "b": "w1"} if getattr(state, "reading", None) is not None and names is not None else some
    kind = type(model).__name__
    label = {"MultiLabel": known[:1], "LabelRanking": known[:2]}.get(kind, known[0] if known else 1)
    if X is not None:
        yield lambda: model.predict(X)
        yield lambda: model.decision_function(X)
    if hasattr(model, "predict_one") and kind != "QueryRanking":
        for x in (some, raw, "word1 other2"):
            yield lambda x=x: model.predict_one(x)
            yield lambda x=x: model.learn_one(x, label)
    if X is not None and hasattr(model, "partial_fit"):
        more = {"qid": [0, 0]} if kind == "QueryRanking" else {}
        yield lambda: model.partial_fit(X, [label, label] if kind != "QueryRanking" else [0, 1], **more)
        yield lambda: model.predict(X)
    yield from (lambda name=name: getattr(model, name) for name in ATTRIBUTES)
    yield lambda: model.ledger_.as_dict()  # noqa: PLW0108 - ledger_ may not be there
    yield from (lambda name=name: getattr(model, name)() for name in METHODS_WITHOUT_ARGUMENTS)
    yield lambda: model._build_guarantee(0.95)
    yield lambda: from_bytes(to_bytes(model), "again")


ATTRIBUTES = (
    "coef_", "intercept_", "classes_", "feature_importances_", "n_features_in_", "feature_names_in_", "bound_",
    "stop_reason_", "n_support_", "dual_coef_", "coefs_", "forecast_weights_", "formula_", "box_", "out_of_bag_",
    "estimator_errors_", "hypothesis_",
)  # fmt: skip


def outcome(content: bytes, guarded: GuardedArrays | None, late: bool, seen: Counter[str]) -> str:
    """Return `refused`, `works`, or a description of the failure."""
    try:
        model = from_bytes(content, "mutant")
    except ModelFileError:
        return "refused"
    except BaseException as problem:
        return f"load: {type(problem).__name__}: {problem}"
    state = model._require_fitted()
    if guarded is not None:
        for name, value in list(vars(state).items()) if hasattr(state, "__dict__") else ():
            if name not in ("labels", "names", "encoding", "reading", "settings", "features"):
                setattr(state, name, enclose(value, name, guarded, late))
    for number, use in enumerate(uses(model)):
        try:
            use()
        except NotInLibrary:
            seen["not in the library"] += 1
        except (NovikoffError, AttributeError) as problem:
            if isinstance(problem, AttributeError) and "object has no attribute" in str(problem):
                missing = str(problem).rpartition("'")[0].rpartition("'")[2]
                if missing not in ATTRIBUTES and missing not in OPTIONAL:
                    return f"use {number}: AttributeError: {problem}"
        except BaseException as problem:
            return f"use {number}: {type(problem).__name__}: {problem}"
    if guarded is not None and guarded.list_overruns():
        return f"wrote beside {guarded.list_overruns()}"
    return "works"


METHODS_WITHOUT_ARGUMENTS = ("describe", "bounds", "_describe_guarantee", "_scheme_info", "_run_facts")
OPTIONAL = (
    "ledger_",
    "describe",
    "bounds",
    "_describe_guarantee",
    "_build_guarantee",
    "_scheme_info",
    "_run_facts",
    "decision_function",
)


def main(families: str, first: int, count: int) -> None:
    """Report each mutant before it is tried, and what became of all of them. `families` are separated by commas; the
    mutants of one come after those of another."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    guarded = GuardedArrays() if has_guard_pages() else None
    seen: Counter[str] = Counter()
    for family in families.split(","):
        every = samples(family)
        limit_memory()
        for number in range(first, first + count):
            sample = every[number % len(every)]
            print(json.dumps({"try": number, "family": family, "sample": sample.name}), flush=True)
            content = mutant(sample, number)
            signal.alarm(SECONDS)
            found = outcome(content, guarded, bool(number & 1), seen)
            signal.alarm(0)
            seen[found if found in ("refused", "works") else "failed"] += 1
            if found not in ("refused", "works"):
                print(json.dumps({"failed": f"{family} {number} ({sample.name}): {found}"}), flush=True)
    print(json.dumps({"seen": dict(seen)}), flush=True)


def limit_memory() -> None:
    """Let allocations fail that are much larger than a model needs."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.RLIM_INFINITY))


def run(families: str, first: int, count: int) -> tuple[Counter[str], list[str]]:
    """Try `count` mutants of each family in other processes; return the counts of outcomes, and the failures.

    After the death of a process the next one goes on, with the families that were not done.
    """
    seen: Counter[str] = Counter()
    failures: list[str] = []
    waiting = [(family, first, count) for family in families.split(",")]
    together = families
    while waiting:
        range_arguments = [str(waiting[0][1]), str(waiting[0][2])]
        command = [sys.executable, "-m", "tests.helpers.model_file_mutations", together, *range_arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        last: dict[str, Any] = {}
        for line in done.stdout.splitlines():
            said = json.loads(line)
            if "try" in said:
                last = said
                seen["tried"] += 1
            elif "failed" in said:
                failures.append(said["failed"])
            else:
                seen.update(said["seen"])
        if done.returncode == 0:
            waiting = waiting[len(together.split(",")) :]
        elif "try" not in last:
            raise RuntimeError(done.stderr)
        else:
            failures.append(f"{last['family']} {last['try']} ({last['sample']}): ended by {_reason(done)}")
            while waiting[0][0] != last["family"]:
                waiting.pop(0)
            family, start, left = waiting.pop(0)
            rest = start + left - last["try"] - 1
            waiting = [(family, last["try"] + 1, rest), *waiting] if rest else waiting
        together = waiting[0][0] if waiting else ""
    return seen, failures


def _reason(done: Any) -> str:
    return signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr.strip()[-300:]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
