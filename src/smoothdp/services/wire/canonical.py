"""One byte string per document: RFC 8785 for strings, whole numbers, lists and small objects."""

from __future__ import annotations

import json
import re
from typing import Any

from smoothdp.errors import InvalidData

_KEY = re.compile(r"^[a-z_]+$")
_LARGEST = (1 << 53) - 1


def canonical_json(document: dict[str, Any]) -> bytes:
    """Return the canonical encoding: keys sorted, no spaces, UTF-8.

    Raises:
        InvalidData: a value of another type, or a whole number beyond 2^53.

    >>> canonical_json({"b": 1, "a": ["x", "y"]})
    b'{"a":["x","y"],"b":1}'
    """
    for key, value in document.items():
        inner = value if isinstance(value, dict) else {}
        items = value if isinstance(value, list) else [*inner.values()] if inner else [value]
        named = all(isinstance(name, str) and _KEY.match(name) for name in (key, *inner))
        if not named or not (value is None or all(map(_allowed, items))):
            raise InvalidData(
                expected="strings, whole numbers below 2^53, lists or one object of them, or null",
                got=f"{key}={value!r}",
                remedy="Write other numbers as strings",
            )
    try:
        return json.dumps(
            document, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode()
    except UnicodeEncodeError:
        raise InvalidData(
            expected="text in Unicode", got="half a character", remedy="Encode it as UTF-8"
        ) from None


def parse_canonical(data: bytes) -> dict[str, Any]:
    """Return the document of a canonical encoding; any other encoding of it is refused.

    >>> parse_canonical(b'{"a":1}')
    {'a': 1}
    """
    try:
        document = json.loads(data)
        good = isinstance(document, dict) and canonical_json(document) == data
    except (ValueError, RecursionError):
        good = False
    if not good:
        raise InvalidData(
            expected="canonical JSON (RFC 8785)",
            got=_kind(data),
            remedy="Use the file as it was made: its hash names the task",
        )
    return document  # type: ignore[no-any-return]


def _kind(data: bytes) -> str:
    """Return what the bytes are, and nothing of them: they may be a secret."""
    if not data.strip():
        return "an empty file"
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return "something that is no JSON"
    return "JSON written in another way" if isinstance(document, dict) else "JSON of another kind"


def _allowed(item: object) -> bool:
    if isinstance(item, bool):
        return False
    return isinstance(item, str) or (isinstance(item, int) and abs(item) <= _LARGEST)
