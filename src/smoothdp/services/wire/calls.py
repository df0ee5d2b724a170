"""Requests between the parties: a connection, an answer read up to a limit, and what is refused."""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit

import httpx

from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.services.operations.patience import whole_seconds
from smoothdp.services.operations.tls import Trust
from smoothdp.services.wire.addresses import parts_of
from smoothdp.services.wire.deadline import deadline

_SECONDS = 30.0
_MOST_ANSWER = 1 << 22
_MOST_WORDS = 300
_MOST_ADDRESS = 80
_MAY_BE_SECRET = re.compile("[0-9a-fA-F]{65,}")


class ServiceError(SmoothdpError, RuntimeError):
    """A service refused a request, or could not be reached."""


class Unreachable(ServiceError):
    """A service did not answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered, read up to a limit: the other end may be hostile."""

    status: int
    body: bytes
    seconds: float | None = None
    """In how many seconds to ask again, if the service says so (Retry-After)."""

    def document(self) -> dict[str, Any]:
        """Return the body as a JSON object, or raise ServiceError."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise ServiceError(
                expected="a JSON object from the service",
                got="something else",
                remedy="Check the address",
            )
        return document

    def words(self) -> str:
        """Return the status and the start of the body, without what could steer a terminal.

        Of a problem document (RFC 9457) that is its title.

        >>> Answer(410, b'{"type": "urn:esa:2:over", "title": "The window is over"}').words()
        '410 The window is over'
        """
        text = self.body[:_MOST_WORDS].decode("utf-8", "replace")
        with suppress(ValueError, RecursionError, KeyError, TypeError):
            text = str(json.loads(text)["title"])
        return f"{self.status} {shown_words(text)}".strip()


def shown_words(text: str) -> str:
    """Return the start of a text that another machine sent, without what could steer a terminal."""
    return "".join(c for c in text[:_MOST_WORDS] if c.isprintable())


def shown_address(address: object) -> str:
    """Return the start of an address without what may be a secret, pasted into the wrong place.

    >>> shown_address("https://poll.example#" + "0a" * 48)
    "'https://poll.example#...'"
    """
    return repr(without_secrets(str(address))[:_MOST_ADDRESS])


def without_secrets(text: str) -> str:
    """Return a text without what may be a pass or an invitation: 96 digits; task ids have 64."""
    return _MAY_BE_SECRET.sub("...", text)


def ask(
    http: httpx.Client,
    method: str,
    path: str,
    *,
    token: str = "",
    body: bytes = b"",
    media_type: str = "",
    most: int = _MOST_ANSWER,
    last: bool = False,
) -> Answer:
    """Send a request and return the answer, read up to ``most`` bytes.

    Args:
        last: the connection ends with the answer.

    Raises:
        ServiceError: no answer, none in time, or one that is longer than anything that is meant.
    """
    where = without_secrets(str(http.base_url))
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if last:
        headers["connection"] = "close"
    if media_type:
        headers["content-type"] = media_type
    data = bytearray()
    ends = deadline(whole_seconds(most + len(body)))
    try:
        with (
            ends as end,
            http.stream(
                *(method, path),
                content=body or None,
                headers=headers,
                extensions={"trace": end.trace},
            ) as answer,
        ):
            if answer.headers.get("content-encoding", "identity").lower() != "identity":
                # Nobody was asked to: a few bytes, compressed twice, can fill the memory.
                raise ServiceError(
                    expected=f"an answer from {where} as it is",
                    got="a compressed one",
                    remedy="Check the address, and that no proxy in between compresses",
                )
            for chunk in answer.iter_bytes(1 << 16):
                data += chunk
                if len(data) > most:
                    raise ServiceError(
                        expected=f"at most {most} bytes",
                        got="more",
                        remedy="Check the address",
                    )
        if end.passed:
            raise httpx.ReadTimeout("slow")
        return Answer(answer.status_code, bytes(data), _seconds(answer.headers))
    except (httpx.TransportError, UnicodeError) as error:
        # UnicodeError: a host, or a proxy, that the system cannot look up.
        slow = "none in time" if end.passed else f"none ({type(error).__name__})"
        raise Unreachable(
            expected=f"an answer from {where}",
            got=slow,
            remedy="Check the address, and that the service runs there",
        ) from None


def _seconds(headers: httpx.Headers) -> float | None:
    """Return Retry-After in its form of whole seconds (RFC 9110, 10.2.3)."""
    text = headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def connect(url: str, *, trust: Trust | None = None) -> httpx.Client:
    """Return a connection to a service; what it sends says nothing about the sender's program.

    Args:
        url: https, or http on this machine.
        trust: whose certificates to believe, and what to show; by default the usual ones.

    Plain http goes to this machine itself, never through a proxy that the environment names: that
    one would read passes and invitations. Through a proxy TLS goes from end to end.

    Raises:
        InvalidParameter: no http or https address; http to another machine, where tokens
            would travel in the clear; a proxy in the environment that cannot be used.

    >>> with connect("https://shuffler.example") as http:
    ...     str(http.base_url)
    'https://shuffler.example'
    """
    if not isinstance(url, str):
        raise InvalidParameter(
            expected="an address such as https://shuffler.example",
            got=shown_address(url),
            remedy="Give the address as text",
        )
    parts = parts_of(url)
    if parts is None:
        raise InvalidParameter(
            expected="an address such as https://shuffler.example",
            got=shown_address(url),
            remedy="Write the address with its scheme and host, and no more than a path",
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidParameter(
            expected="https:// to another machine",
            got=shown_address(url),
            remedy="Use https: tokens would travel in the clear",
        )
    context = None if trust is None else trust.context()
    try:
        http = httpx.Client(
            base_url=url,
            verify=True if context is None else context,
            timeout=_SECONDS,
            headers={"user-agent": "-", "accept": "*/*", "accept-encoding": "identity"},
            trust_env=parts.scheme == "https",
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            event_hooks={"response": [_lead_nowhere]},
        )
        _ = http.base_url.host  # reads an international name
    except (ImportError, ValueError, OSError, httpx.InvalidURL):
        # Of the address, or of what the environment says of proxies and certificates.
        raise InvalidParameter(
            expected="an address, and an environment, with which calls can be made",
            got=shown_address(url),
            remedy="Check the address; correct, or unset, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE "
            "and SSL_CERT_DIR",
        ) from None
    return http


def _lead_nowhere(answer: httpx.Response) -> None:
    """Take out where an answer leads to: nobody goes there, and it may be no address."""
    answer.headers.pop("location", None)


def one_place(url: str, other: str) -> bool:
    """Whether two addresses are of one host and port, however they are written.

    Whoever answers there reads what is sent to both, whatever their paths are.

    >>> one_place("https://Esa.example/issuer", "https://esa.example.:443/shuffler")
    True
    >>> one_place("http://localhost:8603", "http://[::1]:8603"), one_place("https://a", "https://b")
    (True, False)
    """
    place = _place(url)
    return place is not None and place == _place(other)


def _place(url: str) -> tuple[str, int] | None:
    """Return host and port; None of what `connect` refuses."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except (AttributeError, TypeError, ValueError):
        return None
    with suppress(OSError):
        # The forms of before, such as 127.1 and 0x7f000001: the system takes them all.
        host = socket.inet_ntoa(socket.inet_aton(host))
    with suppress(ValueError):
        # Without the name of a network card: whether it is one machine is all that is asked.
        ip = ipaddress.ip_address(host.partition("%")[0])
        ip = getattr(ip, "ipv4_mapped", None) or ip
        # Of no machine is the unspecified one, to who calls.
        host = "localhost" if ip.is_loopback or ip.is_unspecified else str(ip)
    return host, port or (443 if parts.scheme == "https" else 80)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
