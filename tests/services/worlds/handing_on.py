"""A service that hands all requests on to another one."""

from __future__ import annotations

import http.server
from collections.abc import Callable

import httpx


def hands_on(
    to: str, before: Callable[[http.server.BaseHTTPRequestHandler], None]
) -> type[http.server.BaseHTTPRequestHandler]:
    """Return what handles requests for an address: something first, then what is answered there."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            before(self)
            named = self.headers.get("authorization")
            answer = httpx.request(
                self.command,
                to + self.path,
                content=body,
                headers={"authorization": named} if named else {},
            )
            self.send_response(answer.status_code)
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    return Handler
