"""Parties of which the shuffler also says which windows it destroyed."""

from __future__ import annotations

import httpx

from tests.services.worlds.whole_world import WholeWorld


class Answering(WholeWorld):
    """A shuffler that also says, as its HTTP face does, which windows it destroyed."""

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        if request.method != "HEAD":
            return super()._shuffler_answers(request)
        window = int(request.url.path.split("/")[-1])
        return "marks", httpx.Response(410 if self.shuffler.is_expired(window) else 404)
