"""The certificate of a served model: its stream is read from the journal, learned once more by a fresh learner, and
what the theorems allow is measured on it."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from novikoff.auto import TWO_CLASS_EXAMPLES
from novikoff.base.internals import plain_settings_of, state_of
from novikoff.certificates.certificate import Certificate, build_certificate
from novikoff.certificates.data_source import ArraySource
from novikoff.errors import SPARSE_MATRIX_PURPOSE, NovikoffError, import_optional
from novikoff.learner_registry import name_of
from novikoff.server.http.schemas import BoundSummary, CertificateDocument, CertificateState
from novikoff.server.models.served_model import ServedModel, create_learner
from novikoff.server.models.validation import RAW_DECODERS, RequestError
from novikoff.server.ops.limits import Limits
from novikoff.server.storage.attribution import was_erased_after
from novikoff.server.storage.journal import iter_entries, open_read_only

MAX_TERMS = 20_000_000
UPLOADED_REASON = (
    "it was uploaded as a file, and the journal does not have what it learned before: certify it where its data is,"
    " with novikoff certify"
)


class CertificateRequest(NamedTuple):
    """What is to be certified: a model as it is at this moment."""

    name: str
    learner: str
    settings: dict[str, Any]
    stream: int
    joined: int
    position: int
    mistakes: int


def build_certificate_request(served: ServedModel, learner: str) -> CertificateRequest:
    if not served.own:
        raise RequestError(
            f"{served.name!r} can't be certified here: {UPLOADED_REASON}.",
            "not-certifiable",
        )
    served.check_learned()
    if TWO_CLASS_EXAMPLES in state_of(served.learner).more:
        raise RequestError(
            f"{served.name!r} can't be certified: a third class arrived after it had learned two, and a certificate"
            " can't replay such a run. Create the model with the learner kesler to certify it.",
            "not-certifiable",
        )
    settings = plain_settings_of(served.learner)
    return CertificateRequest(
        served.name, learner, settings, served.stream, served.joined, served.position, served.ledger.mistakes
    )


def compute_document(folder: Path, request: CertificateRequest, limits: Limits) -> dict[str, Any]:
    """The certificate's document; in a thread of its own."""
    X, y = load_arrays(folder, request, limits)
    try:
        fresh = create_learner(request.learner, request.settings)
        certificate, replayed = build_certificate(fresh, ArraySource(X, y, arriving=True), passes=1)
    except NovikoffError as problem:
        raise RequestError(f"No certificate can be made: {problem}", "not-certifiable") from None
    if replayed.ledger_.mistakes != request.mistakes:
        raise RequestError("The journal gives another number of mistakes than the model has made.", "not-certifiable")
    return certificate.document


def summarize_certificate(document: dict[str, Any], examples: int) -> CertificateState:
    """Return what a certificate says in short."""
    certificate = Certificate(document)
    best = certificate.headline
    if best is None:
        why = "no theorem gives a number for this run" if certificate.bounds else "there is no theorem for this learner"
        return CertificateState(examples, None, f"certified; {why}")
    bound = BoundSummary(best["bound"], best["counts"], best["any_order"], best["statement"])
    return CertificateState(examples, bound, None)


class Certifier:
    """The certificates of a server's models; each is made again when its model has learned more."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.states: dict[str, CertificateState] = {}
        """By the names of models."""
        self._known: dict[str, tuple[ServedModel, int, CertificateDocument]] = {}
        self._busy = asyncio.Lock()

    async def certify(self, served: ServedModel, is_served: Callable[[ServedModel], bool]) -> CertificateDocument:
        """Return the certificate of a model. `is_served` says whether the model was removed meanwhile."""
        async with self._busy:  # one at a time: it takes a processor for a while
            known = self._known.get(served.name)
            if known is not None and known[0] is served and known[1] == served.version:
                return known[2]
            request, version = build_certificate_request(served, name_of(type(served.learner))), served.version
            examples = served.ledger.examples
            try:
                document = await asyncio.to_thread(compute_document, self.folder, request, self.limits)
            except RequestError as problem:
                if is_served(served):  # an earlier bound stays true
                    self.states.setdefault(served.name, CertificateState(examples, None, str(problem)))
                raise
            certificate = msgspec.convert(document, CertificateDocument)
            if is_served(served):
                self._known[served.name] = served, version, certificate
                self.states[served.name] = summarize_certificate(document, examples)
            return certificate

    def forget(self, name: str) -> None:
        """Forget the certificate of a model that was removed."""
        self._known.pop(name, None)
        self.states.pop(name, None)


def load_arrays(folder: Path, request: CertificateRequest, limits: Limits) -> tuple[Any, list[Any]]:
    """All examples that were learned; those that were refused when they came are refused again."""
    replayed_model = ServedModel(request.name, create_learner(request.learner, request.settings), limits, created=0.0)
    with open_read_only(folder) as on:
        first = on.execute("SELECT first FROM streams WHERE id = ?", (request.stream,)).fetchone()
        if was_erased_after(on, request.stream, request.joined):
            raise RequestError(
                "Examples of this stream were erased: a certificate needs all of them.", "not-certifiable"
            )
        if first is None or first[0] > request.joined + 1:
            raise RequestError("The journal no longer has the first examples of this stream.", "not-certifiable")
        bodies = (
            body for position, body in iter_entries(on, request.stream, request.joined) if position <= request.position
        )
        lines = (line for body in bodies for line in body.split(b"\n") if line and replayed_model.learn(line).examples)
        return build_matrix((lesson.features, lesson.label) for lesson in map(RAW_DECODERS.lesson.decode, lines))


def build_matrix(lessons: Iterable[tuple[Any, Any]]) -> tuple[Any, list[Any]]:
    """Features and labels of examples as a matrix, its columns in the order in which their names came, and labels."""
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    columns: dict[str, int] = {}
    starts, indices, values, y = array("q", [0]), array("i"), array("d"), list[Any]()
    for features, label in lessons:
        indices.extend([columns.setdefault(name, len(columns)) for name in features])
        values.extend(features.values() if isinstance(features, dict) else [1.0] * len(features))
        starts.append(len(indices))
        y.append(label)
        if len(indices) > MAX_TERMS:
            raise RequestError(
                f"The stream has more than {MAX_TERMS:,} numbers, too many to be certified while served: fetch its"
                " examples and certify them elsewhere.",
                "too-many-terms",
            )
    shape = len(y), len(columns)
    return csr_matrix((np.array(values), np.array(indices, np.int32), np.array(starts)), shape), y
