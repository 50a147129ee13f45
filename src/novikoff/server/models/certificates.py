"""Certificates of models: the stream is read from the journal and replayed by a new learner, and bounds are evaluated
on it."""

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
    "it was uploaded as a file, and the journal does not have the examples that it learned before; certify it with"
    " novikoff certify and the original data"
)


class CertificateRequest(NamedTuple):
    """A model in its state at the time of the request."""

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
    """Return the certificate as a document. The caller runs this in a thread."""
    X, y = load_arrays(folder, request, limits)
    try:
        fresh = create_learner(request.learner, request.settings)
        certificate, replayed = build_certificate(fresh, ArraySource(X, y, arriving=True), passes=1)
    except NovikoffError as problem:
        raise RequestError(f"The model can't be certified: {problem}", "not-certifiable") from None
    if replayed.ledger_.mistakes != request.mistakes:
        detail = (
            f"Replaying the journal gives {replayed.ledger_.mistakes} mistakes, but the model made {request.mistakes}."
        )
        raise RequestError(detail, "not-certifiable")
    return certificate.document


def summarize_certificate(document: dict[str, Any], examples: int) -> CertificateState:
    """Return the best bound of a certificate, or the reason for having none."""
    certificate = Certificate(document)
    best = certificate.headline
    if best is None:
        why = "no theorem gives a number for this run" if certificate.bounds else "there is no theorem for this learner"
        return CertificateState(examples, None, f"certified; {why}")
    bound = BoundSummary(best["bound"], best["counts"], best["any_order"], best["statement"])
    return CertificateState(examples, bound, None)


class Certifier:
    """The certificates of a server's models. A certificate is computed again after its model has learned more."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self.states: dict[str, CertificateState] = {}
        """States of certificates by the names of models."""
        self._known: dict[str, tuple[ServedModel, int, CertificateDocument]] = {}
        self._busy = asyncio.Lock()

    async def certify(self, served: ServedModel, is_served: Callable[[ServedModel], bool]) -> CertificateDocument:
        """Return the certificate of a model. `is_served` returns False if the model was removed in the meantime."""
        async with self._busy:  # one at a time: a certificate occupies a processor for a while
            known = self._known.get(served.name)
            if known is not None and known[0] is served and known[1] == served.version:
                return known[2]
            request, version = build_certificate_request(served, name_of(type(served.learner))), served.version
            examples = served.ledger.examples
            try:
                document = await asyncio.to_thread(compute_document, self.folder, request, self.limits)
            except RequestError as problem:
                if is_served(served):  # an earlier bound remains valid
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
    """Return all learned examples. Examples that the learner refused are refused again and left out."""
    replayed_model = ServedModel(request.name, create_learner(request.learner, request.settings), limits, created=0.0)
    with open_read_only(folder) as connection:
        first = connection.execute("SELECT first FROM streams WHERE id = ?", (request.stream,)).fetchone()
        if was_erased_after(connection, request.stream, request.joined):
            detail = "Examples of this stream were erased, and a certificate needs all of them."
            raise RequestError(detail, "not-certifiable")
        if first is None or first[0] > request.joined + 1:
            raise RequestError("The journal no longer has the first examples of this stream.", "not-certifiable")
        entries = iter_entries(connection, request.stream, request.joined)
        bodies = (body for position, body in entries if position <= request.position)
        lines = (line for body in bodies for line in body.split(b"\n") if line and replayed_model.learn(line).examples)
        return build_matrix((row.features, row.label) for row in map(RAW_DECODERS.labelled.decode, lines))


def build_matrix(examples: Iterable[tuple[Any, Any]]) -> tuple[Any, list[Any]]:
    """Return examples as a sparse matrix, its columns in order of first occurrence, and a list of labels."""
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    columns: dict[str, int] = {}
    starts, indices, values, y = array("q", [0]), array("i"), array("d"), list[Any]()
    for features, label in examples:
        indices.extend([columns.setdefault(name, len(columns)) for name in features])
        values.extend(features.values() if isinstance(features, dict) else [1.0] * len(features))
        starts.append(len(indices))
        y.append(label)
        if len(indices) > MAX_TERMS:
            raise RequestError(
                f"The stream has more than {MAX_TERMS:,} feature values, too many to be certified by the server."
                " Download its examples and certify them with novikoff certify.",
                "too-many-terms",
            )
    shape = len(y), len(columns)
    return csr_matrix((np.array(values), np.array(indices, np.int32), np.array(starts)), shape), y
