"""Provenance in model files: on request only, and verified on loading."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from novikoff import Perceptron, __version__, load, provenance, save
from novikoff.cli.main import main
from novikoff.errors import InputError, ModelFileError
from novikoff.model_file import read_provenance, to_bytes
from novikoff.schema import SchemaError

A = "+1 1:1 2:1\n-1 3:1\n+1 1:1\n"
B = "-1 3:1 4:1\n+1 2:1\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    Path("a.svm").write_text(A)
    Path("b.svm").write_text(B)
    return tmp_path


def learn(*arguments: str) -> int:
    return main(["learn", "--learner", "perceptron", "--quiet", *arguments])


def runs(path: str) -> Any:
    found = read_provenance(path)
    assert found is not None
    return found["runs"]


@pytest.mark.usefixtures("data")
def test_without_the_option_a_file_has_no_provenance() -> None:
    assert learn("a.svm", "b.svm", "--save", "ab.model") == 0
    assert learn("a.svm", "--save", "a.model", "--provenance") == 0
    assert main(["learn", "--quiet", "b.svm", "--resume", "a.model", "--save", "resumed.model"]) == 0
    assert read_provenance("ab.model") is None
    assert Path("resumed.model").read_bytes() == Path("ab.model").read_bytes()
    assert to_bytes(load("a.model")) != Path("a.model").read_bytes()


def test_version_time_and_digests_are_stored(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert learn("a.svm", str(data / "b.svm"), "--save", "m.model", "--provenance", "--passes", "2") == 0
    [run] = runs("m.model")
    assert (run["novikoff"], run["created"]) == (__version__, "1970-01-02T00:00:00Z")
    wanted = [("a.svm", A), ("b.svm", B)]  # names without folders: paths may be private
    assert run["files"] == [
        {"name": name, "bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in wanted
    ]
    first = Path("m.model").read_bytes()
    assert learn("a.svm", str(data / "b.svm"), "--save", "m.model", "--provenance", "--passes", "2") == 0
    assert Path("m.model").read_bytes() == first


@pytest.mark.usefixtures("data")
def test_a_resumed_model_keeps_its_earlier_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert learn("a.svm", "--save", "m.model", "--provenance") == 0
    assert main(["learn", "--quiet", "b.svm", "--resume", "m.model", "--save", "m.model", "--provenance"]) == 0
    assert [[file["name"] for file in run["files"]] for run in runs("m.model")] == [["a.svm"], ["b.svm"]]
    capsys.readouterr()
    assert main(["inspect", "m.model"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("provenance  novikoff") == 2
    assert hashlib.sha256(A.encode()).hexdigest() in shown
    assert main(["inspect", "m.model", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["provenance"]["runs"]) == 2


@pytest.mark.usefixtures("data")
def test_built_in_data_has_no_digest() -> None:
    assert main(["learn", "--quiet", "breast-cancer", "--save", "m.model", "--provenance"]) == 0
    assert runs("m.model")[0]["files"] == [{"name": "breast-cancer"}]


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_ensembles_store_provenance() -> None:
    saved = ["--save", "m.model", "--provenance", "--quiet", "--multiclass", "bagging", "--n-estimators", "2"]
    assert main(["learn", "breast-cancer", *saved]) == 0
    assert runs("m.model")[0]["novikoff"] == __version__


@pytest.mark.usefixtures("data")
def test_a_file_that_changes_while_it_is_read_has_no_digest() -> None:
    seen = provenance.read_statuses(["a.svm", "b.svm"])
    Path("a.svm").write_text(A + A)
    Path("b.svm").unlink()
    run, changed = provenance.describe_run("1", seen)
    assert changed == ["a.svm", "b.svm"]
    assert run["files"] == [{"name": "a.svm"}, {"name": "b.svm"}]


@pytest.mark.usefixtures("data")
def test_the_option_needs_a_file_to_save(capsys: pytest.CaptureFixture[str]) -> None:
    assert learn("a.svm", "--provenance") == 2
    assert "--save" in capsys.readouterr().err


@pytest.mark.parametrize("epoch", ["", "now", "1.5", "9" * 30])
def test_an_invalid_time_is_refused(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH"):
        provenance.describe_run("1", {})


RUN = {"novikoff": "1", "created": "2026-01-01T00:00:00Z", "files": [{"name": "a", "bytes": 1, "sha256": "0" * 64}]}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        "text",
        {"format": 2, "runs": []},
        {"format": "1", "runs": []},
        {"format": 1},
        {"format": 1, "runs": {}},
        {"format": 1, "runs": [1]},
        {"format": 1, "runs": [RUN | {"novikoff": 1}]},
        {"format": 1, "runs": [RUN | {"created": None}]},
        {"format": 1, "runs": [RUN | {"files": "a.svm"}]},
        {"format": 1, "runs": [RUN | {"files": [{}]}]},
        {"format": 1, "runs": [RUN | {"files": [{"name": "a", "sha256": "xyz", "bytes": 1}]}]},
        {"format": 1, "runs": [RUN | {"files": [{"name": "a", "sha256": "0" * 64, "bytes": -1}]}]},
        {"format": 1, "runs": [RUN] * 10_001},
    ],
)
def test_a_handwritten_record_is_refused(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        provenance.check_provenance(wrong)
    model = Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    path = tmp_path / "m.model"
    save(model, path, provenance=wrong)
    with pytest.raises(ModelFileError, match=r"provenance|run|file"):
        read_provenance(path)
    assert load(path).predict_one(["b"]) == "y"  # which does not depend on it


def test_the_checksum_covers_it(tmp_path: Path) -> None:
    model = Perceptron().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    path = tmp_path / "m.model"
    save(model, path, provenance={"format": 1, "runs": [RUN]})
    assert read_provenance(path) == {"format": 1, "runs": [RUN]}
    path.write_bytes(path.read_bytes().replace(b"2026-01-01", b"2025-01-01"))
    for read in (load, read_provenance):
        with pytest.raises(ModelFileError, match="checksum"):
            read(path)
    with pytest.raises(ModelFileError):
        read_provenance(tmp_path / "missing.model")
