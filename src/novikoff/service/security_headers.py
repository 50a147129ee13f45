"""Security headers of responses."""

from __future__ import annotations

from novikoff.service import page

Headers = tuple[tuple[bytes, bytes], ...]
TLS = (b"strict-transport-security", b"max-age=31536000")


def page_headers(policy: str = page.POLICY, *, tls: bool = False) -> Headers:
    """Return the headers of a page, which browsers may cache, under a Content-Security-Policy."""
    return (
        *((TLS,) if tls else ()),
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
    )


API_HEADERS: Headers = (*page_headers(), (b"cache-control", b"no-store"))
