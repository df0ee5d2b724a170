"""Section 9 of the page for the analyser that was written from it: paths, tokens, refusals."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.services.worlds.second_analyzer import RELEASED, SecondAnalyzer, Window, refused
from tests.services.worlds.second_party import RefusedError

LARGEST_BODY = 16_384 * 308


def number_of(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or str(int(text)) != text or int(text) >> 32:
        raise refused(404)
    return int(text)


def answered(
    analyzer: SecondAnalyzer, method: str, path: list[str], secret: str, body: bytes
) -> tuple[int, bytes]:
    digest = hashlib.sha256(secret.encode()).hexdigest()
    who = [of for of, one in analyzer.callers.items() if hmac.compare_digest(one, digest)]

    def known(*allowed: str, task: str = "") -> str:
        if not who or who[0] not in allowed:
            raise refused(401)
        if task not in ("", analyzer.id.hex()):
            raise refused(404)
        return who[0]

    match method, path:
        case "PUT", ["v2", "gateway-keys" | "issuer-keys" as of, task, w]:
            known("shuffler" if of == "gateway-keys" else "issuer", task=task)
            return analyzer.put_key(of.removesuffix("-keys"), number_of(w), body), b""
        case "GET", ["v2", "cards", task, w]:
            known("shuffler", "issuer", task=task)
            return 200, analyzer.get_card(number_of(w))
        case "PUT", ["v2", "cards", task, w]:
            known("shuffler", task=task)
            return analyzer.put_card(number_of(w), body), b""
        case "PUT", ["v2", "served", task, w]:
            known("issuer", task=task)
            return analyzer.put_served(number_of(w), body), b""
        case "POST", ["v2", "clock"]:
            return 200, analyzer.clock(known("shuffler", "issuer"), body)
        case "PUT", ["v2", "batches", name]:
            known("shuffler")
            return analyzer.put_batch(name, body), b""
        case "PUT", ["v2", "batches", name, "parts", k]:
            known("shuffler")
            return analyzer.put_part(name, number_of(k), body), b""
        case "GET", ["v2", "tasks", task, "results", w]:
            known("collector", task=task)
            window = analyzer.windows.get(number_of(w), Window())
            if window.result:
                return 200 if window.state == RELEASED else 403, window.result
            return 202, json.dumps({"state": analyzer.words(number_of(w))}).encode()
    raise refused(404)


@contextmanager
def listening(analyzer: SecondAnalyzer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def log_message(self, *_: object) -> None:
            """No line names an address."""

        def handled(self) -> None:
            kind, after = "json", None
            method = "GET" if self.command == "HEAD" else self.command
            secret = self.headers.get("Authorization", "").removeprefix("Bearer ")
            length = self.headers.get("Content-Length", "0" if method == "GET" else "")
            try:
                if not length.isdecimal():
                    raise RefusedError(411, "length")
                if int(length) > LARGEST_BODY:
                    raise refused(413)
                body, path = self.rfile.read(int(length)), self.path.split("/")[1:]
                with analyzer.lock:
                    status, body = answered(analyzer, method, path, secret, body)
                kind = "vnd.esa.card" if path[1] == "cards" else kind
            except RefusedError as error:
                status, word, after = (*error.args, None)[:3]
                told = {"type": f"urn:esa:2:{word}", "title": word, "status": status}
                kind, body = "problem+json", json.dumps(told).encode()
            self.close_connection = True  # Of a refusal the body may not have been read.
            self.send_response(status)
            self.send_header("Connection", "close")
            self.send_header("Content-Type", f"application/{kind}")
            self.send_header("Content-Length", str(len(body)))
            if after is not None:
                self.send_header("Retry-After", str(after))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_GET = do_HEAD = do_PUT = do_POST = handled  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
