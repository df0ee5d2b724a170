"""What a service of esa/2 refuses, as RFC 9457 documents: a word a cause, a time where it helps."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from starlette.responses import Response

PROBLEM_TYPE = "urn:esa:2:"
_MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal: nothing was stored, and nothing else happened.

    Attributes:
        status: of HTTP.
        word: the last part of the type ``urn:esa:2:<word>``, which programs read.
        title: what people read; nothing of the request is in it.
        seconds: in how many seconds to ask again, or None.

    >>> Problem(425, "too-early", "The window has not begun", seconds=2.5).document()
    {'type': 'urn:esa:2:too-early', 'title': 'The window has not begun', 'status': 425}
    """

    status: int
    word: str
    title: str
    seconds: float | None = None

    def document(self) -> dict[str, str | int]:
        """Return the problem document (RFC 9457, section 3.1)."""
        return {"type": PROBLEM_TYPE + self.word, "title": self.title, "status": self.status}

    def response(self) -> Response:
        """Return the answer, with Retry-After (RFC 9110, 10.2.3) where there is a time."""
        headers = {"cache-control": "no-store"}
        if self.seconds is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.seconds)))
        return Response(
            json.dumps(self.document()), self.status, headers=headers, media_type=_MEDIA_TYPE
        )
