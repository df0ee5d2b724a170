"""Addresses of services, as tasks name them and people type them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def parts_of(url: str) -> SplitResult | None:
    """Return the parts of an address with scheme, host and no more than a path; None of another.

    >>> parts_of("https://issuer.example:8443/esa").port
    8443
    >>> parts_of("https://issuer.example:0"), parts_of("http://[::1"), parts_of("https://a:b")
    (None, None, None)
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    good = good and url.isascii() and url.isprintable() and not set(url) & set("?# ")
    return parts if good and "@" not in parts.netloc else None
