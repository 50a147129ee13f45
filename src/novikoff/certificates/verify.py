"""Checks a certificate: makes it anew from the data, and says what differs. Nothing in the document is believed."""

from __future__ import annotations

import json
from typing import Any

from novikoff.certificates.certificate import Certificate, again
from novikoff.certificates.serialization import FORMAT
from novikoff.certificates.data_source import Arrays, Source
from novikoff.errors import InputError, NovikoffError
from novikoff.scheme_registry import model_class

NEEDED = ("data", "learner", "settings", "passes", "observed", "bounds", "new_data", "witnesses")


def read(text: str, origin: str) -> dict[str, Any]:
    """The document; InputError where it is none."""
    try:
        document = json.loads(text)
        number = document["certificate"]
        missing = [name for name in NEEDED if name not in document]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{origin}: is not a certificate.") from None
    if number != FORMAT:
        raise InputError(f"{origin}: has format {number}, but this novikoff reads format {FORMAT}.")
    if missing or model_class(str(document["learner"])) is None:
        raise InputError(
            f"{origin}: is not a whole certificate of a known learner ({', '.join(missing) or 'learner'})."
        )
    return dict(document)


def differences(document: dict[str, Any], source: Source) -> list[str]:
    """What in the document is not as the data say, in words; none where all is right."""
    data = source.about()
    if data != document["data"]:
        return [f"data: the certificate is about other data: {_first(document['data'], data, 'data')[0]}"]
    try:
        real = again(document, source)
    except NovikoffError as problem:
        return [f"it can't be made anew: {problem}"]
    return _first(document, real.document, "")


def _first(said: Any, found: Any, where: str) -> list[str]:
    """The places where two documents differ."""
    if isinstance(said, dict) and isinstance(found, dict):
        keys = [*said, *(k for k in found if k not in said)]
        return [text for k in keys for text in _first(said.get(k), found.get(k), f"{where}.{k}".lstrip("."))]
    if isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        return [
            text for k, (a, b) in enumerate(zip(said, found, strict=True)) for text in _first(a, b, f"{where}[{k}]")
        ]
    if type(said) is type(found) and said == found:
        return []
    return [f"{where}: the certificate says {_short(said)}, the data say {_short(found)}"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def verify(certificate: Certificate | dict[str, Any], X: Any, y: Any, *, qid: Any = None) -> list[str]:
    """What in a certificate is not as the data X, y say, in words; an empty list where it is verified. `qid` names the
    query of each row, for rankings."""
    document = certificate.document if isinstance(certificate, Certificate) else certificate
    about = document["data"].get("arrays") if isinstance(document.get("data"), dict) else None
    arriving = isinstance(about, dict) and about.get("arriving") is True
    return differences(document, Arrays(X, y, qid, arriving=arriving))
