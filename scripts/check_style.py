"""Check names and structure of the repository; `make check` runs it. Only the standard library is needed.

    python scripts/check_style.py             check everything
    python scripts/check_style.py --write     lower the baseline of dialect words to the counts of today

Rules that always fail:

- duplicate class: two classes in `src` have the same name.
- large folder: a folder of `src` has more than 20 Python files.
- private access: a package uses `obj._name`, where `_name` belongs to another package of `src/novikoff`. The internal
  interface of models is `novikoff.base.internals` and the modules named in its docstring.

Dialect words (`DIALECT`) fail where a file has more of them than `style_baseline.json` allows. Counts may only shrink.
A line with `style: allow` in a comment is skipped by the rules for words and private access: give the reason there.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE_FOLDER = "src"
PACKAGE_FOLDER = "src/novikoff"
BASELINE_FILE = "scripts/style_baseline.json"
MAX_FOLDER_FILES = 20
ALLOW_MARK = "style: allow"

DIALECT = {
    "told": "name the action: labels are given, predicted, learned; classes are distinguished",
    "whoever": "name the agent: the caller, the client, the reader",
    "nobody": "name the agent: no thread, no caller",
    "somebody": "name the agent: a client, another process",
    "anew": "write 'again' or 'from the start'",
    "so many": "write the number or its name: `count` rows, n features",
    r"(?<!there )is no(?! longer| more\b)": "write 'is not a …' or 'has no …'",
    "came": "name the event: the data has 3 classes, the request arrived, got 'x'",
    "beforehand": "write 'in advance', or say before what",
    "at a look": "write 'at a glance' or name the check",
    "otherwise than": "write 'differently from', or give the count as 'wrong'",
    "house": "the field's word is registry",
    "door": "the field's word is validation",
    "council": "the field's words are weighted majority",
    "onlooker": "the field's word is progress callback",
    "luck": "the field's words are random numbers, uniform, rng",
    "spelled": "write 'text', 'format' or 'written'",
    "by heart": "write 'cached' or 'stored'",
}
"""Words and phrases of the former private vocabulary, as regular expressions, and what to write instead."""
REASONS = tuple(DIALECT.values())
DIALECT_PATTERN = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(f'({word})' for word in DIALECT)})(?![A-Za-z])", re.IGNORECASE
)

TEXT_SUFFIXES = {".py", ".md", ".js", ".html", ".css", ".ipynb", ".toml", ".service"}
UNCHECKED_NAMES = {"check_style.py", "test_check_style.py"}
"""Names of the files that list the words themselves."""

NAMED_TUPLE_API = {"_replace", "_fields", "_asdict", "_make", "_field_defaults"}
"""Documented members of named tuples: the underscore only avoids clashes with field names."""


class ClassFacts(NamedTuple):
    """A class of the package: where it is, its base classes, and the private names that it defines."""

    package: str
    bases: tuple[str, ...]
    private_names: frozenset[str]


class Access(NamedTuple):
    """An access to a private name of an object other than `self`."""

    name: str
    line: int
    receiver: str
    """The object, where it is a plain name; otherwise ''."""
    class_name: str
    """The class around the access; '' outside of classes."""


# --- Folders and classes ---


def find_large_folders(files: Iterable[str], limit: int = MAX_FOLDER_FILES) -> list[str]:
    """Return a message for each folder of `src` with more than `limit` Python files."""
    counts = Counter(str(Path(file).parent) for file in files if _is_source(file))
    return [
        f"{folder}: {count} Python files in one folder, at most {limit} are allowed. Move some to a subfolder."
        for folder, count in sorted(counts.items())
        if count > limit
    ]


def find_duplicate_classes(trees: Mapping[str, ast.Module]) -> list[str]:
    """Return a message for each class name that occurs more than once."""
    places = defaultdict(list)
    for path, node in _iter_classes(trees):
        places[node.name].append(f"{path}:{node.lineno}")
    return [
        f"{found[0]}: class {name} has the same name as in {', '.join(found[1:])}."
        for name, found in sorted(places.items())
        if len(found) > 1
    ]


# --- Private access ---


def find_private_access(trees: Mapping[str, ast.Module], texts: Mapping[str, str]) -> list[str]:
    """Return a message for each access to a private name of another package of `src/novikoff`."""
    classes = {node.name: _describe_class(path, node) for path, node in _iter_classes(trees)}
    owners = _find_owners(trees, classes)
    return [
        f"{path}:{access.line}: uses {access.name} of another package ({', '.join(sorted(owners[access.name]))})."
        " Use novikoff.base.internals, or make the name public."
        for path, tree in sorted(trees.items())
        for access in _iter_accesses(tree)
        if package_of(path) not in owners.get(access.name, {package_of(path)})
        and access.receiver not in _ancestors(access.class_name, classes)
        and ALLOW_MARK not in texts[path].splitlines()[access.line - 1]
    ]


def package_of(path: str) -> str:
    """Return the top-level package, or module, of `src/novikoff` in which a file lies."""
    return Path(path).relative_to(PACKAGE_FOLDER).parts[0].removesuffix(".py")


def _iter_classes(trees: Mapping[str, ast.Module]) -> Iterator[tuple[str, ast.ClassDef]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield path, node


def _describe_class(path: str, node: ast.ClassDef) -> ClassFacts:
    bases = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
    names = (base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in bases)
    return ClassFacts(package_of(path), tuple(names), frozenset(filter(_is_private, _iter_class_names(node))))


def _iter_class_names(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that a class defines: methods, attributes, slots, and what methods assign to self."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield part.name
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and _is_own(part.value):
            yield part.attr
        elif isinstance(part, ast.Assign) and any(getattr(t, "id", "") == "__slots__" for t in part.targets):
            yield from (str(c.value) for c in ast.walk(part.value) if isinstance(c, ast.Constant))


def _find_owners(trees: Mapping[str, ast.Module], classes: Mapping[str, ClassFacts]) -> dict[str, set[str]]:
    """Return the packages that define each private name first: a class that overrides a name doesn't own it."""
    owners = defaultdict(set)
    for name, facts in classes.items():
        above = _ancestors(name, classes) - {name}
        inherited = set[str]().union(*(classes[other].private_names for other in above if other in classes))
        for private in facts.private_names - inherited:
            owners[private].add(facts.package)
    for path, tree in trees.items():
        for name in filter(_is_private, _iter_module_names(tree)):
            owners[name].add(package_of(path))
    return dict(owners)


