"""Verification of a certificate: rebuild it from the data and list the differences. The document is not trusted."""

from __future__ import annotations

import json
from typing import Any

from novikoff.certificates.certificate import Certificate, rebuild_certificate
from novikoff.certificates.data_source import ArraySource, DataSource
from novikoff.certificates.serialization import CERTIFICATE_FORMAT
from novikoff.errors import InputError, NovikoffError
from novikoff.scheme_registry import model_class

REQUIRED_KEYS = ("data", "learner", "settings", "passes", "observed", "bounds", "new_data", "witnesses")


def parse_certificate(text: str, origin: str) -> dict[str, Any]:
    """Parse a certificate's document; raise InputError for anything else."""
    try:
        document = json.loads(text)
        number = document["certificate"]
        missing = [name for name in REQUIRED_KEYS if name not in document]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{origin}: is not a certificate.") from None
    if number != CERTIFICATE_FORMAT:
        raise InputError(f"{origin}: has format {number}, but this novikoff reads format {CERTIFICATE_FORMAT}.")
    if missing or model_class(str(document["learner"])) is None:
        raise InputError(
            f"{origin}: is not a whole certificate of a known learner ({', '.join(missing) or 'learner'})."
        )
    return dict(document)


def find_differences(document: dict[str, Any], source: DataSource) -> list[str]:
    """Return the differences between a document and the data, in words; an empty list if there are none."""
    data = source.describe()
    if data != document["data"]:
        return [f"data: the certificate is about other data: {compare_documents(document['data'], data, 'data')[0]}"]
    try:
        real = rebuild_certificate(document, source)
    except NovikoffError as problem:
        return [f"the certificate can't be rebuilt: {problem}"]
    return compare_documents(document, real.document, "")


def compare_documents(claimed: Any, found: Any, where: str) -> list[str]:
    """Return a message for each place where two documents differ."""
    if isinstance(claimed, dict) and isinstance(found, dict):
        keys = [*claimed, *(k for k in found if k not in claimed)]
        return [
            text for k in keys for text in compare_documents(claimed.get(k), found.get(k), f"{where}.{k}".lstrip("."))
        ]
    if isinstance(claimed, list) and isinstance(found, list) and len(claimed) == len(found):
        return [
            text
            for k, (a, b) in enumerate(zip(claimed, found, strict=True))
            for text in compare_documents(a, b, f"{where}[{k}]")
        ]
    if type(claimed) is type(found) and claimed == found:
        return []
    return [f"{where}: the certificate says {_shorten(claimed)}, the data say {_shorten(found)}"]


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def verify(certificate: Certificate | dict[str, Any], X: Any, y: Any, *, qid: Any = None) -> list[str]:
    """Check a certificate against the data, without trusting anything in it.

    Parameters
    ----------
    certificate : Certificate or dict
        The certificate, or its document.
    X, y : examples and labels
        The data of the certificate, in the same order.
    qid : array, optional
        The query of each row, for ranking models.

    Returns
    -------
    differences : list of str
        A message for each number or text that does not follow from the data; empty if the certificate is verified.

    Examples
    --------
    >>> from novikoff import Perceptron, certify, verify
    >>> certificate = certify(Perceptron().fit([[0, 1], [1, 0]], ["up", "right"]), [[0, 1], [1, 0]], ["up", "right"])
    >>> verify(certificate, [[0, 1], [1, 0]], ["up", "right"])
    []
    >>> len(verify(certificate, [[0, 1], [1, 0]], ["right", "up"]))
    1
    """
    document = certificate.document if isinstance(certificate, Certificate) else certificate
    about = document["data"].get("arrays") if isinstance(document.get("data"), dict) else None
    arriving = isinstance(about, dict) and about.get("arriving") is True
    return find_differences(document, ArraySource(X, y, qid, arriving=arriving))
