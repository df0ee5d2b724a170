"""Issuers that do something else first, or fail once their card was shown."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable

from tests.services.worlds.handing_on import hands_on
from tests.services.worlds.issuing_world import IssuingWorld


def failing_issuer(world: IssuingWorld, status: bytes, seen: list[str]) -> str:
    """Return the address of an issuer that has a card, and whose proxy answers for it then."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = world.make_card(int(self.path.rpartition("/")[2]))
            self.send_response(200)
            self.send_header("content-length", str(len(card)))
            self.end_headers()
            self.wfile.write(card)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.append(self.headers["authorization"])
            self.send_response(int(status[:3]))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return served_by(world, Handler)


def served_by(world: IssuingWorld, handler: type[http.server.BaseHTTPRequestHandler]) -> str:
    """Return the address at which requests are answered so, until the world ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
    world.at_end(server.server_close)
    world.at_end(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


class Between:
    """An issuer that does something else before it hands out a card, as a slow one lets happen."""

    def __init__(self, world: IssuingWorld, before_a_card: Callable[[], None]) -> None:
        def before(asked: http.server.BaseHTTPRequestHandler) -> None:
            if asked.command == "GET":
                before_a_card()

        self.address = served_by(world, hands_on(world.address, before))