def _iter_module_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def _ancestors(name: str, classes: Mapping[str, ClassFacts]) -> set[str]:
    """Return the class and all classes that it inherits from, by name."""
    found, pending = set[str](), [name]
    while pending:
        one = pending.pop()
        if one and one not in found:
            found.add(one)
            pending += classes[one].bases if one in classes else ()
    return found


def _iter_accesses(tree: ast.Module) -> Iterator[Access]:
    stack = list[tuple[ast.AST, str]]([(tree, "")])
    while stack:
        node, around = stack.pop()
        yield from (Access(*found, around) for found in _read_access(node))
        around = node.name if isinstance(node, ast.ClassDef) else around
        stack += [(child, around) for child in ast.iter_child_nodes(node)]


def _read_access(node: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Yield private names that this node uses: as an attribute, by an import, or as a text in getattr."""
    if isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node.value):
        yield node.attr, node.end_lineno or node.lineno, getattr(node.value, "id", "")
    elif isinstance(node, ast.ImportFrom):
        yield from ((alias.name, node.lineno, "") for alias in node.names if _is_private(alias.name))
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr", "delattr"):
        texts = [c.value for c in node.args[1:2] if isinstance(c, ast.Constant) and isinstance(c.value, str)]
        if not _is_own(node.args[0]):
            yield from ((text, node.lineno, "") for text in texts if _is_private(text))


def _is_own(node: ast.AST) -> bool:
    """Whether this is `self`, `cls`, `type(self)` or `super()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "super" or (node.func.id == "type" and len(node.args) == 1 and _is_own(node.args[0]))
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE_API


# --- Words ---


class WordUse(NamedTuple):
    line: int
    text: str
    reason: str


def find_words(text: str) -> list[WordUse]:
    """Return the uses of dialect words in a text; parts of snake_case names count as words."""
    found, lines = list[WordUse](), text.split("\n")
    for use in DIALECT_PATTERN.finditer(text):
        number = text.count("\n", 0, use.start())
        if ALLOW_MARK not in lines[number]:
            found.append(WordUse(number + 1, use[0], REASONS[(use.lastindex or 0) - 1]))
    return found


def compare_with_baseline(texts: Mapping[str, str], baseline: Mapping[str, int]) -> list[str]:
    """Return a message for each use of a dialect word in files that have more of them than the baseline allows."""
    messages = list[str]()
    for path, text in sorted(texts.items()):
        uses, allowed = find_words(text), baseline.get(path, 0)
        if len(uses) > allowed:
            messages.append(f"{path}: {len(uses)} dialect words, at most {allowed} are allowed:")
            messages += [f"{path}:{use.line}: {use.text!r}: {use.reason}." for use in uses]
    return messages


def count_words(texts: Mapping[str, str]) -> dict[str, int]:
    """Return the number of dialect words of each file that has any."""
    return {path: count for path, text in sorted(texts.items()) if (count := len(find_words(text)))}


def lower_baseline(texts: Mapping[str, str], baseline: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of today as the new baseline; ValueError where there are more words than before in total.

    Files may be moved: only the total must not grow.
    """
    counts, before = count_words(texts), sum(baseline.values())
    if sum(counts.values()) > before:
        raise ValueError(f"{sum(counts.values())} dialect words, but the baseline has {before}: it may only shrink.")
    return counts


# --- Files ---


def list_files(root: Path = ROOT) -> list[str]:
    """Return the files of the repository that git knows or would add, as paths from its root."""
    listed = subprocess.run(
        # safe.directory: the checkout may belong to another user, as in containers. Files are only listed.
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    return sorted(file for file in set(listed) if (root / file).is_file())


def _is_source(file: str) -> bool:
    return file.startswith(f"{SOURCE_FOLDER}/") and file.endswith(".py")


def _is_prose(file: str) -> bool:
    return Path(file).suffix in TEXT_SUFFIXES and Path(file).name not in UNCHECKED_NAMES


def check_repository(root: Path = ROOT) -> tuple[list[str], int]:
    """Return all messages, and the number of dialect words that are left."""
    files = list_files(root)
    texts = {file: (root / file).read_text(encoding="utf-8") for file in files if _is_source(file) or _is_prose(file)}
    trees = {file: ast.parse(texts[file]) for file in files if _is_source(file)}
    prose = {file: text for file, text in texts.items() if _is_prose(file)}
    baseline = json.loads((root / BASELINE_FILE).read_text(encoding="utf-8"))
    messages = [
        *find_large_folders(files),
        *find_duplicate_classes(trees),
        *find_private_access(trees, texts),
        *compare_with_baseline(prose, baseline),
    ]
    return messages, sum(count_words(prose).values())


def write_baseline(root: Path = ROOT) -> int:
    """Lower the baseline to the counts of today; return their sum."""
    path = root / BASELINE_FILE
    prose = {file: (root / file).read_text(encoding="utf-8") for file in list_files(root) if _is_prose(file)}
    counts = lower_baseline(prose, json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(counts, indent=0) + "\n", encoding="utf-8")
    return sum(counts.values())


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    if arguments == ["--write"]:
        print(f"{BASELINE_FILE}: {write_baseline()} dialect words")
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    messages, words = check_repository()
    print(*messages, sep="\n", end="\n" if messages else "")
    print(f"style: {len(messages)} problems; {words} dialect words are left in the baseline.")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
